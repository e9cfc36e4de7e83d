package query

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// joinCopies makes one hit of the candidates that are copies of one part. The
// one that stands for all is in the session with the oldest header, then the
// first by path and offset.
func (s *searcher) joinCopies() {
	s.copies = make(map[int32][]int32)
	next := make([]int32, s.found.bound())
	n := uint64(1)
	if s.found.bound() > joinAlone {
		n = uint64(runtime.GOMAXPROCS(0))
	}
	var mu sync.Mutex
	var g sync.WaitGroup
	for k := range n {
		g.Go(func() {
			copies := s.joinShare(k, n, next)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(s.copies, copies)
		})
	}
	g.Wait()
}

// joinAlone is for how many candidates one goroutine is enough.
const joinAlone = 16 << 10

// joinShare is joinCopies for the k-th of n shares of the values. It links the
// candidates of a value in next: their numbers plus one.
func (s *searcher) joinShare(k, n uint64, next []int32) map[int32][]int32 {
	first := newCopyTable(s.found, int(n))
	var several []int32 // the first of each value that comes again
	for i, c := range s.found.all() {
		if c.copy == 0 || c.copy>>32%n != k {
			continue
		}
		if j := first.add(i); j >= 0 {
			if next[j] == 0 {
				several = append(several, j)
			}
			next[i], next[j] = next[j], i+1
		}
	}
	copies := make(map[int32][]int32)
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
			copies[lead] = append(copies[lead], i)
			s.found.at(i).dropped = true
		}
	}
	return copies
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

// newCopyTable makes a table for one of n shares of the candidates, which there
// is room in for all of them.
func newCopyTable(found candidates, n int) copyTable {
	size := 16
	for size <= found.bound() || size < 2*found.bound()/n {
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
