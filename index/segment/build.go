package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/golang/snappy"

	engine "github.com/blevesearch/bleve_index_api"
)

// The layout of a zap segment, version 17, as far as these documents need it. Documents are numbered from 0. A varint
// is an unsigned LEB128; every other number is big endian. Addresses count from the first byte of the segment.
//
//	stored values of each document
//	stored index       for each document the address of its stored values, 8 bytes; then varint 0: no nested documents
//	for each field
//	    postings of each term that needs them
//	    dictionary     varint length, then an FST (vellum) from term to 8 bytes
//	    doc values     when the field has them
//	    field header   varint start and end of the doc values (both all ones without), varint address of the dictionary
//	fields             for each: varint length, name, varint options, varint 1, then 2 bytes 0 (the number of the section
//	                   for inverted text) and 8 bytes address of the field header
//	field index        varint number of fields, then for each the address of its part of "fields", 8 bytes
//
// The engine adds the footer: number of documents, addresses of stored index and field index, chunk mode, version and
// checksum. Fields are _id first, then in the order of their names; all segments having the same fields lets the engine
// copy bytes when it merges.
//
// Stored values: varint length of the meta data, varint length of the data, meta data, data. The data is the id, then
// the values compressed with snappy. The meta data is the varint length of the id and then for each value, as varints,
// the number of its field, its type, where it starts in the values, its length and 0.
//
// A dictionary gives for a term the address of its postings, or the only posting itself: a term that is once in one
// document is 1 in the highest bit, 0 in the next, 31 bits length of the field in that document, 31 bits document.
//
// Postings: frequencies and lengths first; then, at the address in the dictionary, varint address of these, varint 0 (no
// positions), varint length and a roaring bitmap of the documents.
//
// Frequencies and lengths come in chunks of as many document numbers as chunkSize says: varint number of chunks, for
// each the varint end of its bytes, counted from the first one's start, then the bytes. For each document that is the
// frequency times 2 as a varint and the length of the field in it as a varint; a field without frequencies has 0 and no
// length.
//
// A roaring bitmap is cut where the upper 16 bits of the numbers change. All its numbers are little endian: 4 bytes
// 12346, 4 bytes number of containers, for each 2 bytes upper bits and 2 bytes count-1, for each 4 bytes where it
// starts in the bitmap, then the containers: the lower 16 bits in ascending order, or above 4096 of them 8192 bytes of bits.
//
// Doc values are kept in chunks of 1024 document numbers: for each chunk varint number of documents that have a value,
// for each of these varint document and varint end of its value, and the values, each term followed by 0xff, compressed
// with snappy. After the chunks varints with the end of each, counted from the first one's start, then 8 bytes length
// of these varints and 8 bytes number of chunks. A chunk without any value has no bytes.

// Known reports whether the engine writes the version of segments that this package knows.
func Known() bool { return zap.Version == 17 && zap.DefaultChunkMode == chunkMode }

const (
	chunkMode     = 1026
	chunkPostings = 1024 // of frequencies
	valueChunk    = 1024 // documents
	noValues      = ^uint64(0)
	maxArray      = 4096 // numbers of a roaring container before it is a bitmap

	textType = 't'
)

// chunkSize returns how many document numbers a chunk of frequencies spans, for a term in so many of all documents.
func chunkSize(docs, all int) int { return all / (docs/chunkPostings + 1) }

// writer writes one segment.
type writer struct {
	out  []byte
	docs int

	// Scratch memory, for the next segment too.
	order    []ordered
	hits     []hit
	next     []uint32 // by term: where its next hit goes
	chunk    []byte
	chunks   []int
	fst      bytes.Buffer
	builder  *vellum.Builder // writes to fst
	compress []byte
	value    []byte
}

// ordered is a term in sorting.
type ordered struct {
	key    uint64
	number uint32
}

// hit is a posting, found by its term.
type hit struct{ doc, freq uint32 }

// Image is the bytes of a segment, built and checked.
type Image struct {
	bytes       []byte
	crc         uint32
	docs        int
	storedIndex uint64
	fieldIndex  uint64
}

