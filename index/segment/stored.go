package segment

import (
	"cmp"
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/golang/snappy"

	"pigrep/index/format"
)

// Stored values are found by document number: the stored index, at the address
// that the footer names, has an address of 8 bytes for each document, and ends with
// the varint 0, for no nested documents. At such an address are
//
//	varint   length of the description
//	varint   length of the data
//	description: varint length of the id, then for each value, as varints,
//	         the number of its field, its type, where it starts among the
//	         uncompressed values, its length, and 0
//	data:    the id, then the values compressed with snappy
//
// A document has no value. A value that was stored under an id has the field fieldRecord.
const textType = 't'

func (w *writer) storedValues(a *Accumulator) uint64 {
	addresses := make([]uint64, a.docs)
	rest := a.stored
	for doc := range a.docs {
		addresses[doc] = w.at()
		var value []byte
		has := len(rest) > 0 && rest[0].doc == doc
		if has {
			value, rest = a.values[rest[0].start:rest[0].end], rest[1:]
		}
		w.compress = snappy.Encode(w.compress[:cap(w.compress)], value)
		w.storedDocument(a.id.term(uint32(doc)), w.compress, has, len(value)) // ids are unique: each is a term of its own
	}
	return w.storedIndex(addresses)
}

// storedDocument writes an id and what is stored of the document: nothing, or a value that
// has size bytes uncompressed.
func (w *writer) storedDocument(id, compressed []byte, has bool, size int) {
	w.chunk = binary.AppendUvarint(w.chunk[:0], uint64(len(id)))
	if has {
		for _, v := range []int{storedID, textType, 0, size, 0} {
			w.chunk = binary.AppendUvarint(w.chunk, uint64(v))
		}
	}
	w.varint(uint64(len(w.chunk)))
	w.varint(uint64(len(id) + len(compressed)))
	w.out = append(w.out, w.chunk...)
	w.out = append(w.out, id...)
	w.out = append(w.out, compressed...)
}

func (w *writer) storedIndex(addresses []uint64) uint64 {
	index := w.at()
	for _, address := range addresses {
		w.fixed(address)
	}
	w.varint(0)
	return index
}

var errStored = format.Damaged("session record: stored values")

// storedParts returns the id of a document, the rest of its description, and the place
// of its compressed values, which is not checked yet.
func (s *Segment) storedParts(doc uint32) (id, description []byte, values place) {
	if int(doc) >= s.length {
		panic(format.Damaged("document number %d", doc))
	}
	described, at := s.uvarint(binary.BigEndian.Uint64(s.bytes(s.storedIndex+8*uint64(doc), 8)))
	size, at := s.uvarint(at)
	description = s.bytes(at, described)
	at += described
	n, k := readUvarint(description, 0)
	if n > size || size > uint64(len(s.data))-at {
		panic(errStored)
	}
	return s.bytes(at, n), description[k:], place{at + n, size - n}
}

// ID returns the id of a document, deleted or not. For a stored value, its File is
// NoFile.
func (s *Segment) ID(doc uint32) ID {
	defer s.contain(format.Guard(), "read an id")
	b, _, _ := s.storedParts(doc)
	id, ok := parseID(b)
	if !ok {
		return ID{File: NoFile}
	}
	return id
}

// Stored returns the value that is stored under an id, nil when there is none. It
// is the caller's.
func (s *Segment) Stored(id string) (value []byte, err error) {
	defer format.Contain(format.Guard(), "read a session record", &err)
	p := s.postingsAt(s.lookUp(fieldID, []byte(id)))
	doc, _, _, ok := p.Next()
	if !ok {
		return nil, s.Fault()
	}
	return s.storedAt(doc, nil), nil
}

// EachStored visits the ids in the range under which live documents have stored values,
// with the numbers of these documents, in order, until visit fails. The id is valid
// during the visit only.
func (s *Segment) EachStored(ids IDRange, visit func(id []byte, doc uint32) error) (err error) {
	var calling visiting
	defer func() { err = cmp.Or(err, s.Fault()) }()
	defer s.containUnless(format.Guard(), &calling, "list stored values")
	s.eachDocument(ids, func(id []byte, doc uint32) bool {
		if s.deleted == nil || !s.deleted.Contains(doc) {
			calling.do(func() { err = visit(id, doc) })
		}
		return err == nil
	})
	return err
}

// StoredAt returns the stored value of a document, nil when it has none. It is the
// caller's, in the given memory if it fits.
func (s *Segment) StoredAt(doc uint32, memory []byte) (value []byte, err error) {
	defer format.Contain(format.Guard(), "read a stored value", &err)
	return s.storedAt(doc, memory), nil
}

// storedAt is StoredAt without Contain.
func (s *Segment) storedAt(doc uint32, memory []byte) []byte {
	_, description, at := s.storedParts(doc)
	if len(description) == 0 {
		return nil
	}
	values := s.bytes(at.at, at.size)
	start, length := parseDescription(description)
	const maxRatio = 64 // of snappy
	size, err := snappy.DecodedLen(values)
	if err != nil || size > maxRatio*len(values) || start > uint64(size) || length > uint64(size)-start {
		panic(errStored)
	}
	b, err := snappy.Decode(memory[:cap(memory)], values)
	if err != nil {
		panic(errStored)
	}
	return b[start : start+length]
}

// parseDescription reads the description of one value, after the length of the id: where
// the value starts, and its length.
func parseDescription(b []byte) (start, length uint64) {
	var number [5]uint64
	at := uint64(0)
	for i := range number {
		number[i], at = readUvarint(b, at)
	}
	if at != uint64(len(b)) {
		panic(errStored)
	}
	return number[2], number[3]
}

// DocumentsIn returns the documents and stored values with ids in the ranges,
// deleted ones included. The bitmap is the caller's.
func (s *Segment) DocumentsIn(ids []IDRange) (docs *roaring.Bitmap, err error) {
	defer format.Contain(format.Guard(), "look up ids", &err)
	docs = roaring.New()
	for _, r := range ids {
		s.eachDocument(r, func(_ []byte, doc uint32) bool {
			docs.Add(doc)
			return true
		})
	}
	return docs, nil
}

// eachDocument visits the documents with ids in the range, deleted or not, in the order of
// the ids, until visit returns false.
func (s *Segment) eachDocument(ids IDRange, visit func(id []byte, doc uint32) bool) {
	s.eachTerm(fieldID, []byte(ids.Start), []byte(ids.End), func(id []byte, at PostingsOffset) bool {
		if at.isOneHit() {
			return visit(id, at.document())
		}
		var docs roaring.Bitmap
		s.readDocuments(at, &docs)
		for it := docs.Iterator(); it.HasNext(); {
			if !visit(id, it.Next()) {
				return false
			}
		}
		return true
	})
}
