package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	engine "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/format"
)

// chunkMode makes the engine choose the size of a chunk of frequencies by the
// number of documents that have the term; see chunkSize.
const chunkMode = 1026

// knownFormat reports whether the engine writes segments of the version that this
// package writes.
func knownFormat() bool { return zap.Version == 17 && zap.DefaultChunkMode == chunkMode }

var errTooMuch = errors.New("build a segment: too much text for one segment")

// Image is the bytes of a segment, built and checked.
type Image struct {
	bytes []byte // the body
	crc   uint32
	parts
}

// Build writes the documents as a segment, which shares nothing with the
// accumulator, and reads it again to check it. At least one document must have been
// added.
func (a *Accumulator) Build() (*Image, error) {
	if !knownFormat() {
		return nil, fmt.Errorf("build a segment: unknown version %d of the format", zap.Version)
	}
	if a.docs == 0 {
		return nil, errors.New("build a segment: no documents")
	}
	if len(a.id.terms) != a.docs {
		return nil, fmt.Errorf("build a segment: %d documents with %d different ids", a.docs, len(a.id.terms))
	}
	for _, f := range a.fields {
		if !f.fits() {
			return nil, errTooMuch
		}
	}
	if len(a.pairs.filters) > math.MaxUint32 {
		return nil, errTooMuch
	}
	w := &a.writer
	w.out, w.written, w.docs = make([]byte, 0, a.sizeOfOutput()), 0, a.docs
	defer func() { w.out = nil }() // it is the image's
	image := &Image{}
	image.docs = a.docs
	image.storedIndex = w.storedValues(a)
	headers := make([]uint64, len(a.fields))
	for i, f := range a.fields {
		var err error
		if headers[i], err = w.field(f); err != nil {
			return nil, fmt.Errorf("build a segment: field %s: %w", f.name, err)
		}
	}
	image.fieldIndex = w.fieldIndex(headers, w.adjacency(&a.pairs))
	image.bytes = w.out
	image.crc = crc32.ChecksumIEEE(image.bytes)
	if err := image.check(a); err != nil {
		return nil, fmt.Errorf("build a segment: self-check failed: %w", err)
	}
	return image, nil
}

// sizeOfOutput estimates the bytes of the segment, from above.
func (a *Accumulator) sizeOfOutput() int {
	n := 1<<10 + 44*a.docs + len(a.values) + len(a.pairs.filters)
	for _, f := range a.fields {
		n += len(f.bytes) + 10*len(f.terms) + 5*len(f.postings)
	}
	return n
}

// open returns the image as one of the engine's segments.
func (m *Image) open() (*zap.SegmentBase, error) { return engineSegment(m.bytes, m.crc, &m.parts) }

// engineSegment returns a body as one of the engine's segments. The engine follows
// addresses unchecked, so the body must be known to be intact.
func engineSegment(body []byte, crc uint32, p *parts) (*zap.SegmentBase, error) {
	return zap.InitSegmentBase(body, crc, chunkMode, uint64(p.docs), p.storedIndex, p.fieldIndex, nil, new(engine.Stats))
}

// writer writes one segment.
type writer struct {
	out     []byte
	written uint64 // bytes before out, which Merge has written to the file
	docs    int

	// Scratch memory, for the next segment too.
	order    []sortedTerm
	hits     []hit    // the postings of a field, by term
	next     []uint32 // by term: where its next hit goes
	chunk    []byte
	chunks   []int
	fst      bytes.Buffer
	builder  *vellum.Builder // writes to fst
	compress []byte
	value    []byte
}

// reset frees memory that was many times more than the last segment needed, which
// had at most so many terms and postings in a field.
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
func (w *writer) at() uint64      { return w.written + uint64(len(w.out)) }

// field writes what belongs to a field and returns the address of its header.
func (w *writer) field(f *inverted) (header uint64, err error) {
	dictionary, err := w.invertedDictionary(f)
	if err != nil {
		return 0, err
	}
	return w.fieldEnd(f.fieldSpec, dictionary, f.appendValues), nil
}

