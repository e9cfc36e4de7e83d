package query

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"sync"

	"pigrep/query/docset"
)

// joinCopies makes one hit of the candidates that are copies of one part. The
// one that stands for all is in the session with the oldest header, then the
// first by path and offset.
func (s *searcher) joinCopies() {
	var list []int32 // the candidates that may be copies
	for i, c := range s.found.all() {
		if c.copy != 0 {
			list = append(list, i)
		}
	}
	s.copies = make(map[int32][]int32)
	next := docset.Make[int32](len(list))
	n := uint64(1)
	if len(list) > joinAlone {
		n = uint64(runtime.GOMAXPROCS(0))
	}
	var mu sync.Mutex
	var g sync.WaitGroup
	for k := range n {
		g.Go(func() {
			copies := s.joinShare(k, n, list, next)
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
// candidates of a value in next: their places in the list plus one.
func (s *searcher) joinShare(k, n uint64, list, next []int32) map[int32][]int32 {
	first := s.newCopyTable(list, int(n))
	var several []int32 // the first of each value that comes again
	for at, i := range list {
		if s.found.at(i).copy>>32%n != k {
			continue
		}
		at := int32(at)
		if j := first.add(at); j >= 0 {
			if next[j] == 0 {
				several = append(several, j)
			}
			next[at], next[j] = next[j], at+1
		}
	}
	copies := make(map[int32][]int32)
	var same []int32
	for _, at := range several {
		same = append(same[:0], list[at])
		for j := next[at]; j > 0; j = next[j-1] {
			same = append(same, list[j-1])
		}
		// Parts of one entry share the value.
		slices.SortFunc(same, func(i, j int32) int {
			x, y := s.resolve(s.found.at(i)), s.resolve(s.found.at(j))
			return cmp.Or(cmp.Compare(x.part, y.part), s.compareFiles(x.file, y.file), cmp.Compare(x.offset, y.offset))
		})
		lead := same[0]
		for _, i := range same[1:] {
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

// readCopies reads which entry each candidate of a segment is a copy of that may be
// one, and where these are, which joinCopies has to know of nearly all of them.
func (seg *segment) readCopies() error {
	var docs []uint32
	for _, chunk := range seg.found {
		docs = slices.Grow(docs[:0], len(chunk))
		for k := range chunk {
			if c := &chunk[k]; seg.copied.Has(c.doc) {
				docs = append(docs, c.doc)
			}
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
		for k := range chunk {
			if chunk[k].copy != 0 {
				seg.resolve(&chunk[k])
			}
		}
	}
	return nil
}

// readCopiesOf is readCopies for candidates that are going to be compared with their
// session files, where the entry must be the one that was indexed.
func (s *searcher) readCopiesOf(list []int32) error {
	lacking := func(c *candidate) bool { return c.copy == 0 }
	return s.bySegment(list, lacking, func(seg *segment, cs []placed) error {
		docs := make([]uint32, len(cs))
		for k, c := range cs {
			docs[k] = c.doc
		}
		at := 0
		return seg.Copies(docs, func(doc uint32, copy uint64) {
			for cs[at].doc != doc {
				at++
			}
			cs[at].copy = copy
		})
	})
}

// readCopy is readCopies for a candidate that is going to be shown.
func (s *searcher) readCopy(c *candidate) error {
	if c.copy != 0 {
		return nil
	}
	s.touch(s.segs[c.segment])
	return s.segs[c.segment].Copies([]uint32{c.doc}, func(_ uint32, copy uint64) { c.copy = copy })
}

// copyTable finds the first candidate of a list with a copy value. It is an open
// hash table, several times faster here than a map.
type copyTable struct {
	found candidates
	list  []int32
	slots []int32 // place in the list plus one
	mask  uint64
}

// newCopyTable makes a table for one of n shares of the list, which there is room
// in for all of it.
func (s *searcher) newCopyTable(list []int32, n int) copyTable {
	size := 16
	for size <= len(list) || size < 2*len(list)/n {
		size *= 2
	}
	return copyTable{s.found, list, docset.Make[int32](size), uint64(size - 1)}
}

// add returns the place of the first candidate with the same value as the one at a
// place, or -1 when it is that one.
func (t *copyTable) add(at int32) int32 {
	copy := t.found.at(t.list[at]).copy
	for slot := copy & t.mask; ; slot = (slot + 1) & t.mask {
		switch j := t.slots[slot] - 1; {
		case j < 0:
			t.slots[slot] = at + 1
			return -1
		case t.found.at(t.list[j]).copy == copy:
			return j
		}
	}
}
