package segment

import (
	"math/bits"
	"slices"

	"pigrep/index/format"
)

// Duplicates are the documents of a segment whose entries may have a copy in the
// index.
type Duplicates struct {
	Bits   []uint64 // by document, in words of 64; nil when it is not known
	Hashes []uint64 // of those that are marked, in order
}

// NewDuplicates returns room for so many documents, of which so many are marked.
func NewDuplicates(documents, marked int) Duplicates {
	return Duplicates{make([]uint64, (documents+63)/64), make([]uint64, marked)}
}

func (m *Duplicates) has(doc uint32) bool { return m.Bits[doc/64]>>(doc%64)&1 != 0 }

// Mark marks a document.
func (m *Duplicates) Mark(doc uint32, hash uint64) {
	if m.has(doc) {
		return
	}
	before := bits.OnesCount64(m.Bits[doc/64] & (1<<(doc%64) - 1))
	for _, w := range m.Bits[:doc/64] {
		before += bits.OnesCount64(w)
	}
	m.Bits[doc/64] |= 1 << (doc % 64)
	m.Hashes = slices.Insert(m.Hashes, before, hash)
}

// visit visits documents, in ascending order, when all of them are marked, and
// reports whether they are.
func (m *Duplicates) visit(docs []uint32, visit func(doc uint32, hash uint64)) bool {
	if m.Bits == nil {
		return false
	}
	for _, doc := range docs {
		if !m.has(doc) {
			return false
		}
	}
	word, before := uint32(0), 0
	for _, doc := range docs {
		for ; word < doc/64; word++ {
			before += bits.OnesCount64(m.Bits[word])
		}
		visit(doc, m.Hashes[before+bits.OnesCount64(m.Bits[word]&(1<<(doc%64)-1))])
	}
	return true
}

// Copies visits the given documents, in ascending order, that have a value in
// FieldCopy: the entry's Copy.
func (s *Segment) Copies(docs []uint32, visit func(doc uint32, copy uint64)) (err error) {
	if s.duplicates != nil {
		if d := s.duplicates(); d.visit(docs, visit) {
			return nil
		}
	}
	var visiting bool
	defer format.ContainUnless(&visiting, "read which entries are copies", &err)()
	bad := false
	err = s.values(FieldCopy, docs, func(doc uint32, value []byte) {
		copy, ok := parseCopy(value)
		bad = bad || !ok
		visiting = true
		visit(doc, copy)
		visiting = false
	})
	if bad && err == nil {
		err = format.Damaged("values of %s", FieldCopy)
	}
	return err
}

// MayBeCopy returns a bit for each document, in words of 64, that is not set when
// its entry has no copy in the index. It is nil when that is not known of any. The
// slice is the segment's own and must not be changed.
func (s *Segment) MayBeCopy() []uint64 {
	if s.duplicates == nil {
		return nil
	}
	return s.duplicates().Bits
}
