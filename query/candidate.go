package query

import (
	"cmp"
	"iter"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// candidate is a document that matches, before and after verification. There may
// be many: it holds no pointers, and is as long as a line of the cache.
type candidate struct {
	mask uint64
	weak uint64
	copy uint64 // of its entry, once that is read; 0 when it is a copy of nothing

	offset int64 // of its entry; set by resolve
	part   int32 // in its entry; set by resolve

	segment int32
	file    int32 // index in searcher.files
	doc     uint32
	base    float32 // the sum over the words
	score   float32

	tier     uint8
	resolved bool
	pending  bool // some word is to be verified
	dropped  bool // a copy of another candidate, or no hit after all
	counted  bool // in the count of its file
}

// candidates is a list in chunks, so that it grows without being copied. A
// candidate has a number, which says where it is; numbers have gaps.
type candidates [][]candidate

const chunkLen = 1 << 8 // of candidates

func (l *candidates) add(c candidate) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == chunkLen {
		*l = append(*l, make([]candidate, 0, chunkLen))
		last++
	}
	(*l)[last] = append((*l)[last], c)
}

// at returns the candidate with a number.
func (l candidates) at(i int32) *candidate { return &l[i/chunkLen][i%chunkLen] }

// all returns the candidates with their numbers.
func (l candidates) all() iter.Seq2[int32, *candidate] {
	return func(yield func(int32, *candidate) bool) {
		for n := range l {
			for k := range l[n] {
				if !yield(int32(n*chunkLen+k), &l[n][k]) {
					return
				}
			}
		}
	}
}

// resolve fills in where a candidate is in its file.
func (s *searcher) resolve(c *candidate) *candidate {
	if !c.resolved {
		seg := s.segs[c.segment]
		s.touch(seg)
		seg.resolve(c)
	}
	return c
}

func (seg *segment) resolve(c *candidate) {
	id, _ := seg.ID(c.doc)
	c.offset, c.part, c.resolved = id.Offset, int32(id.Part), true
}

// resolveAll is resolve for several candidates. It returns what lengthOf says of
// each.
func (s *searcher) resolveAll(list []int32) ([]int64, error) {
	lengths := make([]int64, len(list))
	all := func(*candidate) bool { return true }
	return lengths, s.bySegment(list, all, func(_ *segment, cs []placed) error {
		for _, c := range cs {
			lengths[c.place] = s.lengthOf(s.resolve(c.candidate))
		}
		return nil
	})
}

// placed is a candidate of a list and its place there.
type placed struct {
	*candidate
	place int
}

// bySegment works on the candidates of a list that are wanted, on those of several
// segments at a time and in the order of their documents, and lets go of what that
// has mapped.
func (s *searcher) bySegment(list []int32, wanted func(*candidate) bool, work func(*segment, []placed) error) error {
	lists := make([][]placed, len(s.segs))
	for place, i := range list {
		if c := s.found.at(i); wanted(c) {
			lists[c.segment] = append(lists[c.segment], placed{c, place})
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n, cs := range lists {
		if len(cs) == 0 {
			continue
		}
		g.Go(func() error {
			seg := s.segs[n]
			defer seg.Trim()
			slices.SortFunc(cs, func(a, b placed) int { return cmp.Compare(a.doc, b.doc) })
			return work(seg, cs)
		})
	}
	return g.Wait()
}
