package segment

import (
	"math/bits"
	"slices"

	"pigrep/index/format"
)

// Duplicates are the documents of a segment whose entries may have a duplicate in
// the index: an entry with the same hash elsewhere.
type Duplicates struct {
	Bits   []uint64 // by document, in words of 64; nil when nothing is known
	Hashes []uint64 // of the marked documents, in order
}

// NewDuplicates returns room for so many documents, of which so many are marked.
func NewDuplicates(documents, marked int) Duplicates {
	return Duplicates{make([]uint64, (documents+63)/64), make([]uint64, marked)}
}

// Mark marks a document, whose entry has the hash.
func (d *Duplicates) Mark(doc uint32, hash uint64) {
	if d.has(doc) {
		return
	}
	before := bits.OnesCount64(d.Bits[doc/64] & (1<<(doc%64) - 1))
	for _, w := range d.Bits[:doc/64] {
		before += bits.OnesCount64(w)
	}
	d.Bits[doc/64] |= 1 << (doc % 64)
	d.Hashes = slices.Insert(d.Hashes, before, hash)
}

func (d *Duplicates) has(doc uint32) bool { return d.Bits[doc/64]>>(doc%64)&1 != 0 }

// visit visits documents, whose numbers ascend, if all of them are marked, and
// reports whether they are.
func (d *Duplicates) visit(docs []uint32, visit func(doc uint32, hash uint64)) bool {
	if d.Bits == nil {
		return false
	}
	for _, doc := range docs {
		if !d.has(doc) {
			return false
		}
	}
	word, before := uint32(0), 0
	for _, doc := range docs {
		for ; word < doc/64; word++ {
			before += bits.OnesCount64(d.Bits[word])
		}
		visit(doc, d.Hashes[before+bits.OnesCount64(d.Bits[word]&(1<<(doc%64)-1))])
	}
	return true
}

// PossibleDuplicates returns a bit for each document, in words of 64, set when its
// entry may have a duplicate in the index; nil when nothing is known. The slice is
// the segment's own and must not be changed.
func (s *Segment) PossibleDuplicates() []uint64 {
	if s.duplicates == nil {
		return nil
	}
	return s.duplicates().Bits
}

// EntryHashes visits those of the documents, whose numbers ascend, that have a hash
// of their entry.
func (s *Segment) EntryHashes(docs []uint32, visit func(doc uint32, hash uint64)) (err error) {
	if s.duplicates != nil {
		if d := s.duplicates(); d.visit(docs, visit) {
			return nil
		}
	}
	var visiting bool
	defer format.ContainUnless(&visiting, "read which entries are copies", &err)()
	bad := false
	err = s.docValues(FieldEntryHash, docs, func(doc uint32, value []byte) {
		hash, ok := parseEntryHash(value)
		bad = bad || !ok
		visiting = true
		visit(doc, hash)
		visiting = false
	})
	if bad && err == nil {
		err = format.Damaged("values of %s", FieldEntryHash)
	}
	return err
}
