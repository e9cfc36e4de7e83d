package segment

import (
	"encoding/binary"
	"runtime/debug"

	"pigrep/index/format"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/golang/snappy"
)

// storedParts returns what is stored with a document. At the offset that the
// footer names stand the offsets of the documents, 8 bytes each, big endian, and
// at such an offset
//
//	uvarint  length of the description
//	uvarint  length of the data
//	the description: the uvarint length of the id, and for each value, as uvarints,
//	    its field, its type, where it starts in the values, its length, and 0
//	the data: the id, and the values compressed with snappy
func (s *Segment) storedParts(doc uint32) (id, description, values []byte, ok bool) {
	at := s.zap.StoredIndexOffset() + 8*uint64(doc)
	if int(doc) >= s.length || at > uint64(len(s.data))-8 {
		return nil, nil, nil, false
	}
	described, at, ok1 := readUvarint(s.data, binary.BigEndian.Uint64(s.data[at:]))
	size, at, ok2 := readUvarint(s.data, at)
	if left := uint64(len(s.data)) - at; !ok1 || !ok2 || described > left || size > left-described {
		return nil, nil, nil, false
	}
	description = s.data[at : at+described]
	at += described
	values = s.data[at : at+size]
	n, k := binary.Uvarint(description)
	if k <= 0 || n > size {
		return nil, nil, nil, false
	}
	return values[:n], description[k:], values[n:], true
}

// Stored returns the value that is stored under an id, nil when there is none. It
// is the caller's.
func (s *Segment) Stored(id string) (b []byte, err error) {
	defer format.Contain("read a session record", &err)()
	l, err := s.list(fieldID, []byte(id))
	if err != nil || l == nil {
		return nil, err
	}
	p := newPostings(l, s)
	doc, _, _, ok := p.Next()
	if !ok {
		return nil, p.Err()
	}
	return s.storedAt(doc)
}

// storedAt returns what is stored with a document but for its id, nil when that is
// all there is.
func (s *Segment) storedAt(doc uint32) (b []byte, err error) {
	_, description, values, ok := s.storedParts(doc)
	if !ok {
		return nil, errStored
	}
	if len(description) == 0 {
		return nil, nil
	}
	// There is one value, of fieldRecord.
	var number [5]uint64
	for i := range number {
		var k int
		if number[i], k = binary.Uvarint(description); k <= 0 {
			return nil, errStored
		}
		description = description[k:]
	}
	const mostDense = 64 // times that snappy can make of something
	start, length := number[2], number[3]
	size, err := snappy.DecodedLen(values)
	if err != nil || len(description) > 0 || size > mostDense*len(values) || start > uint64(size) || length > uint64(size)-start {
		return nil, errStored
	}
	if b, err = snappy.Decode(nil, values); err != nil {
		return nil, errStored
	}
	return b[start : start+length], nil
}

var errStored = format.Damaged("session record: stored values")

// EachStored visits the stored values of live documents with ids in the range, in
// the order of the ids, until visit fails. The id is valid during the visit only;
// the value is the caller's.
func (s *Segment) EachStored(ids IDRange, visit func(id, value []byte) error) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "read stored values", &err)()
	var docs []uint32
	if err := s.documentsIn(ids, func(doc uint32) { docs = append(docs, doc) }); err != nil {
		return err
	}
	for _, doc := range docs {
		if s.deleted != nil && s.deleted.Contains(doc) {
			continue
		}
		id, _, _, ok := s.storedParts(doc)
		if !ok {
			return errStored
		}
		value, err := s.storedAt(doc)
		if err != nil {
			return err
		}
		visiting = true
		if err := visit(id, value); err != nil {
			return err
		}
		visiting = false
	}
	return nil
}

// DocumentsIn returns the documents and stored values with ids in the ranges,
// deleted ones included.
func (s *Segment) DocumentsIn(ids []IDRange) (docs *roaring.Bitmap, err error) {
	defer format.Contain("look up ids", &err)()
	docs = roaring.New()
	for _, r := range ids {
		if err := s.documentsIn(r, docs.Add); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// documentsIn visits the documents that have ids in the range, deleted ones
// included, in the order of the ids.
func (s *Segment) documentsIn(ids IDRange, visit func(doc uint32)) error {
	fst, err := s.dict(fieldID)
	if err != nil || fst == nil {
		return err
	}
	it, err := fst.Iterator([]byte(ids.Start), []byte(ids.End))
	for err == nil {
		_, value := it.Current()
		l, err2 := readList(s.data, value)
		if err2 != nil {
			return err2
		}
		if l.docs == nil {
			visit(l.doc)
		} else {
			l.docs.Iterate(func(doc uint32) bool {
				visit(doc)
				return true
			})
		}
		err = it.Next()
	}
	return iteratorError(fieldID, err)
}

// ID returns the id of a document; false for a session record.
func (s *Segment) ID(doc uint32) (id ID, ok bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if recover() != nil {
			id, ok = ID{}, false
		}
	}()
	b, _, _, ok := s.storedParts(doc)
	if !ok {
		return ID{}, false
	}
	return parseID(b)
}