// Len returns the number of documents.
func (s *Image) Len() int { return s.docs }

// Size returns the bytes of the segment.
func (s *Image) Size() int { return len(s.bytes) }

// Build writes the documents as a segment, which shares nothing with the accumulator, and opens it to check it against
// them. At least one document must have been added.
func (a *Accumulator) Build() (*Image, error) {
	if !Known() {
		return nil, fmt.Errorf("build a segment: unknown version %d of the format", zap.Version)
	}
	if a.docs == 0 {
		return nil, fmt.Errorf("build a segment: no documents")
	}
	if len(a.id.terms) != a.docs {
		return nil, fmt.Errorf("build a segment: %d documents with %d different ids", a.docs, len(a.id.terms))
	}
	for _, f := range a.fields {
		if !f.fits() {
			return nil, errTooMuch
		}
	}
	w := &a.writer
	w.out, w.docs = make([]byte, 0, a.sizeOfOutput()), a.docs
	defer func() { w.out = nil }() // it is the segment's
	s := &Image{docs: a.docs}
	s.storedIndex = w.storedValues(a)
	headers := make([]uint64, len(a.fields))
	for i, f := range a.fields {
		var err error
		if headers[i], err = w.field(f); err != nil {
			return nil, fmt.Errorf("build a segment: field %s: %w", f.Name, err)
		}
	}
	s.fieldIndex = w.fields(a.fields, headers)
	s.bytes = w.out
	s.crc = crc32.ChecksumIEEE(s.bytes)
	if err := s.check(a); err != nil {
		return nil, fmt.Errorf("build a segment: it is not what was put in: %w", err)
	}
	return s, nil
}

// sizeOfOutput estimates the bytes of the segment, from above.
func (a *Accumulator) sizeOfOutput() int {
	n := 1<<10 + 40*a.docs + len(a.values)
	for _, f := range a.fields {
		n += len(f.bytes) + 10*len(f.terms) + 5*len(f.postings)
	}
	return n
}

// reset gives back memory that was many times more than the last segment needed, which had at most so many terms and
// postings in a field.
func (w *writer) reset(terms, postings int) {
	if cap(w.hits) > 4*postings || cap(w.order) > 4*terms {
		w.order, w.next, w.hits = nil, nil, nil
	}
	if w.fst.Cap() > 16<<20 {
		w.fst, w.builder = bytes.Buffer{}, nil
	}
}

func (w *writer) varint(v uint64) { w.out = binary.AppendUvarint(w.out, v) }
func (w *writer) fixed(v uint64)  { w.out = binary.BigEndian.AppendUint64(w.out, v) }
func (w *writer) at() uint64      { return uint64(len(w.out)) }

// storedValues writes the stored values and returns the address of their index.
func (w *writer) storedValues(a *Accumulator) uint64 {
	addresses := make([]uint64, a.docs)
	rest := a.stored
	for doc := range a.docs {
		addresses[doc] = w.at()
		id := a.ids.at(doc)
		w.chunk = binary.AppendUvarint(w.chunk[:0], uint64(len(id)))
		w.value = w.value[:0]
		if len(rest) > 0 && rest[0].doc == doc {
			w.value = a.values[rest[0].start:rest[0].end]
			rest = rest[1:]
			for _, v := range []int{a.storedID, textType, 0, len(w.value), 0} {
				w.chunk = binary.AppendUvarint(w.chunk, uint64(v))
			}
		}
		w.compress = snappy.Encode(w.compress[:cap(w.compress)], w.value)
		w.varint(uint64(len(w.chunk)))
		w.varint(uint64(len(id) + len(w.compress)))
		w.out = append(w.out, w.chunk...)
		w.out = append(w.out, id...)
		w.out = append(w.out, w.compress...)
	}
	w.value = nil // it was memory of the accumulator
	index := w.at()
	for _, address := range addresses {
		w.fixed(address)
	}
	w.varint(0)
	return index
}

