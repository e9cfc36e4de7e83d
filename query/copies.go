package query

import (
	"cmp"
	"slices"
)

// joinCopies makes one hit of the candidates that are copies of one part. The
// one that stands for all is in the session with the oldest header, then the
// first by path and offset.
func (s *searcher) joinCopies() {
	first := newCopyTable(s.found)
	next := make([]int32, s.found.bound()) // of the same value, plus one
	var several []int32                    // the first of each value that comes again
	for i, c := range s.found.all() {
		if c.copy == 0 {
			continue
		}
		if j := first.add(i); j >= 0 {
			if next[j] == 0 {
				several = append(several, j)
			}
			next[i], next[j] = next[j], i+1
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
			x, y := s.resolve(s.found.at(i)), s.resolve(s.found.at(j))
			return cmp.Or(cmp.Compare(x.part, y.part), s.compareFiles(x.file, y.file), cmp.Compare(x.offset, y.offset))
		})
		lead := list[0]
		for _, i := range list[1:] {
			if s.found.at(i).part != s.found.at(lead).part {
				lead = i
				continue
			}
			if s.copies == nil {
				s.copies = make(map[int32][]int32)
			}
			s.copies[lead] = append(s.copies[lead], i)
			s.found.at(i).dropped = true
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

// readCopies reads which entry each candidate of a segment is a copy of. Where
// they are it reads of those that lie side by side and have that in common: they
// are parts of one entry, which joinCopies has to tell from copies.
func (s *searcher) readCopies(seg *segment) error {
	var docs []uint32
	for _, chunk := range seg.found {
		docs = slices.Grow(docs[:0], len(chunk))
		for k := range chunk {
			docs = append(docs, chunk[k].doc)
		}
		at := 0
		err := seg.Copies(docs, func(doc uint32, copy uint64) {
			for chunk[at].doc != doc {
				at++
			}
			chunk[at].copy = copy
		})
		if err != nil {
			return err
		}
		for k := 1; k < len(chunk); k++ {
			if chunk[k].copy != 0 && chunk[k].copy == chunk[k-1].copy {
				s.resolve(&chunk[k-1])
				s.resolve(&chunk[k])
			}
		}
	}
	return nil
}

// copyTable finds the first candidate with a copy value. It is an open hash
// table, several times faster here than a map.
type copyTable struct {
	found candidates
	slots []int32 // number of a candidate plus one
	mask  uint64
}

func newCopyTable(found candidates) copyTable {
	size := 16
	for size < 2*found.bound() {
		size *= 2
	}
	return copyTable{found, make([]int32, size), uint64(size - 1)}
}

// add returns the first candidate with the same value as candidate i, or -1 when
// that is i.
func (t *copyTable) add(i int32) int32 {
	copy := t.found.at(i).copy
	for at := copy & t.mask; ; at = (at + 1) & t.mask {
		switch j := t.slots[at] - 1; {
		case j < 0:
			t.slots[at] = i + 1
			return -1
		case t.found.at(j).copy == copy:
			return j
		}
	}
}
