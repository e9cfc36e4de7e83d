package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	engine "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/analysis"
	"pigrep/index/format"
)

type keywordTerm struct {
	field int // index in keywords
	term  string
}

// Accumulator collects documents for one segment. It is used by one goroutine;
// after Reset it can be used for the next segment.
//
// The engine would build the same segment from a map a document and field, in
// several times the time and memory (BenchmarkBuild). Here a field has one hash
// table for the whole batch; each token is looked up in it once, and a posting takes
// eight bytes.
type Accumulator struct {
	analyzer analysis.Analyzer
	emit     func(analysis.Token)
	fields   []*inverted // in the order of specs
	id, text *inverted
	record   *inverted     // that of fieldRecord
	keywords []*inverted   // in the order of the table keywords
	flag     *inverted     // that of FieldFlag
	terms    []keywordTerm // of the document being added
	key      []byte        // its id
	pairs    adjacency

	docs   int
	stored []stored
	values []byte
	writer writer
}

// stored is a stored value.
type stored struct {
	doc        int
	start, end int // in Accumulator.values
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator() *Accumulator {
	a := &Accumulator{keywords: make([]*inverted, len(keywords))}
	for _, spec := range specs() {
		f := newInverted(spec)
		a.fields = append(a.fields, f)
		switch spec.name {
		case fieldID:
			a.id = f
		case FieldText:
			a.text = f
		case fieldRecord:
			a.record = f
		default:
			a.keywords[slices.IndexFunc(keywords, func(k keyword) bool { return k.name == spec.name })] = f
		}
		if spec.name == FieldFlag {
			a.flag = f
		}
	}
	a.emit = func(t analysis.Token) {
		key := keyOf(t.Term)
		a.text.hold(key, t.Term)
		a.pairs.add(t, key, uint32(len(t.Term)))
	}
	return a
}

// Add adds a document and returns the number of tokens in its text. Its id must be
// new in the segment. Nothing of the document is kept.
func (a *Accumulator) Add(d *Document) (tokens int) {
	a.terms = a.terms[:0]
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			a.terms = append(a.terms, keywordTerm{i, cut(v)})
		}
	}
	a.key = d.ID.appendTo(a.key[:0])
	return a.add(a.key, a.terms, d.Text)
}

func (a *Accumulator) add(id []byte, terms []keywordTerm, text []byte) (tokens int) {
	a.id.add(id)
	for _, k := range terms {
		a.keywords[k.field].add([]byte(k.term))
	}
	tokens = a.analyzer.Walk(text, a.emit)
	a.text.count()
	if a.analyzer.Cut() {
		a.flag.add([]byte(FlagCut))
	}
	a.end()
	return tokens
}

// AddStored adds a value under an id, which must be new in the segment. Nothing of
// the arguments is kept.
func (a *Accumulator) AddStored(id, value []byte) {
	a.id.add(id)
	start := len(a.values)
	a.values = append(a.values, value...)
	a.stored = append(a.stored, stored{a.docs, start, len(a.values)})
	a.record.add([]byte(recordTerm))
	a.end()
}

func (a *Accumulator) end() {
	for _, f := range a.fields {
		f.endDocument()
	}
	a.pairs.endDocument()
	a.docs++
}

// Reset makes the accumulator empty. It keeps its memory for the next documents,
// except what was many times more than these needed, so that one huge line does not
// stay in memory.
func (a *Accumulator) Reset() {
	a.docs = 0
	a.stored, a.values = reuse(a.stored), reuse(a.values)
	terms, postings := 0, 0
	for _, f := range a.fields {
		terms, postings = max(terms, len(f.terms)), max(postings, len(f.postings))
		f.reset()
	}
	a.pairs.reset()
	a.writer.reset(terms, postings)
}

// inverted is a field of the documents of a batch: its terms, numbered as they come,
// and the postings of each document.
//
// Its hash table is open and holds numbers only; with a Go map from term to number
// a first index of 300 MB of sessions takes 32 % more CPU.
type inverted struct {
	fieldSpec // with SkipFreqNorm it has neither frequencies nor lengths

	seed     uint64
	bytes    []byte   // of all terms
	terms    []term   // by number
	slots    []uint64 // hash table, a power of two: 32 bits of hash, then the number of a term + 1; 0 is free
	postings []posting
	ends     []uint32 // by document: end of its postings
	lengths  []uint32 // by document: tokens
	begun    int      // start of the postings of the document being added
	tokens   uint32   // of the document being added

	held    []held // tokens that wait to be counted
	long    []byte // those of them that have more bytes than a key
	touched uint64 // slots that count read ahead
}

// held is a token that waits to be counted.
type held struct {
	key         uint64
	hash        uint32
	start, size uint32 // in inverted.long, if it is longer than a key
}

// maxHeld is how many tokens are counted at a time. The table of a batch does not fit into the
// cache of a core: its slots are read for all of them first, so that the core waits for several
// at a time. Together with analysis.plainEnd this saves an eighth of the CPU of a first index.
const maxHeld = 128

// term is a term of a field.
type term struct {
	key         uint64 // see keyOf
	start, size uint32 // in inverted.bytes
	docs        uint32 // documents that have it
	last        uint32 // its last posting
}

// keyOf returns the first 8 bytes of a token, the first one highest, with zeros after
// a shorter one. Tokens with different keys sort as the keys do; a token of at most 8
// bytes is known by its key and its size.
func keyOf(token []byte) uint64 {
	if n := len(token); cap(token) >= 8 { // what lies behind a shorter one is masked out
		return binary.BigEndian.Uint64(token[:8]) &^ (1<<(64-8*min(n, 8)) - 1)
	}
	var b [8]byte
	copy(b[:], token)
	return binary.BigEndian.Uint64(b[:])
}

