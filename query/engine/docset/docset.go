// Package docset answers: which documents of a segment? A Set has one bit for each
// document of a segment of the index; a segment is one immutable file of the index,
// and it numbers its documents from 0. Filters and queries make sets from the terms
// of a segment and combine them.
//
// It may import index and what is below it. Sets of a damaged segment may
// lack documents: check index.Reader.Fault before you answer.
package docset

import (
	"iter"
	"math/bits"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/segment"
	"pigrep/internal/session"
)

// A Set has a bit for each document of a segment. The nil Set contains every document
// for Has alone: all other methods need a set made by New.
type Set []uint64

// New returns an empty set for a segment of n documents.
func New(n int) Set { return make(Set, (n+63)/64) }

func (b Set) Has(doc uint32) bool { return b == nil || b[doc>>6]&(1<<(doc&63)) != 0 }

func (b Set) Add(doc uint32) { b[doc>>6] |= 1 << (doc & 63) }

// Set adds or removes a document.
func (b Set) Set(doc uint32, in bool) {
	if b[doc>>6] &^= 1 << (doc & 63); in {
		b.Add(doc)
	}
}

// And removes the documents that are not in o. Both sets are of the same segment.
func (b Set) And(o Set) {
	for i := range b {
		b[i] &= o[i]
	}
}

// Remove removes the documents of o. Both sets are of the same segment.
func (b Set) Remove(o Set) {
	for i := range b {
		b[i] &^= o[i]
	}
}

// Or adds the documents of o, which may be shorter.
func (b Set) Or(o Set) {
	for i, w := range o {
		b[i] |= w
	}
}

// Slice returns the documents [first, end), numbered from 0. first is a multiple of
// 64. The result shares its memory with the set; its last word may have bits of
// documents from end on.
func (b Set) Slice(first, end uint32) Set { return b[first/64 : (end+63)/64] }

// Count returns the number of documents.
func (b Set) Count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// All visits the documents in ascending order.
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

// Both returns the documents that are in both sets of a segment. A nil set has all documents. It
// may change the first set.
func Both(b, o Set) Set {
	switch {
	case b == nil:
		return o
	case o != nil:
		b.And(o)
	}
	return b
}

func (b Set) AddBitmap(docs *roaring.Bitmap) {
	docs.Iterate(func(doc uint32) bool {
		b.Add(doc)
		return true
	})
}

// Mark adds the live documents of a segment that have a term of a field.
func (b Set) Mark(seg *segment.Segment, f segment.Field, term string) {
	seg.Mark(seg.PostingsOffset(f, []byte(term)), b)
}

func Keywords(s *segment.Segment, f segment.Field) (terms []string) {
	s.Terms(f, nil, func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return true
	})
	return terms
}

// ByKind returns the documents with one of the kinds.
func ByKind(seg *segment.Segment, kinds ...session.Kind) Set {
	return ByKeyword(seg, segment.FieldKind, func(kind string) bool { return slices.Contains(kinds, session.Kind(kind)) })
}

// Live returns the live documents of a segment: those that no later generation
// deleted. Every live document has a kind.
func Live(seg *segment.Segment) Set {
	return ByKeyword(seg, segment.FieldKind, func(string) bool { return true })
}

// ByKeyword returns the live documents with a keyword of the field that accept
// returns true for.
func ByKeyword(seg *segment.Segment, f segment.Field, accept func(string) bool) Set {
	b := New(seg.Len())
	for _, term := range Keywords(seg, f) {
		if accept(term) {
			b.Mark(seg, f, term)
		}
	}
	return b
}

// OfFiles returns the documents of the files, given by their numbers, that accept returns true
// for.
func OfFiles(seg *segment.Segment, accept func(file uint32) bool) Set {
	runs, b := seg.Files(), New(seg.Len())
	for i, run := range runs {
		if !accept(run.File) {
			continue
		}
		for doc := run.First; doc < runs.End(i); doc++ {
			b.Add(doc)
		}
	}
	return b
}

// A Marker adds the documents that contain a term to a set.
type Marker func(term string, into Set)

// TextTerms returns the Marker of the text field of a segment.
func TextTerms(seg *segment.Segment) Marker {
	return func(term string, into Set) { into.Mark(seg, segment.FieldText, term) }
}

// Conjunction returns, for a segment of so many documents, those that contain every
// one of n words. A document contains word i if it has one of the terms
// spellings(i).
func Conjunction(documents, n int, spellings func(int) []string, mark Marker) Set {
	docs, one := New(documents), New(documents)
	for i := range n {
		set := docs
		if i > 0 {
			clear(one)
			set = one
		}
		for _, t := range spellings(i) {
			mark(t, set)
		}
		if i > 0 {
			docs.And(one)
		}
		if docs.Count() == 0 {
			break
		}
	}
	return docs
}

// OneSpelling returns the spellings for Conjunction when every word is one term.
func OneSpelling(terms []string) func(int) []string {
	return func(i int) []string { return terms[i : i+1] }
}

// EachSegment calls work for every segment, several at a time, and then releases
// the pages of the segment that work touched. number is the segment's index in the
// list.
func EachSegment(segments []*segment.Segment, work func(number int, seg *segment.Segment)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for number, seg := range segments {
		g.Go(func() error {
			defer seg.Trim()
			work(number, seg)
			return nil
		})
	}
	_ = g.Wait()
}
