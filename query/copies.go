package query

import (
	"cmp"
	"slices"
)

// joinCopies makes one hit of the candidates that are copies of one part. The
// one that stands for all is in the session with the oldest header, then the
// first by path and offset.
func (s *searcher) joinCopies() {
	first := newCopyTable(len(s.found))
	next := make([]int32, len(s.found)) // of the same value, plus one
	var several []int32                 // the first of each value that comes again
	for i := range s.found {
		if s.found[i].copy == 0 {
			continue
		}
		if j := first.add(s.found, int32(i)); j >= 0 {
			if next[j] == 0 {
				several = append(several, j)
			}
			next[i], next[j] = next[j], int32(i)+1
		}
	}
	var list []int32
	for _, i := range several {
		list = append(list[:0], i)
		for j := next[i]; j > 0; j = next[j-1] {
			list = append(list, j-1)
		}
		// Parts of one entry share the value.
		slices.SortFunc(list, func(i, j int32) int {
			a, b := &s.found[i], &s.found[j]
			x, y := s.resolve(a), s.resolve(b)
			return cmp.Or(cmp.Compare(x.Part, y.Part), s.compareFiles(a.file, b.file), cmp.Compare(x.Offset, y.Offset))
		})
		lead := list[0]
		for _, i := range list[1:] {
			if s.found[i].id.Part != s.found[lead].id.Part {
				lead = i
				continue
			}
			if s.copies == nil {
				s.copies = make(map[int32][]int32)
			}
			s.copies[lead] = append(s.copies[lead], i)
			s.found[i].dropped = true
		}
	}
}

// compareFiles orders sessions by their headers, the oldest first and those that
// say no time last.
func (s *searcher) compareFiles(i, j int32) int {
	a, b := s.files[i].Timestamp, s.files[j].Timestamp
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Compare(b), cmp.Compare(i, j))
}

// readCopies reads which entry each candidate of a segment is a copy of.
func (seg *segment) readCopies() error {
	if len(seg.found) == 0 {
		return nil
	}
	docs := make([]uint32, len(seg.found))
	for i := range docs {
		docs[i] = seg.found[i].doc
	}
	at := 0
	return seg.Copies(docs, func(doc uint32, copy uint64) {
		for seg.found[at].doc != doc {
			at++
		}
		seg.found[at].copy = copy
	})
}

// copyTable finds the first candidate with a copy value. It is an open hash
// table, several times faster here than a map.
type copyTable struct {
	slots []int32 // index of a candidate plus one
	mask  uint64
}

func newCopyTable(n int) copyTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return copyTable{make([]int32, size), uint64(size - 1)}
}

// add returns the first candidate with the same value as candidate i, or -1 when
// that is i.
func (t *copyTable) add(found []candidate, i int32) int32 {
	for at := found[i].copy & t.mask; ; at = (at + 1) & t.mask {
		switch j := t.slots[at] - 1; {
		case j < 0:
			t.slots[at] = i + 1
			return -1
		case found[j].copy == found[i].copy:
			return j
		}
	}
}
