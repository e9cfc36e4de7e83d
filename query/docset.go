package query

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index"
	"pigrep/internal/session"
)

// A bitset has a bit for each document of a segment; nil has all.
type bitset []uint64

func newBitset(n int) bitset { return written[uint64]((n + 63) / 64) }

func (b bitset) has(doc uint32) bool { return b == nil || b[doc>>6]&(1<<(doc&63)) != 0 }

func (b bitset) add(doc uint32) { b[doc>>6] |= 1 << (doc & 63) }

func (b bitset) and(o bitset) {
	for i := range b {
		b[i] &= o[i]
	}
}

func (b bitset) or(o bitset) {
	for i, w := range o {
		b[i] |= w
	}
}

// part returns the bits from one document, a multiple of 64, up to another.
func (b bitset) part(first, end uint32) bitset { return b[first/64 : (end+63)/64] }

func (b bitset) count() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// all returns the documents that have a bit, in order.
func (b bitset) all() iter.Seq[uint32] {
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

func (b bitset) set(docs *roaring.Bitmap) {
	var block [256]uint32
	it := docs.ManyIterator()
	for n := it.NextMany(block[:]); n > 0; n = it.NextMany(block[:]) {
		for _, d := range block[:n] {
			b.add(d)
		}
	}
}

// keywords lists the terms of a field.
func keywords(s *index.Segment, f index.Field) (terms []string, err error) {
	err = s.Terms(f, nil, func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return true
	})
	return terms, err
}

// written is make, but that every page is written to: one that is read first is the
// system's page of zeros, and when it is written later, that costs a second fault
// and stops the other cores.
func written[T any](n int) []T {
	s := make([]T, n)
	clear(s)
	return s
}

// ofKinds returns the documents of some kinds.
func ofKinds(seg *index.Segment, kinds ...session.Kind) (bitset, error) {
	return keyed(seg, index.FieldKind, func(kind string) bool { return slices.Contains(kinds, session.Kind(kind)) })
}

// oneEach says that each of these terms has one spelling.
func oneEach(terms []string) func(int) []string {
	return func(i int) []string { return terms[i : i+1] }
}

// live returns the live documents of a segment: each has a kind.
func live(seg *index.Segment) (bitset, error) {
	return keyed(seg, index.FieldKind, func(string) bool { return true })
}

// keyed returns the documents of a segment that have some keyword of a field that
// take takes.
func keyed(seg *index.Segment, f index.Field, take func(string) bool) (bitset, error) {
	b := newBitset(seg.Len())
	terms, err := keywords(seg, f)
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

// A marker adds the documents that have a term to a set.
type marker func(term string, into bitset) error

// textTerms marks the documents of a segment by the terms of their text.
func textTerms(seg *index.Segment) marker {
	return func(term string, into bitset) error {
		at, err := seg.Place(index.FieldText, []byte(term))
		if err != nil {
			return err
		}
		return seg.Mark(at, into)
	}
}

// conjunction returns, of so many documents, those that have each of n words in one
// of its spellings.
func conjunction(documents, n int, spellings func(int) []string, mark marker) (bitset, error) {
	docs, one := newBitset(documents), newBitset(documents)
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
			docs.and(one)
		}
		if docs.count() == 0 {
			break
		}
	}
	return docs, nil
}
