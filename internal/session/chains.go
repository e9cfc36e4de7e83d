package session

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/near"
)

// Chains says which files are parts of one session, and where the history of a file begins in
// another one. Only files with a Part or a Base, and those that they name, are in it.
type Chains struct {
	files    map[string]*chained // by path
	parts    map[part][]*chained // in order of their paths: there may be copies of a file
	sessions map[part][]*chained // one file of each part, by agent and id
	heads    map[part]part       // by agent and id of a session that has several parts: the one that goes on
	cuts     map[part]int64      // the ordinal from which on a part is abandoned
	twins    *Twins              // nil: files of one part are copies
}

// Twins says what is known of files that have one id, if it takes more than their headers.
type Twins struct {
	// Begins returns what tells the beginning of a file from others, and whether it begins
	// with an entry that follows one of another file.
	Begins func(file uint32) (mark uint64, follows bool)

	// Lacks counts what other files have that a file lacks.
	Lacks func(file uint32, others []uint32) Sums
}

// Sums are the numbers of a Summary that are sums over entries.
type Sums struct {
	Messages, Entries int
	Tokens            int64
	Cost              float64
}

// A part is the files of a session, or a part of it. Files with the same id whose entries have nothing
// to do with one another have another number.
type part struct {
	agent, id, part string
	number          int
}

type chained struct {
	path   string
	number int // see part
	file   uint32
	at     time.Time // of its latest message
	kept   bool
	*Header
}

func (c *chained) part() part    { return part{c.Agent, c.ID, c.Part, c.number} }
func (c *chained) session() part { return part{c.Agent, c.ID, "", c.number} }
func (c *chained) base() part    { return part{c.Agent, c.Base.Session, c.Base.Part, c.number} }

// IsChained reports whether a file may be one of several of its session, or goes on where
// another one ends.
func (h *Header) IsChained() bool { return h.Part != "" || h.Base.Session != "" }

// NewChains returns the chains among files. It visits the list twice, and needs only the paths,
// headers and times. The memory of their strings must stay valid. With twins, files that have one id
// are one session if they begin with the same entry, or follow one another.
func NewChains(list iter.Seq2[int, *Summary], twins *Twins) *Chains {
	c := &Chains{
		files: make(map[string]*chained), parts: make(map[part][]*chained), sessions: make(map[part][]*chained),
		heads: make(map[part]part), cuts: make(map[part]int64), twins: twins,
	}
	wanted, seen := make(map[part]bool), make(map[uint64]bool)
	for _, s := range list {
		if s.IsChained() {
			wanted[part{agent: s.Agent, id: s.ID}], wanted[part{agent: s.Agent, id: s.Base.Session}] = true, true
		} else if twins != nil && s.ID != "" {
			hash := xxhash.Sum64String(s.ID)
			if seen[hash] {
				wanted[part{agent: s.Agent, id: s.ID}] = true
			}
			seen[hash] = true
		}
	}
	if len(wanted) == 0 {
		return c
	}
	found := make(map[part][]*chained)
	var order []part
	for _, s := range list {
		if s.ID == "" || !wanted[part{agent: s.Agent, id: s.ID}] {
			continue
		}
		h := s.Header
		f := &chained{path: s.Path, file: s.File, at: s.Modified(), kept: s.Kept, Header: &h}
		c.files[s.Path] = f
		if found[f.part()] == nil {
			order = append(order, f.part())
		}
		found[f.part()] = append(found[f.part()], f)
	}
	for _, p := range order {
		c.number(found[p])
		for _, f := range found[p] {
			if len(c.parts[f.part()]) == 0 {
				c.sessions[f.session()] = append(c.sessions[f.session()], f)
			}
			c.parts[f.part()] = append(c.parts[f.part()], f)
		}
	}
	for id, parts := range c.sessions {
		if len(parts) > 1 {
			c.addSession(id, parts)
		}
	}
	return c
}

// number numbers the files of one id whose entries have nothing to do with one another. Files that
// follow another one belong to the first.
func (c *Chains) number(files []*chained) {
	if c.twins == nil || len(files) == 1 {
		return
	}
	numbers := make(map[uint64]int)
	for i, f := range files {
		if IsVersion(f.path) {
			f.number = -1 - i
		} else if mark, follows := c.twins.Begins(f.file); !follows {
			if _, ok := numbers[mark]; !ok {
				numbers[mark] = len(numbers)
			}
			f.number = numbers[mark]
		}
	}
}

