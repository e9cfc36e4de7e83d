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
	Parts  []uint32 // their parts: ID.Part
	Files  []uint32 // their files, ascending, each once
}

// NewDuplicates returns empty Duplicates for a segment with this number of documents. It
// has room for marked ones.
func NewDuplicates(documents, marked int) Duplicates {
	return Duplicates{Bits: make([]uint64, (documents+63)/64), Hashes: make([]uint64, marked), Parts: make([]uint32, marked)}
}

// Mark marks a document, which has this id and belongs to an entry with the hash.
func (d *Duplicates) Mark(doc uint32, hash uint64, id ID) {
	if d.has(doc) {
		return
	}
	before := bits.OnesCount64(d.Bits[doc/64] & (1<<(doc%64) - 1))
	for _, w := range d.Bits[:doc/64] {
		before += bits.OnesCount64(w)
	}
	d.Bits[doc/64] |= 1 << (doc % 64)
	d.Hashes = slices.Insert(d.Hashes, before, hash)
	d.Parts = slices.Insert(d.Parts, before, uint32(id.Part))
	if i, ok := slices.BinarySearch(d.Files, id.File); !ok {
		d.Files = slices.Insert(d.Files, i, id.File)
	}
}

func (d *Duplicates) has(doc uint32) bool { return d.Bits[doc/64]>>(doc%64)&1 != 0 }

// visit visits documents, whose numbers ascend, if all of them are marked, and
// reports whether they are.
func (d *Duplicates) visit(docs []uint32, visit func(doc uint32, hash uint64, part int)) bool {
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
		at := before + bits.OnesCount64(d.Bits[word]&(1<<(doc%64)-1))
		visit(doc, d.Hashes[at], int(d.Parts[at]))
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

// FilesWithDuplicates returns the files with documents that may have a duplicate in the
// index. known is false if the duplicates are not known.
func (s *Segment) FilesWithDuplicates() (files []uint32, known bool) {
	if s.duplicates == nil {
		return nil, false
	}
	d := s.duplicates()
	return d.Files, d.Bits != nil || s.length == 0
}

// KnownDuplicates visits documents, whose numbers ascend, with the hash of their entry and
// their part, if all of them are among the possible duplicates that are known, and reports
// whether they are. It reads nothing of the segment.
func (s *Segment) KnownDuplicates(docs []uint32, visit func(doc uint32, hash uint64, part int)) bool {
	if s.duplicates == nil {
		return false
	}
	d := s.duplicates()
	return d.visit(docs, visit)
}

// EntryHashes visits those of the documents, whose numbers ascend, that have a hash
// of their entry.
func (s *Segment) EntryHashes(docs []uint32, visit func(doc uint32, hash uint64)) (err error) {
	if s.KnownDuplicates(docs, func(doc uint32, hash uint64, _ int) { visit(doc, hash) }) {
		return nil
	}
	var visiting bool
	defer format.ContainUnless(format.Guard(), &visiting, "read which entries are copies", &err)
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
