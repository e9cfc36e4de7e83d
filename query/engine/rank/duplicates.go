package rank

import (
	"cmp"
	"iter"
	"slices"

	"pigrep/internal/lists"
	"pigrep/internal/session"
)

// duplicates are the candidates that may be duplicates of others, those of one part
// together: in the order of their headers.
type duplicates []marked

type marked struct {
	// Of the candidate. They are here too, so that sorting seldom visits the candidates, and
	// so that hits can look for their duplicates while others are resolved.
	copy uint64
	part int32

	*Candidate
	like  int   // index of the first duplicate that is a hit exactly if this one is
	level Level // how good a hit it is, once the duplicates are settled; 0 for none
}

// joinDuplicates drops the candidates that need not be verified, because they are
// duplicates of one part, and hits exactly if another one is: forks and imports copy
// entries. Duplicates have the same text, but what a session record or header says of them
// may differ. With byDirectory the directory of the session decides too.
func (l candidates) joinDuplicates(s *snapshot, byDirectory bool) duplicates {
	count := 0
	for c := range l.all() {
		if c.copy != 0 {
			count++
		}
	}
	list := make(duplicates, 0, count)
	for c := range l.all() {
		if c.copy != 0 {
			list = append(list, marked{copy: c.copy, part: c.part, Candidate: c})
		}
	}
	// Parts of one entry share the value.
	slices.SortFunc(list, func(a, b marked) int {
		if a.copy != b.copy || a.part != b.part {
			return a.compare(b.copy, b.part)
		}
		if a.file != b.file {
			return s.compareHeaders(a.file, b.file)
		}
		return cmp.Compare(s.resolve(a.Candidate).offset, s.resolve(b.Candidate).offset)
	})
	for first, end := range list.groups() {
		for i := first; i < end; i++ {
			a := list[i].Candidate
			list[i].like = first + slices.IndexFunc(list[first:i+1], func(b marked) bool {
				return a == b.Candidate || a.mask == b.mask && a.partial == b.partial && (!byDirectory || s.summary(a.file).CWD == s.summary(b.file).CWD)
			})
			a.dropped = list[i].like < i
		}
	}
	return list
}

func (m *marked) compare(copy uint64, part int32) int {
	return cmp.Or(cmp.Compare(m.copy, copy), cmp.Compare(m.part, part))
}

// groups visits the duplicates of each part: the index of the first, and the one after the
// last.
func (d duplicates) groups() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for first := 0; first < len(d); {
			end := first + 1
			for end < len(d) && d[end].copy == d[first].copy && d[end].part == d[first].part {
				end++
			}
			if !yield(first, end) {
				return
			}
			first = end
		}
	}
}

// settle leaves one of the duplicates of each part, once they are verified: of the best
// hits the one in the session with the oldest header, ties by path and offset.
func (d duplicates) settle(levelOf func(*Candidate) Level) {
	for first, end := range d.groups() {
		best := first
		for i := first; i < end; i++ {
			if like := d[i].like; like < i {
				d[i].level = d[like].level
			} else if !d[i].dropped {
				d[i].level = levelOf(d[i].Candidate)
			}
			if d[i].level > d[best].level {
				best = i
			}
		}
		for i := first; i < end; i++ {
			d[i].dropped = d[i].dropped || i != best
		}
	}
}

func (d duplicates) group(c *Candidate) duplicates {
	first, ok := slices.BinarySearchFunc(d, c, func(m marked, c *Candidate) int { return m.compare(c.copy, c.part) })
	if !ok {
		return nil
	}
	end := first
	for end < len(d) && d[end].copy == c.copy && d[end].part == c.part {
		end++
	}
	return d[first:end]
}

// of returns the duplicates that a hit represents.
func (d duplicates) of(c *Candidate) (others []*Candidate) {
	for _, m := range d.group(c) {
		if m.Candidate != c && m.level > 0 {
			others = append(others, m.Candidate)
		}
	}
	return others
}

func (s *snapshot) compareHeaders(i, j int32) int {
	return cmp.Or(session.CompareStarts(s.files[i].started, s.files[j].started), cmp.Compare(i, j))
}

// readDuplicates loads the hash that duplicates share, and the part, of each candidate of
// a segment that may be a duplicate.
func (seg *segmentState) readDuplicates() {
	var docs []uint32
	for _, chunk := range seg.found {
		docs = slices.Grow(docs[:0], len(chunk))
		for k := range chunk {
			if c := &chunk[k]; seg.copied.Has(c.doc) {
				docs = append(docs, c.doc)
			}
		}
		at := 0
		candidate := func(doc uint32) *Candidate {
			for chunk[at].doc != doc {
				at++
			}
			return &chunk[at]
		}
		known := seg.KnownDuplicates(docs, func(doc uint32, hash uint64, part int) {
			c := candidate(doc)
			c.copy, c.part = hash, int32(part)
		})
		if known {
			continue
		}
		seg.EntryHashes(docs, func(doc uint32, hash uint64) {
			c := candidate(doc)
			c.copy = hash
			seg.resolve(c)
		})
	}
}

// readIdentities is readDuplicates for candidates that are going to be compared with
// their session files, where the entry must be the one that was indexed.
func (s *snapshot) readIdentities(list []*Candidate) {
	lacking := slices.DeleteFunc(slices.Clone(list), func(c *Candidate) bool { return c.copy != 0 })
	s.bySegment(lacking, func(seg *segmentState, cs []indexed) {
		docs := lists.Map(cs, func(c indexed) uint32 { return c.doc })
		at := 0
		seg.EntryHashes(docs, func(doc uint32, copy uint64) {
			for cs[at].doc != doc {
				at++
			}
			cs[at].copy = copy
		})
	})
}

// readIdentity is readIdentities for a candidate that is going to be shown.
func (s *snapshot) readIdentity(c *Candidate) {
	if c.copy != 0 {
		return
	}
	s.touch(s.segs[c.segment])
	s.segs[c.segment].EntryHashes([]uint32{c.doc}, func(_ uint32, copy uint64) { c.copy = copy })
}
