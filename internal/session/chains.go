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
)

// Chains says which files are one session, and where the history of a file begins in another one.
// Only files with a Part or a Base, those that they name, and files that share an id are in it.
type Chains struct {
	files    map[string]*chained // by path
	parts    map[part][]*chained // the one with the latest message first
	sessions map[part][]*chained // one file of each part, by agent and id
	ids      map[part][]*chained // all files with an id
	heads    map[part]part       // by agent and id of a session that has several parts: the one that goes on
	cuts     map[part]int64      // the ordinal from which on a part is abandoned
	twins    Twins
}

// Twins says what is in files that share an id. NewChains may be told nothing of that.
type Twins struct {
	Has   func(file uint32, entry string) bool                       // reports whether a file has an entry with this id
	Lacks func(file uint32, others []uint32) (messages, entries int) // counts what only the others have
}

// A part is the files of a session, or a part of it. Files with the same id that do not belong
// together have other numbers.
type part struct {
	agent, id, part string
	number          int
}

type chained struct {
	path    string
	number  int // see part
	file    uint32
	at      time.Time // of its latest message
	kept    bool
	begins  uint64
	follows string
	*Header
}

func (c *chained) part() part    { return part{c.Agent, c.ID, c.Part, c.number} }
func (c *chained) session() part { return part{c.Agent, c.ID, "", c.number} }

// base returns the part in which the history of a file begins.
func (c *Chains) base(f *chained) part {
	p := part{f.Agent, f.Base.Session, f.Base.Part, f.number}
	if len(c.parts[p]) == 0 {
		p.number = 0
	}
	return p
}

// IsChained reports whether a file may be one of several of its session, or goes on where
// another one ends.
func (h *Header) IsChained() bool { return h.Part != "" || h.Base.Session != "" }