// field writes what belongs to a field and returns the address of its header.
func (w *writer) field(f *inverted) (header uint64, err error) {
	w.sort(f)
	w.turn(f)
	w.fst.Reset()
	if w.builder == nil {
		// A smaller table of shared endings than usual: the FST gets 3 % longer and is built in two thirds of the time.
		w.builder, err = vellum.New(&w.fst, &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 1000, RegistryMRUSize: 1})
	} else {
		err = w.builder.Reset(&w.fst)
	}
	if err != nil {
		return 0, err
	}
	lengths := f.lengths
	if f.Options.SkipFreqNorm() {
		lengths = nil
	}
	for _, o := range w.order {
		end := w.next[o.number]
		hits := w.hits[end-f.terms[o.number].docs : end]
		if err := w.builder.Insert(f.term(o.number), w.postings(hits, lengths)); err != nil {
			return 0, err
		}
	}
	if err := w.builder.Close(); err != nil {
		return 0, err
	}
	dictionary := w.at()
	w.varint(uint64(w.fst.Len()))
	w.out = append(w.out, w.fst.Bytes()...)

	start, end := uint64(noValues), uint64(noValues)
	if f.Options.IncludeDocValues() { // also without any: the engine reads past the end of nothing otherwise
		start = w.at()
		w.docValues(f)
		end = w.at()
	}
	header = w.at()
	w.varint(start)
	w.varint(end)
	w.varint(dictionary)
	return header, nil
}

// sort puts the terms of f into w.order.
func (w *writer) sort(f *inverted) {
	w.order = slices.Grow(w.order[:0], len(f.terms))
	for number := range f.terms {
		w.order = append(w.order, ordered{f.terms[number].key, uint32(number)})
	}
	slices.SortFunc(w.order, func(x, y ordered) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return bytes.Compare(f.term(x.number), f.term(y.number))
	})
}

// turn puts the postings of f, which are by document, into w.hits by term in sorted order, and sets w.next to where the
// hits of each term end.
func (w *writer) turn(f *inverted) {
	w.next = slices.Grow(w.next[:0], len(f.terms))[:len(f.terms)]
	at := uint32(0)
	for _, o := range w.order {
		w.next[o.number] = at
		at += f.terms[o.number].docs
	}
	w.hits = slices.Grow(w.hits[:0], len(f.postings))[:len(f.postings)]
	from := uint32(0)
	for doc, end := range f.ends {
		for _, p := range f.postings[from:end] {
			w.hits[w.next[p.term]] = hit{uint32(doc), p.freq}
			w.next[p.term]++
		}
		from = end
	}
}

// postings writes the postings of a term and returns the value of the term in the dictionary. lengths is nil for a
// field without frequencies.
func (w *writer) postings(hits []hit, lengths []uint32) uint64 {
	if len(hits) == 1 && lengths != nil && hits[0].freq == 1 {
		return 1<<63 | uint64(lengths[hits[0].doc]&(1<<31-1))<<31 | uint64(hits[0].doc)
	}
	frequencies := w.at()
	size := chunkSize(len(hits), w.docs)
	w.chunk, w.chunks = w.chunk[:0], w.chunks[:0]
	limit := uint32(size) // of the document numbers in the chunk
	for _, h := range hits {
		for h.doc >= limit {
			w.chunks = append(w.chunks, len(w.chunk))
			limit += uint32(size)
		}
		if lengths == nil {
			w.chunk = append(w.chunk, 0)
			continue
		}
		w.chunk = binary.AppendUvarint(w.chunk, uint64(h.freq)<<1)
		w.chunk = binary.AppendUvarint(w.chunk, uint64(lengths[h.doc]))
	}
	for all := (w.docs-1)/size + 1; len(w.chunks) < all; {
		w.chunks = append(w.chunks, len(w.chunk))
	}
	w.varint(uint64(len(w.chunks)))
	for _, end := range w.chunks {
		w.varint(uint64(end))
	}
	w.out = append(w.out, w.chunk...)

	address := w.at()
	w.varint(frequencies)
	w.varint(0)
	w.roaring(hits)
	return address
}

