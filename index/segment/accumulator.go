// Package segment builds segments of the engine: it takes documents, keeps their postings in flat arrays, and writes
// them as the bytes of an ordinary zap segment, which the engine opens, queries, merges and stores as its own.
//
// The engine would make the same segment of a batch itself, from a map per document and field. That is where most of
// the time of indexing goes, and most of the memory. An Accumulator has one hash table per field for a whole batch,
// finds each token in it once, and adds eight bytes per posting.
//
//	Accumulator.AddDocument ─┐
//	Accumulator.AddStored   ─┴─> Build: bytes, checked ──> Image.Base ──> a file ──> Open
//	  in the goroutine that owns the files                   commits, one at a time
package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	engine "github.com/blevesearch/bleve_index_api"

	"pigrep/index/analysis"
)

// fieldOptions is a field and how it is indexed. A field with SkipFreqNorm has neither frequencies nor lengths.
type fieldOptions struct {
	Name    Field
	Options engine.FieldIndexingOptions
}

// keywordTerm is a term of a keyword field.
type keywordTerm struct {
	field int // index in keywords
	term  string
}

// Accumulator collects documents for one segment. It is used by one goroutine; after Build it can be used again.
type Accumulator struct {
	analyzer analysis.Analyzer
	emit     func(analysis.Token)
	fields   []*inverted // _id first, then by name, as the format wants it
	id, text *inverted
	keywords []*inverted   // in the order of the table keywords
	flag     *inverted     // of keywords
	storedID int           // number of the stored field
	terms    []keywordTerm // of the document being added

	docs   int
	ids    spans
	stored []stored
	values []byte
	writer writer
}

// stored is a value of the stored field.
type stored struct {
	doc        int
	start, end int // in Accumulator.values
}

// spans are byte strings that follow each other.
type spans struct {
	bytes []byte
	ends  []uint32
}

func (s *spans) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.bytes[start:s.ends[i]]
}

var errTooMuch = errors.New("build a segment: too much text for one segment")

// NewAccumulator returns an empty accumulator.
func NewAccumulator() *Accumulator {
	a := &Accumulator{}
	a.id = newInverted(fieldOptions{fieldID, idOptions})
	a.text = newInverted(fieldOptions{FieldText, engine.IndexField})
	a.fields = append(a.fields, a.text)
	for _, f := range keywords {
		k := newInverted(fieldOptions{f.name, f.options})
		a.keywords = append(a.keywords, k)
		a.fields = append(a.fields, k)
		if f.name == FieldFlag {
			a.flag = k
		}
	}
	a.fields = append(a.fields, newInverted(fieldOptions{fieldRecord, engine.StoreField}))
	slices.SortFunc(a.fields, func(x, y *inverted) int { return cmp.Compare(x.Name, y.Name) })
	a.fields = slices.Insert(a.fields, 0, a.id)
	a.storedID = slices.IndexFunc(a.fields, func(f *inverted) bool { return f.Name == fieldRecord })
	a.emit = func(t analysis.Token) { a.text.add(t.Term) }
	return a
}

// Add adds a document and returns the number of tokens in its text. Its id must be new in the segment. Nothing of the
// document is kept.
func (a *Accumulator) Add(d *Document) (tokens int) {
	a.terms = a.terms[:0]
	for i := range keywords {
		if v := keywords[i].value(d); v != "" {
			a.terms = append(a.terms, keywordTerm{i, cut(v)})
		}
	}
	return a.add([]byte(d.ID.String()), a.terms, d.Text)
}

func (a *Accumulator) add(id []byte, terms []keywordTerm, text []byte) (tokens int) {
	a.begin(id)
	for _, k := range terms {
		a.keywords[k.field].add([]byte(k.term))
	}
	tokens = a.analyzer.Walk(text, a.emit)
	if a.analyzer.Cut() {
		a.flag.add([]byte(FlagCut))
	}
	a.end()
	return tokens
}

// AddStored adds a document that has nothing but an id and a stored value.
func (a *Accumulator) AddStored(id, value []byte) {
	a.begin(id)
	start := len(a.values)
	a.values = append(a.values, value...)
	a.stored = append(a.stored, stored{a.docs, start, len(a.values)})
	a.end()
}

func (a *Accumulator) begin(id []byte) {
	a.id.add(id)
	a.ids.bytes = append(a.ids.bytes, id...)
	a.ids.ends = append(a.ids.ends, uint32(len(a.ids.bytes)))
}

func (a *Accumulator) end() {
	for _, f := range a.fields {
		f.endDocument()
	}
	a.docs++
}

// Len returns the number of documents.
func (a *Accumulator) Len() int { return a.docs }

// Size estimates the bytes of memory that the documents take.
func (a *Accumulator) Size() int {
	n := len(a.ids.bytes) + 4*len(a.ids.ends) + len(a.values)
	for _, f := range a.fields {
		n += len(f.bytes) + 24*len(f.terms) + 8*len(f.slots) + 8*len(f.postings) + 4*len(f.ends) + 4*len(f.lengths)
	}
	return n
}

// Reset makes the accumulator empty. It keeps its memory for the next documents, except what was many times more than
// these needed, so that one huge line does not stay in memory.
func (a *Accumulator) Reset() {
	a.docs = 0
	a.ids = spans{reuse(a.ids.bytes), reuse(a.ids.ends)}
	a.stored, a.values = reuse(a.stored), reuse(a.values)
	terms, postings := 0, 0
	for _, f := range a.fields {
		terms, postings = max(terms, len(f.terms)), max(postings, len(f.postings))
		f.reset()
	}
	a.writer.reset(terms, postings)
}

func reuse[T any](s []T) []T {
	if cap(s) > 4*len(s) && cap(s) > 1<<12 {
		return nil
	}
	return s[:0]
}

// inverted is what one field holds: its terms, numbered as they come, and for each document the postings of it.
type inverted struct {
	fieldOptions
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

// term is one entry of a dictionary.
type term struct {
	key         uint64 // see keyOf
	start, size uint32 // in inverted.bytes
	docs        uint32 // documents that have it
	last        uint32 // its last posting
}

// keyOf returns the first 8 bytes of a token, the first one highest, with zeros behind a shorter one. Tokens sort as
// their keys do, as long as these differ, and one of at most 8 bytes is known by its key and its size.
func keyOf(token []byte) uint64 {
	be := binary.BigEndian
	switch n := len(token); {
	case n >= 8:
		return be.Uint64(token)
	case n >= 4: // the last four bytes overlap the first four, which are shifted out
		return uint64(be.Uint32(token))<<32 | uint64(be.Uint32(token[n-4:])<<(64-8*n))
	case n > 0:
		key := uint64(token[0]) << 56
		key |= uint64(token[n/2]) << (56 - 8*(n/2))
		return key | uint64(token[n-1])<<(64-8*n)
	}
	return 0
}

// hashOf hashes a token with its key. A seed drawn for each table keeps a text from being made to collide.
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

// posting says that a document, known by the place of the posting, has a term.
type posting struct{ term, freq uint32 }

const firstSlots = 1 << 8

func newInverted(f fieldOptions) *inverted {
	return &inverted{fieldOptions: f, seed: rand.Uint64(), slots: make([]uint64, firstSlots)}
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
			return
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

// fits reports whether the 32 bit numbers have held.
func (f *inverted) fits() bool {
	return len(f.bytes) < math.MaxUint32 && len(f.postings) < math.MaxUint32
}
