package session

import (
	"cmp"
	"iter"
	"math"
	"path"
	"slices"
)

// Chains says which files are parts of one session, and where the history of a file begins in
// another one. Only files with a Part or a Base, and those that they name, are in it.
type Chains struct {
	files    map[string]*chained // by path
	parts    map[part][]*chained // in order of their paths: there may be copies of a file
	sessions map[part][]*chained // one file of each part, by agent and id
	heads    map[part]part       // by agent and id of a session that has several parts: the one that goes on
	cuts     map[part]int64      // the ordinal from which on a part is abandoned
}

type part struct{ agent, id, part string }

type chained struct {
	path string
	*Header
}

func (c *chained) part() part    { return part{c.Agent, c.ID, c.Part} }
func (c *chained) session() part { return part{c.Agent, c.ID, ""} }
func (c *chained) base() part    { return part{c.Agent, c.Base.Session, c.Base.Part} }

// IsChained reports whether a file may be one of several of its session, or goes on where
// another one ends.
func (h *Header) IsChained() bool { return h.Part != "" || h.Base.Session != "" }

// NewChains returns the chains among files. It visits the list twice, and needs only the paths
// and headers. The memory of their strings must stay valid.
func NewChains(list iter.Seq2[int, *Summary]) *Chains {
	c := &Chains{files: make(map[string]*chained), parts: make(map[part][]*chained), heads: make(map[part]part), cuts: make(map[part]int64)}
	wanted := make(map[part]bool)
	for _, s := range list {
		if s.IsChained() {
			wanted[part{s.Agent, s.ID, ""}], wanted[part{s.Agent, s.Base.Session, ""}] = true, true
		}
	}
	if len(wanted) == 0 {
		return c
	}
	c.sessions = make(map[part][]*chained)
	for _, s := range list {
		id := part{s.Agent, s.ID, ""}
		if s.ID == "" || !wanted[id] {
			continue
		}
		h := s.Header
		f := &chained{s.Path, &h}
		c.files[s.Path] = f
		if len(c.parts[f.part()]) == 0 {
			c.sessions[id] = append(c.sessions[id], f)
		}
		c.parts[f.part()] = append(c.parts[f.part()], f)
	}
	for id, parts := range c.sessions {
		if len(parts) > 1 {
			c.addSession(id, parts)
		}
	}
	return c
}

// addSession finds the part in which a session goes on: of those that no other part of it has
// as its base, the latest. What is not in the history of that part is abandoned.
func (c *Chains) addSession(id part, parts []*chained) {
	named := make(map[part]bool)
	for _, f := range parts {
		if f.base() != f.part() {
			named[f.base()] = true
		}
	}
	ends := slices.DeleteFunc(slices.Clone(parts), func(f *chained) bool { return named[f.part()] })
	if len(ends) == 0 { // a circle
		ends = parts
	}
	head := slices.MaxFunc(ends, func(a, b *chained) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.Part, b.Part))
	})
	c.heads[id] = head.part()
	for _, f := range parts {
		c.cuts[f.part()] = math.MinInt64
	}
	until := int64(math.MaxInt64)
	for f := head; f != nil && f.session() == id && c.cuts[f.part()] == math.MinInt64; {
		c.cuts[f.part()] = until
		until = min(until, f.Base.Ordinal)
		f = c.baseOf(f)
	}
	delete(c.cuts, head.part())
}

// near returns the copy of a file that is in the same directory as another file, or
// else the first.
func (c *Chains) near(p part, f *chained) *chained {
	copies := c.parts[p]
	for _, o := range copies {
		if path.Dir(Slashed(o.path)) == path.Dir(Slashed(f.path)) {
			return o
		}
	}
	if len(copies) == 0 {
		return nil
	}
	return copies[0]
}

func (c *Chains) baseOf(f *chained) *chained {
	if f.Base.Session == "" || f.base() == f.part() {
		return nil
	}
	return c.near(f.base(), f)
}

// Head returns the path of the file in which the session of a file goes on: its own for most.
func (c *Chains) Head(path string) string {
	f := c.files[path]
	if f == nil {
		return path
	}
	if head, ok := c.heads[f.session()]; ok && head != f.part() {
		return c.near(head, f).path
	}
	return path
}

// Whole returns the summary of a session with the files before the given one, in which it goes
// on: when it began, what it was called first, and the sums. other returns that of a file.
func (c *Chains) Whole(s *Summary, other func(path string) *Summary) *Summary {
	f := c.files[s.Path]
	if f == nil || len(c.heads) == 0 || c.heads[f.session()] != f.part() {
		return s
	}
	whole := *s
	for seen := map[*chained]bool{}; f != nil && !seen[f]; f = c.baseOf(f) {
		if seen[f] = true; f.path == s.Path || f.session() != (part{s.Agent, s.ID, ""}) {
			continue
		}
		whole.add(other(f.path))
	}
	return &whole
}

// add adds what an earlier file of the session says.
func (s *Summary) add(earlier *Summary) {
	if earlier.Title() != earlier.Name {
		s.FirstPrompt, s.Subject = earlier.FirstPrompt, earlier.Subject
	}
	s.Name = cmp.Or(s.Name, earlier.Name)
	if !earlier.Oldest.IsZero() {
		s.Header.Timestamp, s.Oldest = earlier.Created(), earlier.Oldest
	}
	s.Messages, s.Entries = s.Messages+earlier.Messages, s.Entries+earlier.Entries
	s.UsedTokens, s.UsedCost = s.UsedTokens+earlier.UsedTokens, s.UsedCost+earlier.UsedCost
	s.Unpriced, s.Delegated = slices.Concat(earlier.Unpriced, s.Unpriced), s.Delegated || earlier.Delegated
	for _, list := range []struct{ to, from *[]string }{{&s.Models, &earlier.Models}, {&s.LabelNames, &earlier.LabelNames}} {
		*list.to = slices.Clip(*list.to)
		for _, name := range *list.from {
			if !slices.Contains(*list.to, name) {
				*list.to = append(*list.to, name)
			}
		}
	}
}

// Session returns the paths of the files that may have entries of the conversation of a file: the
// files of its session and those in which they begin.
func (c *Chains) Session(path string) []string {
	list, seen := []string{path}, map[part]bool{}
	f := c.files[path]
	if f == nil {
		return list
	}
	for left := []*chained{f}; len(left) > 0; left = left[1:] {
		if seen[left[0].session()] {
			continue
		}
		seen[left[0].session()] = true
		for _, of := range c.sessions[left[0].session()] {
			if list = append(list, of.path); of.Base.Session != "" {
				if base := c.baseOf(of); base != nil {
					left = append(left, base)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Base returns the path of the file in which the history of a file begins; "" if it begins in
// the file itself, or if the other one is not known.
func (c *Chains) Base(path string) string {
	if f := c.files[path]; f != nil {
		if base := c.baseOf(f); base != nil {
			return base.path
		}
	}
	return ""
}

// Cut returns the line from which on a file is abandoned, because its session goes on in
// another one; 0 for none.
func (c *Chains) Cut(path string) int {
	if f := c.files[path]; f != nil {
		if cut, ok := c.cuts[f.part()]; ok {
			return f.LineOf(cut)
		}
	}
	return 0
}

// LineOf returns the line with an ordinal: the first one if it is before that, 0 if it is
// beyond all.
func (h *Header) LineOf(ordinal int64) int {
	if ordinal <= h.Ordinal {
		return 1
	}
	if lines := uint64(ordinal) - uint64(h.Ordinal); lines < math.MaxInt32 {
		return int(lines) + 1
	}
	return 0
}
