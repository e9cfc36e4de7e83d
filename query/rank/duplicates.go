package rank

import (
	"cmp"
	"slices"

	"pigrep/internal/session"
)

// joinDuplicates drops all but one of the candidates that are duplicates of one part:
// forks and imports copy entries. The one that is left is in the session with the
// oldest header, ties by path and offset. It returns the others by that one.
func (l candidates) joinDuplicates(s *snapshot) map[*Candidate][]*Candidate {
	type marked struct {
		copy uint64 // here too, so that sorting does not visit the candidates
		*Candidate
	}
	var list []marked
	for c := range l.all() {
		if c.copy != 0 {
			list = append(list, marked{c.copy, c})
		}
	}
	// Parts of one entry share the value.
	slices.SortFunc(list, func(a, b marked) int { return cmp.Compare(a.copy, b.copy) })
	duplicates := make(map[*Candidate][]*Candidate)
	var same []*Candidate
	for len(list) > 0 {
		same = same[:0]
		for copy := list[0].copy; len(list) > 0 && list[0].copy == copy; list = list[1:] {
			same = append(same, list[0].Candidate)
		}
		if len(same) == 1 {
			continue
		}
		slices.SortFunc(same, func(a, b *Candidate) int {
			if d := cmp.Or(cmp.Compare(a.part, b.part), s.compareHeaders(a.file, b.file)); d != 0 {
				return d
			}
			return cmp.Compare(s.resolve(a).offset, s.resolve(b).offset)
		})
		lead := same[0]
		for _, c := range same[1:] {
			if c.part != lead.part {
				lead = c
				continue
			}
			duplicates[lead] = append(duplicates[lead], c)
			c.dropped = true
		}
	}
	return duplicates
}

// compareHeaders orders files by the headers of their sessions, then by path.
func (s *snapshot) compareHeaders(i, j int32) int {
	return cmp.Or(session.CompareHeaders(&s.files[i].Header, &s.files[j].Header), cmp.Compare(i, j))
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
