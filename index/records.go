package index

import (
	"slices"
	"sync"
	"sync/atomic"

	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// Record returns the session record of a file, an unterminated last line included;
// nil when there is none.
func (r *Reader) Record(file uint32) (*session.Record, error) {
	b, err := r.records.find(r.segments, file, nil)
	if err != nil || b == nil {
		return nil, err
	}
	return record.Decode(b, false)
}

// Outline is Record without decoding the entries. near, if not nil, is searched first:
// the record is usually in the last segment with documents of the file.
func (r *Reader) Outline(file uint32, near *segment.Segment) (*record.Outline, error) {
	b, err := r.records.find(r.segments, file, near)
	if err != nil || b == nil {
		return nil, err
	}
	return record.DecodeOutline(b)
}

const (
	// fewSearches is how many segments are searched for records by their ids. After that,
	// one pass over the ids of all segments finds out where each record is.
	fewSearches = 1000
	// trimAfter is after how many bytes of records the pages of the segments are unmapped.
	trimAfter = 16 << 20
)

// recordFinder finds the stored records of a reader's files.
type recordFinder struct {
	searched atomic.Int64 // segments
	read     atomic.Int64 // bytes of records that were found by their places

	once   sync.Once
	places map[uint32]recordPlace // by file; nil if they cannot be read
}

// recordPlace is where a record is stored.
type recordPlace struct {
	segment *segment.Segment
	doc     uint32
}

// find returns the stored record of a file, nil if there is none. It searches near first,
// if that is not nil.
func (f *recordFinder) find(segments []*segment.Segment, file uint32, near *segment.Segment) ([]byte, error) {
	if f.searched.Load() >= fewSearches {
		if f.once.Do(func() { f.places, _ = recordPlaces(segments) }); f.places != nil {
			return f.at(segments, f.places[file])
		}
	}
	id := recordID(file)
	if near != nil {
		f.searched.Add(1)
		if b, err := near.Stored(id); err != nil || b != nil {
			return b, err
		}
	}
	for _, s := range slices.Backward(segments) {
		if s == near {
			continue
		}
		f.searched.Add(1)
		if b, err := s.Stored(id); err != nil || b != nil {
			return b, err
		}
		s.Trim() // most segments do not have it
	}
	return nil, nil
}

// at returns the record at a place, nil if that is zero.
func (f *recordFinder) at(segments []*segment.Segment, p recordPlace) ([]byte, error) {
	if p.segment == nil {
		return nil, nil
	}
	b, err := p.segment.StoredAt(p.doc, nil)
	n := int64(len(b))
	if all := f.read.Add(n); all/trimAfter != (all-n)/trimAfter {
		for _, s := range segments {
			s.Trim()
		}
	}
	return b, err
}

// recordPlaces returns where the records of all files are.
func recordPlaces(segments []*segment.Segment) (map[uint32]recordPlace, error) {
	places := make(map[uint32]recordPlace)
	for _, s := range segments {
		err := s.EachStored(allRecordIDs, func(id []byte, doc uint32) error {
			file, err := parseRecordID(id)
			places[file] = recordPlace{s, doc}
			return err
		})
		if err != nil {
			return nil, err
		}
		s.Trim()
	}
	return places, nil
}