// roaring writes the length and the bytes of the bitmap of the documents.
func (w *writer) roaring(hits []hit) {
	const bitmapSize = 1 << 16 / 8
	le := binary.LittleEndian
	// The containers: where the hits of each begin.
	w.chunks = w.chunks[:0]
	key := uint32(1 << 16)
	size := 8
	for i, h := range hits {
		if h.doc>>16 != key {
			key = h.doc >> 16
			w.chunks = append(w.chunks, i)
		}
	}
	w.chunks = append(w.chunks, len(hits))
	for i := range len(w.chunks) - 1 {
		size += 8 + containerSize(w.chunks[i+1]-w.chunks[i], bitmapSize)
	}
	w.varint(uint64(size))
	n := len(w.chunks) - 1
	w.out = le.AppendUint32(w.out, 12346)
	w.out = le.AppendUint32(w.out, uint32(n))
	for i := range n {
		w.out = le.AppendUint16(w.out, uint16(hits[w.chunks[i]].doc>>16))
		w.out = le.AppendUint16(w.out, uint16(w.chunks[i+1]-w.chunks[i]-1))
	}
	start := 8 + 8*n
	for i := range n {
		w.out = le.AppendUint32(w.out, uint32(start))
		start += containerSize(w.chunks[i+1]-w.chunks[i], bitmapSize)
	}
	for i := range n {
		part := hits[w.chunks[i]:w.chunks[i+1]]
		if len(part) <= maxArray {
			for _, h := range part {
				w.out = le.AppendUint16(w.out, uint16(h.doc))
			}
			continue
		}
		at := len(w.out)
		w.out = append(w.out, make([]byte, bitmapSize)...)
		for _, h := range part {
			low := h.doc & 0xffff
			w.out[at+int(low>>3)] |= 1 << (low & 7)
		}
	}
}

func containerSize(count, bitmapSize int) int {
	if count <= maxArray {
		return 2 * count
	}
	return bitmapSize
}

// docValues writes the terms of f by document.
func (w *writer) docValues(f *inverted) {
	base := len(w.out)
	w.chunks = w.chunks[:0]
	for first := 0; first < w.docs; first += valueChunk {
		w.value, w.chunk = w.value[:0], w.chunk[:0] // values and where they end
		with := 0
		for doc := first; doc < min(first+valueChunk, w.docs); doc++ {
			from := uint32(0)
			if doc > 0 {
				from = f.ends[doc-1]
			}
			postings := f.postings[from:f.ends[doc]]
			if len(postings) == 0 {
				continue
			}
			with++
			if len(postings) > 1 { // the engine has the values of a document in the order of the terms
				postings = slices.SortedFunc(slices.Values(postings), func(x, y posting) int {
					return bytes.Compare(f.term(x.term), f.term(y.term))
				})
			}
			for _, p := range postings {
				w.value = append(append(w.value, f.term(p.term)...), engine.DocValueTermSeparator)
			}
			w.chunk = binary.AppendUvarint(w.chunk, uint64(doc))
			w.chunk = binary.AppendUvarint(w.chunk, uint64(len(w.value)))
		}
		if with > 0 {
			w.compress = snappy.Encode(w.compress[:cap(w.compress)], w.value)
			w.varint(uint64(with))
			w.out = append(w.out, w.chunk...)
			w.out = append(w.out, w.compress...)
		}
		w.chunks = append(w.chunks, len(w.out)-base)
	}
	ends := len(w.out)
	for _, end := range w.chunks {
		w.varint(uint64(end))
	}
	w.fixed(uint64(len(w.out) - ends))
	w.fixed(uint64(len(w.chunks)))
}

// fields writes the fields and their index, and returns the address of the index.
func (w *writer) fields(fields []*inverted, headers []uint64) uint64 {
	addresses := make([]uint64, len(fields))
	for i, f := range fields {
		addresses[i] = w.at()
		w.varint(uint64(len(f.Name)))
		w.out = append(w.out, f.Name...)
		w.varint(uint64(f.Options))
		w.varint(1)
		w.out = binary.BigEndian.AppendUint16(w.out, zap.SectionInvertedTextIndex)
		w.fixed(headers[i])
	}
	index := w.at()
	w.varint(uint64(len(fields)))
	for _, address := range addresses {
		w.fixed(address)
	}
	return index
}
