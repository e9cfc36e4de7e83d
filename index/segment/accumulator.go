package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/analysis"
	"pigrep/index/format"
)

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
	record   *inverted   // that of fieldRecord
	keywords []*inverted // in the order of the table keywords
	flag     *inverted   // that of FieldFlag
	names    names
	pairs    adjacency

	docs   int
	stored []stored
	values []byte
	writer writer
}

type stored struct {
	doc        int
	start, end int // in Accumulator.values
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator() *Accumulator {
	a := new(Accumulator)
	named := make(map[Field]*inverted)
	for _, spec := range specs {
		f := &inverted{fieldSpec: spec, seed: rand.Uint64(), slots: make([]uint64, firstSlots)}
		a.fields = append(a.fields, f)
		named[spec.name] = f
	}
	a.id, a.text, a.record, a.flag = named[fieldID], named[FieldText], named[fieldRecord], named[FieldFlag]
	a.names.inverted = named[FieldName]
	for _, k := range keywords {
		a.keywords = append(a.keywords, named[k.name])
	}
	a.emit = func(t analysis.Token) { a.addToken(t) }
	return a
}

// addToken adds a token of the text, and returns the number of its term.
func (a *Accumulator) addToken(t analysis.Token) uint32 {
	term := a.text.add(t.Term)
	a.pairs.add(t, term.key, term.size)
	return a.text.postings[term.last].term
}

// Add adds a document and returns the number of tokens in its text. Its id must be
// new in the segment. Nothing of the document is kept.
func (a *Accumulator) Add(d *Document) (tokens int) {
	a.id.add([]byte(d.ID.String()))
	for i, k := range keywords {
		if v := k.value(d); v != "" {
			a.keywords[i].add([]byte(cut(v)))
		}
	}
	return a.addText(d.Text, d.Names)
}

// addText adds the text of a document, which has names of arguments at these places, and ends the document.
func (a *Accumulator) addText(text []byte, places [][2]int) (tokens int) {
	emit := a.emit
	if len(places) > 0 {
		emit = func(t analysis.Token) {
			term := a.addToken(t)
			for len(places) > 0 && t.Start >= places[0][1] {
				places = places[1:]
			}
			if len(places) > 0 && t.Start >= places[0][0] {
				a.names.note(term)
			}
		}
	}
	tokens = a.analyzer.Walk(text, emit)
	a.names.flush(a.text)
	if a.analyzer.Cut() {
		a.flag.add([]byte(FlagCut))
	}
	a.end()
	return tokens
}

// names builds FieldName. It counts how often the current document has each term in names.
type names struct {
	*inverted
	counts map[uint32]uint32 // by the number of the term
	order  []uint32          // the numbers, in the order of the text
}

func (n *names) note(term uint32) {
	if n.counts == nil {
		n.counts = make(map[uint32]uint32)
	}
	if n.counts[term]++; n.counts[term] == 1 {
		n.order = append(n.order, term)
	}
}

// flush adds the terms that the text has only in names.
func (n *names) flush(text *inverted) {
	for _, term := range n.order {
		if text.postings[text.terms[term].last].freq == n.counts[term] {
			n.add(text.term(term))
		}
	}
	clear(n.counts)
	n.order = n.order[:0]
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
}

type term struct {
	key         uint64 // see keyOf
	start, size uint32 // in inverted.bytes
	docs        uint32 // documents that have it
	last        uint32 // its last posting
}

// keyOf returns the first 8 bytes of a token, the first one highest, with zeros after
// a shorter one. Tokens with different keys sort as the keys do; a token of at most 8
// bytes is known by its key and its size.
func keyOf(token []byte) (key uint64) {
	if len(token) >= 8 {
		return binary.BigEndian.Uint64(token)
	}
	for i, c := range token {
		key |= uint64(c) << (56 - 8*i)
	}
	return key
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

func (f *inverted) reset() {
	if len(f.slots) > 16*len(f.terms) && len(f.slots) > 1<<12 {
		f.slots = make([]uint64, firstSlots)
	} else {
		clear(f.slots)
	}
	f.bytes, f.terms, f.postings, f.ends, f.lengths = reuse(f.bytes), reuse(f.terms), reuse(f.postings), reuse(f.ends), reuse(f.lengths)
	f.begun = 0
}

// add adds a token of the current document, and returns its term, which is valid until
// the next call.
func (f *inverted) add(token []byte) *term {
	f.tokens++
	key := keyOf(token)
	hash := uint64(hashOf(f.seed, key, token))
	mask := uint64(len(f.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := f.slots[i]
		if slot == 0 {
			f.slots[i] = hash<<32 | uint64(len(f.terms)+1)
			f.terms = append(f.terms, term{key: key, start: uint32(len(f.bytes)), size: uint32(len(token)), docs: 1, last: uint32(len(f.postings))})
			f.bytes = append(f.bytes, token...)
			f.postings = append(f.postings, posting{uint32(len(f.terms) - 1), 1})
			if len(f.terms) > len(f.slots)/2 {
				f.grow()
			}
			return &f.terms[len(f.terms)-1]
		}
		if slot>>32 != hash {
			continue
		}
		number := uint32(slot) - 1
		t := &f.terms[number]
		if t.key != key || int(t.size) != len(token) || len(token) > 8 && !bytes.Equal(f.bytes[t.start:t.start+t.size], token) {
			continue
		}
		if int(t.last) >= f.begun { // not the first time in this document
			f.postings[t.last].freq++
			return t
		}
		t.docs++
		t.last = uint32(len(f.postings))
		f.postings = append(f.postings, posting{number, 1})
		return t
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

// The engine must be of the version of the format that this package writes.
var _ [17]struct{} = [zap.Version]struct{}{}

var errTooMuch = errors.New("build a segment: too much text for one segment")

// Image is the bytes of a segment, built and checked.
type Image struct {
	bytes []byte // the body
	parts
}

// Build writes the documents as a segment, which shares nothing with the
// accumulator, and reads it again to check it. At least one document must have been
// added.
func (a *Accumulator) Build() (*Image, error) {
	if a.docs == 0 {
		return nil, errors.New("build a segment: no documents")
	}
	if len(a.id.terms) != a.docs {
		return nil, fmt.Errorf("build a segment: %d documents with %d different ids", a.docs, len(a.id.terms))
	}
	// 32 bits must be enough for all offsets.
	tooMuch := func(f *inverted) bool { return max(len(f.bytes), len(f.postings)) >= math.MaxUint32 }
	if slices.ContainsFunc(a.fields, tooMuch) || len(a.pairs.filters) > math.MaxUint32 {
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
		dictionary, err := w.invertedDictionary(f)
		if err != nil {
			return nil, fmt.Errorf("build a segment: field %s: %w", f.name, err)
		}
		headers[i] = w.fieldEnd(f.fieldSpec, dictionary, f.appendValues)
	}
	image.fieldIndex = w.fieldIndex(headers, w.adjacency(&a.pairs))
	image.bytes = w.out
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

// fieldEnd writes what follows the dictionary of a field, and returns the address of the
// header.
func (w *writer) fieldEnd(f fieldSpec, dictionary uint64, appendValues func(b []byte, doc int) []byte) (header uint64) {
	start, end := uint64(noValues), uint64(noValues)
	if f.options.IncludeDocValues() { // also without any: the engine reads past the end of nothing otherwise
		start = w.at()
		w.docValues(appendValues)
		end = w.at()
	}
	header = w.at()
	w.varint(start)
	w.varint(end)
	w.varint(dictionary)
	return header
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

// check reads the segment and compares it with the accumulator: the number of the terms of
// every field, all stored values, and a sample of ids and postings.
func (m *Image) check(a *Accumulator) error {
	s, err := m.Segment()
	if err != nil {
		return err
	}
	defer s.Close()
	return s.check(a)
}

func (s *Segment) check(a *Accumulator) (err error) {
	defer format.Contain(format.Guard(), "read a segment in memory", &err)
	if s.length != a.docs {
		return fmt.Errorf("%d documents, want %d", s.length, a.docs)
	}
	for doc := 0; doc < a.docs; doc += a.docs/probes + 1 {
		if id, _, _ := s.storedParts(uint32(doc)); !bytes.Equal(id, a.id.term(uint32(doc))) {
			return fmt.Errorf("document %d has id %q, want %q", doc, id, a.id.term(uint32(doc)))
		}
	}
	for _, v := range a.stored {
		if !bytes.Equal(s.storedAt(uint32(v.doc), nil), a.values[v.start:v.end]) {
			return fmt.Errorf("the stored value of document %d differs", v.doc)
		}
	}
	for _, f := range a.fields {
		if err := s.checkField(f); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return nil
}

func (s *Segment) checkField(f *inverted) error {
	if tree, _ := s.fst(f.name); tree.terms != len(f.terms) {
		return fmt.Errorf("%d terms, want %d", tree.terms, len(f.terms))
	}
	for number := 0; number < len(f.terms); number += len(f.terms)/probes + 1 {
		term, want := f.term(uint32(number)), f.terms[number]
		postings := s.postingsAt(s.lookUp(f.name, term))
		docs, last := uint32(0), uint32(0)
		for _, freq, _, ok := postings.Next(); ok; _, freq, _, ok = postings.Next() {
			docs, last = docs+1, freq
		}
		if err := s.Fault(); err != nil {
			return err
		}
		if docs != want.docs {
			return fmt.Errorf("term %q has %d postings, want %d", term, docs, want.docs)
		}
		if freq := f.postings[want.last].freq; !f.options.SkipFreqNorm() && last != freq {
			return fmt.Errorf("term %q has frequency %d, want %d", term, last, freq)
		}
	}
	return nil
}