// fieldEnd writes what follows the dictionary of a field, and returns the address of the
// header.
func (w *writer) fieldEnd(f fieldSpec, dictionary uint64, appendValues func(b []byte, doc int) []byte) (header uint64) {
	start, end := uint64(noValues), uint64(noValues)
	if f.options.IncludeDocValues() { // also without any: the engine reads past the end of nothing otherwise
		start = w.at()
		w.docValues(appendValues)
		end = w.at()
	}
	return w.fieldHeader(fieldOffsets{start, end, dictionary})
}

// readUvarint reads a varint at an offset and returns the offset after it. It panics if there
// is none.
func readUvarint(data []byte, at uint64) (v, end uint64) {
	v, n := binary.Uvarint(data[min(at, uint64(len(data))):])
	if n <= 0 {
		panic(format.Damaged("there is no number at byte %d", at))
	}
	return v, at + uint64(n)
}

// probes is about how many terms of a field, and how many ids, check looks up.
const probes = 64

// check reads the segment with the engine's code and compares it with the
// accumulator: the number of documents and of the terms of every field, all stored
// values, and a sample of ids and postings.
func (m *Image) check(a *Accumulator) error {
	if crc32.ChecksumIEEE(m.bytes) != m.crc {
		return errors.New("wrong checksum")
	}
	opened, err := m.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	if opened.Count() != uint64(a.docs) {
		return fmt.Errorf("%d documents, want %d", opened.Count(), a.docs)
	}
	for doc := 0; doc < a.docs; doc += a.docs/probes + 1 {
		id, err := opened.DocID(uint64(doc))
		if err != nil {
			return err
		}
		if !bytes.Equal(id, a.id.term(uint32(doc))) {
			return fmt.Errorf("document %d has id %q, want %q", doc, id, a.id.term(uint32(doc)))
		}
	}
	for _, v := range a.stored {
		var got []byte
		err := opened.VisitStoredFields(uint64(v.doc), func(field string, _ byte, value []byte, _ []uint64) bool {
			if field == string(fieldRecord) {
				got = append(got, value...)
			}
			return true
		})
		if err != nil {
			return err
		}
		if !bytes.Equal(got, a.values[v.start:v.end]) {
			return fmt.Errorf("the stored value of document %d differs", v.doc)
		}
	}
	for _, f := range a.fields {
		if err := f.check(opened); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return nil
}

func (f *inverted) check(opened engine.Segment) error {
	dictionary, err := opened.Dictionary(string(f.name))
	if err != nil {
		return err
	}
	if n := dictionary.(*zap.Dictionary).Cardinality(); n != len(f.terms) {
		return fmt.Errorf("%d terms, want %d", n, len(f.terms))
	}
	var (
		list     engine.PostingsList
		iterator engine.PostingsIterator
	)
	for number := 0; number < len(f.terms); number += len(f.terms)/probes + 1 {
		list, err = dictionary.PostingsList(f.term(uint32(number)), nil, list)
		if err != nil {
			return err
		}
		want := f.terms[number]
		if list.Count() != uint64(want.docs) {
			return fmt.Errorf("term %q is in %d documents, want %d", f.term(uint32(number)), list.Count(), want.docs)
		}
		iterator = list.Iterator(true, true, false, iterator)
		var last engine.Posting
		for n := uint32(0); ; n++ {
			next, err := iterator.Next()
			if err != nil {
				return err
			}
			if next == nil {
				if n != want.docs {
					return fmt.Errorf("term %q has %d postings, want %d", f.term(uint32(number)), n, want.docs)
				}
				break
			}
			last = next
		}
		if freq := f.postings[want.last].freq; !f.options.SkipFreqNorm() && last.Frequency() != uint64(freq) {
			return fmt.Errorf("term %q has frequency %d, want %d", f.term(uint32(number)), last.Frequency(), freq)
		}
	}
	return nil
}
