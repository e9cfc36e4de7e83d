package docset

import (
	"iter"
	"math/bits"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index"
	"pigrep/internal/session"
)

// A Set has a bit for each document of a segment; nil has all.
type Set []uint64

func New(n int) Set { return Make[uint64]((n + 63) / 64) }

func (b Set) Has(doc uint32) bool { return b == nil || b[doc>>6]&(1<<(doc&63)) != 0 }

func (b Set) Add(doc uint32) { b[doc>>6] |= 1 << (doc & 63) }

func (b Set) And(o Set) {
	for i := range b {
		b[i] &= o[i]
	}
}

func (b Set) Or(o Set) {
	for i, w := range o {
		b[i] |= w
	}
}

// Part returns the bits from one document, a multiple of 64, up to another.
func (b Set) Slice(first, end uint32) Set { return b[first/64 : (end+63)/64] }

func (b Set) Count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// All returns the documents that have a bit, in order.
func (b Set) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(uint32(i<<6 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

func (b Set) AddBitmap(docs *roaring.Bitmap) {
	var block [256]uint32
	it := docs.ManyIterator()
	for n := it.NextMany(block[:]); n > 0; n = it.NextMany(block[:]) {
		for _, d := range block[:n] {
			b.Add(d)
		}
	}
}

// Keywords lists the terms of a field.
func Keywords(s *index.Segment, f index.Field) (terms []string, err error) {
	err = s.Terms(f, nil, func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return true
	})
	return terms, err
}

// Make is make, but that every page is written to: one that is read first is the
// system's page of zeros, and when it is written later, that costs a second fault
// and stops the other cores.
func Make[T any](n int) []T {
	s := make([]T, n)
	clear(s)
	return s
}

// OfKinds returns the documents of some kinds.
func ByKind(seg *index.Segment, kinds ...session.Kind) (Set, error) {
	return ByKeyword(seg, index.FieldKind, func(kind string) bool { return slices.Contains(kinds, session.Kind(kind)) })
}

// OneSpelling says that each of these terms has one spelling.
func OneSpelling(terms []string) func(int) []string {
	return func(i int) []string { return terms[i : i+1] }
}

// Live returns the live documents of a segment: each has a kind.
func Live(seg *index.Segment) (Set, error) {
	return ByKeyword(seg, index.FieldKind, func(string) bool { return true })
}

// ByKeyword returns the documents of a segment that have some keyword of a field that
// take takes.
func ByKeyword(seg *index.Segment, f index.Field, take func(string) bool) (Set, error) {
	b := New(seg.Len())
	terms, err := Keywords(seg, f)
	for _, term := range terms {
		if !take(term) {
			continue
		}
		at, err := seg.Place(f, []byte(term))
		if err != nil {
			return nil, err
		}
		if err := seg.Mark(at, b); err != nil {
			return nil, err
		}
	}
	return b, err
}

// A Marker adds the documents that have a term to a set.
type Marker func(term string, into Set) error

// TextTerms marks the documents of a segment by the terms of their text.
func TextTerms(seg *index.Segment) Marker {
	return func(term string, into Set) error {
		at, err := seg.Place(index.FieldText, []byte(term))
		if err != nil {
			return err
		}
		return seg.Mark(at, into)
	}
}

// Conjunction returns, of so many documents, those that have each of n words in one
// of its spellings.
func Conjunction(documents, n int, spellings func(int) []string, mark Marker) (Set, error) {
	docs, one := New(documents), New(documents)
	for i := range n {
		set := docs
		if i > 0 {
			clear(one)
			set = one
		}
		for _, t := range spellings(i) {
			if err := mark(t, set); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			docs.And(one)
		}
		if docs.Count() == 0 {
			break
		}
	}
	return docs, nil
}

// EachSegment works on several segments at a time, and lets go of what that has
// mapped of each. number is the place of the segment in the list.
func EachSegment(segments []*index.Segment, work func(number int, seg *index.Segment) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for number, seg := range segments {
		g.Go(func() error {
			defer seg.Trim()
			return work(number, seg)
		})
	}
	return g.Wait()
}