// hashOf hashes a token with its key. Each table draws a seed, so that no text can
// be made to collide.
func hashOf(seed, key uint64, token []byte) uint32 {
	h := mix(seed^key, uint64(len(token)))
	for n := len(token); n > 8; n -= 8 {
		h = mix(h^binary.BigEndian.Uint64(token[n-8:]), seed)
	}
	return uint32(h)
}

func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, y^0xd6e8feb86659fd93)
	return hi ^ lo
}

// posting is a term of a document. Its index in inverted.postings determines the document.
type posting struct{ term, freq uint32 }

const firstSlots = 1 << 8

func newInverted(spec fieldSpec) *inverted {
	return &inverted{fieldSpec: spec, seed: rand.Uint64(), slots: make([]uint64, firstSlots)}
}

func (f *inverted) reset() {
	if len(f.slots) > 16*len(f.terms) && len(f.slots) > 1<<12 {
		f.slots = make([]uint64, firstSlots)
	} else {
		clear(f.slots)
	}
	f.bytes, f.terms, f.postings, f.ends, f.lengths = reuse(f.bytes), reuse(f.terms), reuse(f.postings), reuse(f.ends), reuse(f.lengths)
	f.begun = 0
}

// add adds a token of the current document.
func (f *inverted) add(token []byte) {
	f.hold(keyOf(token), token)
	f.count()
}

// hold is add for several tokens, after which count must be called.
func (f *inverted) hold(key uint64, token []byte) {
	f.held = append(f.held, held{key, hashOf(f.seed, key, token), uint32(len(f.long)), uint32(len(token))})
	if len(token) > 8 {
		f.long = append(f.long, token...)
	}
	if len(f.held) == maxHeld {
		f.count()
	}
}

func (f *inverted) count() {
	mask := uint64(len(f.slots) - 1)
	for i := range f.held {
		f.touched |= f.slots[uint64(f.held[i].hash)&mask]
	}
	for i := range f.held {
		f.countOne(&f.held[i])
	}
	f.tokens += uint32(len(f.held))
	f.held, f.long = f.held[:0], f.long[:0]
}

func (f *inverted) countOne(h *held) {
	mask := uint64(len(f.slots) - 1)
	for i := uint64(h.hash) & mask; ; i = (i + 1) & mask {
		slot := f.slots[i]
		if slot == 0 {
			f.slots[i] = uint64(h.hash)<<32 | uint64(len(f.terms)+1)
			f.terms = append(f.terms, term{key: h.key, start: uint32(len(f.bytes)), size: h.size, docs: 1, last: uint32(len(f.postings))})
			if h.size > 8 {
				f.bytes = append(f.bytes, f.long[h.start:h.start+h.size]...)
			} else {
				f.bytes = binary.BigEndian.AppendUint64(f.bytes, h.key)[:len(f.bytes)+int(h.size)]
			}
			f.postings = append(f.postings, posting{uint32(len(f.terms) - 1), 1})
			if len(f.terms) > len(f.slots)/2 {
				f.grow()
			}
			return
		}
		if uint32(slot>>32) != h.hash {
			continue
		}
		number := uint32(slot) - 1
		t := &f.terms[number]
		if t.key != h.key || t.size != h.size || h.size > 8 && !bytes.Equal(f.term(number), f.long[h.start:h.start+h.size]) {
			continue
		}
		if int(t.last) >= f.begun { // not the first time in this document
			f.postings[t.last].freq++
			return
		}
		t.docs++
		t.last = uint32(len(f.postings))
		f.postings = append(f.postings, posting{number, 1})
		return
	}
}

func (f *inverted) grow() {
	slots := make([]uint64, 2*len(f.slots))
	mask := uint64(len(slots) - 1)
	for _, slot := range f.slots {
		if slot == 0 {
			continue
		}
		i := slot >> 32 & mask
		for slots[i] != 0 {
			i = (i + 1) & mask
		}
		slots[i] = slot
	}
	f.slots = slots
}

func (f *inverted) endDocument() {
	f.ends = append(f.ends, uint32(len(f.postings)))
	f.lengths = append(f.lengths, f.tokens)
	f.begun, f.tokens = len(f.postings), 0
}

func (f *inverted) term(number uint32) []byte {
	t := f.terms[number]
	return f.bytes[t.start : t.start+t.size]
}

// fits reports whether 32 bits were enough for all offsets.
func (f *inverted) fits() bool {
	return len(f.bytes) < math.MaxUint32 && len(f.postings) < math.MaxUint32
}

// reuse empties a slice, and frees its memory when it was used for a small part.
func reuse[T any](s []T) []T {
	if cap(s) > 4*len(s) && cap(s) > 1<<12 {
		return nil
	}
	return s[:0]
}

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

func (m *Image) open() (*zap.SegmentBase, error) { return engineSegment(m.bytes, m.crc, &m.parts) }

// engineSegment returns a body as one of the engine's segments. The engine follows
// addresses unchecked, so the body must be known to be intact.
func engineSegment(body []byte, crc uint32, p *parts) (*zap.SegmentBase, error) {
	return zap.InitSegmentBase(body, crc, chunkMode, uint64(p.docs), p.storedIndex, p.fieldIndex, nil, new(engine.Stats))
}

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