// NewChains returns the chains among files. It visits the list twice, and needs only the beginnings
// of summaries. The memory of their strings must stay valid. Files that share an id are one session
// if they begin with the same message, or one begins with an entry that follows one of the other.
func NewChains(list iter.Seq2[int, *Summary], twins Twins) *Chains {
	c := &Chains{
		files: make(map[string]*chained), parts: make(map[part][]*chained), sessions: make(map[part][]*chained),
		ids: make(map[part][]*chained), heads: make(map[part]part), cuts: make(map[part]int64), twins: twins,
	}
	wanted, seen := make(map[part]bool), make(map[uint64]bool)
	for _, s := range list {
		if s.IsChained() {
			wanted[part{agent: s.Agent, id: s.ID}], wanted[part{agent: s.Agent, id: s.Base.Session}] = true, true
		} else if hash := xxhash.Sum64String(s.ID); s.ID != "" {
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
	for _, s := range list {
		if s.ID == "" || !wanted[part{agent: s.Agent, id: s.ID}] {
			continue
		}
		h := s.Header
		f := &chained{path: s.Path, file: s.File, at: s.Modified(), kept: s.Kept, begins: s.Begins, follows: s.Follows, Header: &h}
		c.files[s.Path] = f
		id := part{agent: f.Agent, id: f.ID}
		c.ids[id] = append(c.ids[id], f)
		found[f.part()] = append(found[f.part()], f)
	}
	for _, files := range found {
		c.number(files)
		slices.SortStableFunc(files, (*chained).compare)
		for _, f := range files {
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

// compare orders the files of a part: the one with the latest message first, rather one that is not kept.
func (c *chained) compare(o *chained) int {
	if at := o.at.Compare(c.at); at != 0 || c.kept == o.kept {
		return cmp.Or(at, cmp.Compare(c.path, o.path))
	}
	if c.kept {
		return 1
	}
	return -1
}

// number gives numbers to the files of one id, in order of their paths: the same one to files that
// belong together. A version is a session of its own.
func (c *Chains) number(files []*chained) {
	if len(files) == 1 {
		return
	}
	numbers := make(map[uint64]int)
	for i, f := range files {
		if IsVersion(f.path) {
			f.number = -1 - i
			continue
		}
		if _, ok := numbers[f.begins]; !ok {
			numbers[f.begins] = len(numbers)
		}
		f.number = numbers[f.begins]
	}
	for _, f := range files {
		if f.follows == "" || f.number < 0 || c.twins.Has == nil {
			continue
		}
		at := slices.IndexFunc(files, func(o *chained) bool {
			return o.number >= 0 && o.number != f.number && c.twins.Has(o.file, f.follows)
		})
		if at < 0 {
			continue
		}
		for from, to := max(f.number, files[at].number), min(f.number, files[at].number); ; {
			i := slices.IndexFunc(files, func(o *chained) bool { return o.number == from })
			if i < 0 {
				break
			}
			files[i].number = to
		}
	}
}

// addSession finds the part in which a session goes on: of those that no other part of it has
// as its base, the latest. What is not in the history of that part is abandoned.
func (c *Chains) addSession(id part, parts []*chained) {
	named := make(map[part]bool)
	for _, f := range parts {
		if c.base(f) != f.part() {
			named[c.base(f)] = true
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
	if f.Base.Session == "" || c.base(f) == f.part() {
		return nil
	}
	return c.near(c.base(f), f)
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
	return c.parts[p][0].path
}

// Any reports whether some session has several files, or goes on where another one ends.
func (c *Chains) Any() bool { return len(c.files) > 0 }

// Twins returns the other files of the session of a file, or of its part of it, the latest first.
func (c *Chains) Twins(path string) (list []string) {
	if f := c.files[path]; f != nil {
		for _, o := range c.parts[f.part()] {
			if o != f {
				list = append(list, o.path)
			}
		}
	}
	return list
}

// SameID returns the other files with the id of a file.
func (c *Chains) SameID(path string) (list []string) {
	if f := c.files[path]; f != nil {
		for _, o := range c.ids[part{agent: f.Agent, id: f.ID}] {
			if o != f {
				list = append(list, o.path)
			}
		}
	}
	return list
}

// Namesakes returns the files in which other sessions with the id of a session go on.
func (c *Chains) Namesakes(path string) (list []string) {
	for _, o := range c.SameID(path) {
		if c.files[o].number != c.files[path].number && !IsVersion(o) && !IsVersion(path) && c.Head(o) == o {
			list = append(list, o)
		}
	}
	return list
}

// Apart returns what tells a session from others with its id: what follows a dot behind the id, or a
// piece of it; "" if no other session has the id.
func (c *Chains) Apart(path string) string {
	if len(c.Namesakes(path)) == 0 {
		return ""
	}
	files := c.parts[c.files[path].part()]
	at := max(0, slices.IndexFunc(files, func(f *chained) bool { return f.follows == "" }))
	return apart(files[at].begins)
}

func apart(begins uint64) string { return fmt.Sprintf("%05x", begins&0xfffff) }

// CutApart splits what Apart returns from a name, which may be in capitals.
func CutApart(name string) (id, apart string) {
	if at := len(name) - len(".00000"); at > 0 && name[at] == '.' {
		if apart = strings.ToLower(name[at+1:]); strings.Trim(apart, "0123456789abcdef") == "" {
			return name[:at], apart
		}
	}
	return name, ""
}

// MayBe reports whether a file may be of the session that is told from others by what Apart returns.
func (s *Summary) MayBe(from string) bool { return from == apart(s.Begins) || s.Follows != "" }

// Whole returns the summary of a session with its other files, given the file in which it goes
// on: when it began, what it was called first, and the sums. The tokens and costs of twins are not
// added. other returns the summary of a file.
func (c *Chains) Whole(s *Summary, other func(path string) *Summary) *Summary {
	f := c.files[s.Path]
	twins := c.Twins(s.Path)
	if f == nil || c.Head(s.Path) != s.Path || len(twins) == 0 && c.heads[f.session()] != f.part() {
		return s
	}
	whole := *s
	var files []uint32
	for _, path := range twins {
		o := other(path)
		files = append(files, o.File)
		if !o.Oldest.IsZero() && (whole.Oldest.IsZero() || o.Oldest.Before(whole.Oldest)) {
			whole.begin(o)
		}
		whole.addNames(o)
	}
	if len(files) > 0 && c.twins.Lacks != nil {
		messages, entries := c.twins.Lacks(f.file, files)
		whole.Messages, whole.Entries = whole.Messages+messages, whole.Entries+entries
	}
	for seen := map[part]bool{}; f != nil && !seen[f.part()]; f = c.baseOf(f) {
		if seen[f.part()] = true; f.path == s.Path || f.ID != s.ID {
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
}

// add adds what an earlier file of the session says.
func (s *Summary) add(earlier *Summary) {
	s.begin(earlier)
	s.addNames(earlier)
	s.Unpriced = slices.Concat(earlier.Unpriced, s.Unpriced)
	s.Messages, s.Entries = s.Messages+earlier.Messages, s.Entries+earlier.Entries
	s.UsedTokens, s.UsedCost = s.UsedTokens+earlier.UsedTokens, s.UsedCost+earlier.UsedCost
}

// addNames adds names, models and labels of another file of the session.
func (s *Summary) addNames(earlier *Summary) {
	s.Name, s.Delegated = cmp.Or(s.Name, earlier.Name), s.Delegated || earlier.Delegated
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
