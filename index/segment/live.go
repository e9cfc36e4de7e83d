package segment

import (
	"pigrep/index/format"

	"github.com/RoaringBitmap/roaring/v2"
)

// Live returns the number of documents and stored values that are not deleted.
func (s *Segment) Live() int {
	if s.deleted == nil {
		return s.length
	}
	return s.length - int(s.deleted.GetCardinality())
}

// live takes the deleted documents out of a bitmap. Whoever uses the numbers as
// indices must be able to rely on them, so it fails on those out of range.
func (s *Segment) live(b *roaring.Bitmap) error {
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

// dead returns a bit for each document number, set when it is deleted; nil when
// none is.
func (s *Segment) dead() []uint64 {
	s.deadOnce.Do(func() {
		if s.deleted == nil {
			return
		}
		s.deadBits = make([]uint64, (s.length+63)/64)
		clear(s.deadBits) // memory that is read before it is written costs two faults
		for it := s.deleted.Iterator(); it.HasNext(); {
			if doc := it.Next(); int(doc) < s.length {
				s.deadBits[doc/64] |= 1 << (doc % 64)
			}
		}
	})
	return s.deadBits
}
