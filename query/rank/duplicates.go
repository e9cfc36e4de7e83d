package rank

import (
	"cmp"
	"slices"

	"pigrep/internal/session"
)

// duplicates are the candidates that may be duplicates of others, those of one part
// together: first the one that represents them, see joinDuplicates.
type duplicates []marked

type marked struct {
	copy uint64 // of the candidate; here too, so that sorting seldom visits the candidates
	*Candidate
}

// joinDuplicates drops all but one of the candidates that are duplicates of one part:
// forks and imports copy entries. The one that is left is in the session with the
// oldest header, ties by path and offset.
func (l candidates) joinDuplicates(s *snapshot) duplicates {
	count := 0
	for c := range l.all() {
		if c.copy != 0 {
			count++
		}
	}
	list := make(duplicates, 0, count)
	for c := range l.all() {
		if c.copy != 0 {
			list = append(list, marked{c.copy, c})
		}
	}
	// Parts of one entry share the value.
	slices.SortFunc(list, func(a, b marked) int {
		if a.copy != b.copy {
			return cmp.Compare(a.copy, b.copy)
		}
		if a.part != b.part {
			return cmp.Compare(a.part, b.part)
		}
		if a.file != b.file {
			return s.compareHeaders(a.file, b.file)
		}
		return cmp.Compare(s.resolve(a.Candidate).offset, s.resolve(b.Candidate).offset)
	})
	for i := 1; i < len(list); i++ {
		if list[i].copy == list[i-1].copy && list[i].part == list[i-1].part {
			list[i].dropped = true
		}
	}
	return list
}

// of returns the duplicates that a candidate represents.
func (d duplicates) of(c *Candidate) (others []*Candidate) {
	at, _ := slices.BinarySearchFunc(d, c.copy, func(m marked, copy uint64) int { return cmp.Compare(m.copy, copy) })
	for at < len(d) && d[at].copy == c.copy && d[at].Candidate != c {
		at++
	}
	for at++; at < len(d) && d[at].copy == c.copy && d[at].part == c.part; at++ {
		others = append(others, d[at].Candidate)
	}
	return others
}

// compareHeaders orders files by the headers of their sessions, then by path.
func (s *snapshot) compareHeaders(i, j int32) int {
	return cmp.Or(session.CompareStarts(s.files[i].started, s.files[j].started), cmp.Compare(i, j))
}

// readDuplicates loads the hash that duplicates share, and the part, of each candidate of
// a segment that may be a duplicate.
func (seg *segmentState) readDuplicates() error {
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
		err := seg.EntryHashes(docs, func(doc uint32, hash uint64) {
			c := candidate(doc)
			c.copy = hash
			seg.resolve(c)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readIdentities is readDuplicates for candidates that are going to be compared with
// their session files, where the entry must be the one that was indexed.
func (s *snapshot) readIdentities(list []*Candidate) error {
	lacking := func(c *Candidate) bool { return c.copy == 0 }
	return s.bySegment(list, lacking, func(seg *segmentState, cs []indexed) error {
		docs := make([]uint32, len(cs))
		for k, c := range cs {
			docs[k] = c.doc
		}
		at := 0
		return seg.EntryHashes(docs, func(doc uint32, copy uint64) {
			for cs[at].doc != doc {
				at++
			}
			cs[at].copy = copy
		})
	})
}

// readIdentity is readIdentities for a candidate that is going to be shown.
func (s *snapshot) readIdentity(c *Candidate) error {
	if c.copy != 0 {
		return nil
	}
	s.touch(s.segs[c.segment])
	return s.segs[c.segment].EntryHashes([]uint32{c.doc}, func(_ uint32, copy uint64) { c.copy = copy })
}
