package segment

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
)

// Sets of documents of a segment: those of a term as a bitmap or as bits, and which
// of all documents are live.

// Live returns the number of documents and stored values that are not deleted.
func (s *Segment) Live() int {
	if s.deleted == nil {
		return s.length
	}
	return s.length - int(s.deleted.GetCardinality())
}

// Hidden returns the numbers of all that is not a live document: deleted documents and
// stored values. The bitmap is the caller's.
func (s *Segment) Hidden() (*roaring.Bitmap, error) {
	b, err := s.Bitmap(fieldRecord, []byte(recordTerm))
	if err == nil && s.deleted != nil {
		b.Or(s.deleted)
	}
	return b, err
}

// Bitmap returns the live documents that have the keyword. The bitmap is the
// caller's.
func (s *Segment) Bitmap(f Field, term []byte) (b *roaring.Bitmap, err error) {
	defer format.Contain(format.Guard(), "look up a keyword", &err)
	at, err := s.lookUp(f, term)
	if err != nil {
		return nil, err
	}
	b = roaring.New()
	if at == 0 {
		return b, nil
	}
	if err := s.readDocuments(at, b); err != nil {
		return nil, err
	}
	b.CloneCopyOnWriteContainers() // they are in mapped memory
	return b, s.keepLive(b)
}

// Mark sets the bits of the live documents that have the term with these postings,
// and clears those of deleted documents. The set has a bit for each document, in
// words of 64.
func (s *Segment) Mark(at PostingsOffset, set []uint64) (err error) {
	defer format.Contain(format.Guard(), "read postings", &err)
	if at == 0 {
		return nil
	}
	m := markers.Get().(*marker)
	defer markers.Put(m)
	if err := s.readDocuments(at, &m.docs); err != nil {
		return err
	}
	if m.docs.IsEmpty() {
		return nil
	}
	if last := m.docs.Maximum(); int(last) >= s.length {
		return format.Damaged("document number %d", last)
	}
	m.mark(set)
	if s.length%64 != 0 && set[len(set)-1]>>(s.length%64) != 0 { // documents do not ascend
		return errPostings
	}
	for i, w := range s.deletedBits() {
		set[i] &^= w
	}
	return nil
}

// marker is the memory of Mark.
type marker struct {
	docs  roaring.Bitmap
	dense []uint64
}

var markers = sync.Pool{New: func() any { return new(marker) }}

// mark sets the bits of the documents.
func (m *marker) mark(set []uint64) {
	if 8*m.docs.GetCardinality() < uint64(len(set)) {
		m.docs.Iterate(func(doc uint32) bool {
			set[doc/64] |= 1 << (doc % 64)
			return true
		})
		return
	}
	m.dense = slices.Grow(m.dense[:0], len(set))[:len(set)]
	clear(m.dense)
	m.docs.WriteDenseTo(m.dense) // not into set: it overwrites what is there
	for i, w := range m.dense {
		set[i] |= w
	}
}

// KeywordsOf visits the keywords that the documents have in a field, in the order
// of the terms: i is the index of the document in docs. Deleted documents may have
// some too. The term is valid during the visit only.
func (s *Segment) KeywordsOf(f Field, docs []uint32, visit func(i int, term []byte)) (err error) {
	var visiting bool
	defer format.ContainUnless(format.Guard(), &visiting, "look up keywords", &err)
	var having roaring.Bitmap
	return s.eachTerm(f, nil, nil, func(term []byte, at PostingsOffset) error {
		if err := s.readDocuments(at, &having); err != nil {
			return err
		}
		for i, doc := range docs {
			if having.Contains(doc) {
				visiting = true
				visit(i, term)
				visiting = false
			}
		}
		return nil
	})
}

// keepLive removes deleted documents from a bitmap. Callers use the numbers as
// indices, so it fails on those out of range.
func (s *Segment) keepLive(b *roaring.Bitmap) error {
	if s.deleted != nil {
		b.AndNot(s.deleted)
	}
	// Those before the last 65,536 are in range by the form of a bitmap.
	it := b.Iterator()
	for it.AdvanceIfNeeded(uint32(s.length) &^ 0xffff); it.HasNext(); {
		if doc := it.Next(); int(doc) >= s.length {
			return format.Damaged("document number %d", doc)
		}
	}
	return nil
}

// deletedBits returns a bit for each document, in words of 64, set when it is
// deleted; nil when none is.
func (s *Segment) deletedBits() []uint64 {
	s.deletedOnce.Do(func() {
		if s.deleted == nil {
			return
		}
		s.deletedSet = make([]uint64, (s.length+63)/64)
		clear(s.deletedSet) // memory that is read before it is written costs two page faults
		for it := s.deleted.Iterator(); it.HasNext(); {
			if doc := it.Next(); int(doc) < s.length {
				s.deletedSet[doc/64] |= 1 << (doc % 64)
			}
		}
	})
	return s.deletedSet
}
