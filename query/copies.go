package query

import (
	"cmp"
	"slices"
)

// joinCopies makes one hit of the candidates that are copies of one part. The
// one that stands for all is in the session with the oldest header, then the
// first by path and offset.
func (s *searcher) joinCopies() error {
	if err := s.readCopies(); err != nil {
		return err
	}
	first := newCopyTable(len(s.found))
	again := map[uint64][]int32{}
	for i := range s.found {
		c := &s.found[i]
		if c.copy == 0 {
			continue
		}
		if j := first.add(s.found, int32(i)); j >= 0 {
			list := again[c.copy]
			if list == nil {
				list = []int32{j}
			}
			again[c.copy] = append(list, int32(i))
		}
	}
	for _, list := range again {
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
	return nil
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

// readCopies reads which entry each candidate is a copy of.
func (s *searcher) readCopies() error {
	for start := 0; start < len(s.found); {
		end := start
		for end < len(s.found) && s.found[end].segment == s.found[start].segment {
			end++
		}
		docs := make([]uint32, end-start)
		for i := range docs {
			docs[i] = s.found[start+i].doc
		}
		at := start
		seg := s.segs[s.found[start].segment]
		err := seg.Copies(docs, func(doc uint32, copy string) {
			for s.found[at].doc != doc {
				at++
			}
			s.found[at].copy = copyKey(copy)
		})
		seg.Trim()
		if err != nil {
			return err
		}
		start = end
	}
	return nil
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