// latest returns the one of the files of a part in which it goes on: the one with the latest
// message, rather one that is not kept.
func latest(files []*chained) *chained {
	return slices.MaxFunc(files, func(a, b *chained) int {
		if c := a.at.Compare(b.at); c != 0 || a.kept == b.kept {
			return cmp.Or(c, cmp.Compare(b.path, a.path))
		}
		if b.kept {
			return 1
		}
		return -1
	})
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
	p := f.part()
	if head, ok := c.heads[f.session()]; ok {
		p = head
	}
	switch {
	case c.twins != nil:
		return latest(c.parts[p]).path
	case p != f.part():
		return c.near(p, f).path
	}
	return path
}

// Any reports whether some session has several files, or goes on where another one ends.
func (c *Chains) Any() bool { return c != nil && len(c.files) > 0 }

// Twins returns the other files of the session of a file, or of its part of it, the latest first.
func (c *Chains) Twins(path string) (list []string) {
	f := c.files[path]
	if f == nil || c.twins == nil {
		return nil
	}
	for left := slices.Clone(c.parts[f.part()]); len(left) > 0; {
		t := latest(left)
		if left = slices.DeleteFunc(left, func(o *chained) bool { return o == t }); t != f {
			list = append(list, t.path)
		}
	}
	return list
}

// Whole returns the summary of a session with its other files, given the file in which it goes
// on: when it began, what it was called first, and the sums. other returns that of a file.
func (c *Chains) Whole(s *Summary, other func(path string) *Summary) *Summary {
	f := c.files[s.Path]
	twins := c.Twins(s.Path)
	if f == nil || c.Head(s.Path) != s.Path || len(twins) == 0 && c.heads[f.session()] != f.part() {
		return s
	}
	whole := *s
	if len(twins) > 0 {
		var files []uint32
		for _, path := range twins {
			files = append(files, c.files[path].file)
			if o := other(path); whole.Oldest.IsZero() || !o.Oldest.IsZero() && !o.Oldest.After(whole.Oldest) {
				whole.begin(o)
			} else {
				whole.addNames(o)
			}
		}
		sums := c.twins.Lacks(f.file, files)
		whole.Messages, whole.Entries = whole.Messages+sums.Messages, whole.Entries+sums.Entries
		whole.UsedTokens, whole.UsedCost = whole.UsedTokens+sums.Tokens, whole.UsedCost+sums.Cost
	}
	for seen := map[part]bool{}; f != nil && !seen[f.part()]; f = c.baseOf(f) {
		if seen[f.part()] = true; f.path == s.Path || f.session() != (part{s.Agent, s.ID, "", f.number}) {
			continue
		}
		whole.add(other(f.path))
	}
	return &whole
}

// begin takes over how an earlier file of the session began, and its names.
func (s *Summary) begin(earlier *Summary) {
	if earlier.FirstPrompt != "" {
		s.FirstPrompt, s.Subject = earlier.FirstPrompt, earlier.Subject
	}
	if !earlier.Oldest.IsZero() {
		s.Header.Timestamp, s.Oldest = earlier.Created(), earlier.Oldest
	}
	s.addNames(earlier)
}

// add adds what an earlier file of the session says.
func (s *Summary) add(earlier *Summary) {
	s.begin(earlier)
	s.Messages, s.Entries = s.Messages+earlier.Messages, s.Entries+earlier.Entries
	s.UsedTokens, s.UsedCost = s.UsedTokens+earlier.UsedTokens, s.UsedCost+earlier.UsedCost
}

// addNames adds names, models and labels of another file of the session.
func (s *Summary) addNames(earlier *Summary) {
	s.Name = cmp.Or(s.Name, earlier.Name)
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
			for _, twin := range c.parts[of.part()] {
				list = append(list, twin.path)
			}
			if of.Base.Session != "" {
				if base := c.baseOf(of); base != nil {
					left = append(left, base)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ToldApart names a session whose id others have too: by some digits of a hash of its path behind the
// id, or behind a piece of it.
func ToldApart(id, path string) string {
	return fmt.Sprintf("%s.%04x", id, xxhash.Sum64String(path)&0xffff)
}

// IsToldApart reports whether this is the ToldApart name of the session.
func (s *Summary) IsToldApart(name string) bool {
	at := len(name) - len(".0000")
	return at > 0 && name[at] == '.' && s.ID != "" && near.IsID(s.ID, name[:at]) && ToldApart(name[:at], s.Path) == name
}

// IsVersion reports whether path is an archived copy of a file that has been rewritten since: see
// keep.Copy.Name. Such a session is named by its file.
func IsVersion(path string) bool {
	_, number, ok := strings.Cut(BaseName(path), "~")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
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
