package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"

	"pigrep/index/analysis"
	"pigrep/index/format"
)

// The adjacency filters say which words may follow each other in the text of a document,
// so that a search for a phrase reads few of the texts that have all of its words. The
// filter of a document is a Bloom filter of the pairs of neighbours in its text:
//
//	for each document: its filter, pairBits bits for each pair of neighbours, rounded up to
//	                   whole bytes; empty if there is no pair, or nothing is known
//	offsets            4 bytes for each document and one more: where its filter begins,
//	                   from the first filter on
//	field index        whose last 16 bytes before the number of fields are
//	                   8 bytes  address of the offsets
//	                   8 bytes  adjacencyMagic
//
// A segment that the engine has merged has none, because the engine does not know of them.
//
// With 2 bits a pair, which is about 3.5 bits a different pair, a filter lets one of five
// pairs pass that are not there, and one of 25 phrases of three words. The filters take
// 3 % of the size of the session files.
const (
	adjacencyMagic = "pgadjac1"
	pairBits       = 2

	// A text with more pairs, of several megabytes, has no filter, so that one huge text
	// does not need memory for its pairs.
	maxPairs = 1 << 20
)

// Pair is the hash of two words that follow each other.
type Pair uint64

func (p Pair) bits(n uint64) (uint64, uint64) {
	return uint64(uint32(p)) * n >> 32, uint64(p>>32) * n >> 32
}

// pairer finds the pairs of neighbours in the tokens of a text. Neighbours are whole words
// of scripts that are written with spaces; characters of other scripts and emojis come
// between them.
//
// A word after the code of a colour comes twice, alone and with the last characters of the
// code (see analysis): both are neighbours of the next word.
type pairer struct {
	pairs    []Pair
	previous uint64 // hash of the word before; 0 for none
	other    uint64 // of the same word without a code; 0 for none
	end      int    // of the words so far
}

func (p *pairer) reset() { *p = pairer{pairs: p.pairs[:0]} }

// add takes the next token, of a term with this key (see keyOf) and size.
func (p *pairer) add(t analysis.Token, key uint64, size uint32) {
	switch t.Form {
	case analysis.Part: // its word comes later
		return
	case analysis.Word, analysis.Whole:
	default:
		p.previous, p.other = 0, 0
		return
	}
	word := mix(key, uint64(size)) | 1
	p.pair(p.previous, word)
	switch {
	case t.Start >= p.end:
		p.pair(p.other, word)
		p.other = 0
	case p.other == 0:
		p.other = p.previous
	}
	p.previous, p.end = word, max(p.end, t.End)
}

// pair adds a pair of neighbours, unless there is no first one.
func (p *pairer) pair(previous, word uint64) {
	if previous != 0 && len(p.pairs) <= maxPairs {
		p.pairs = append(p.pairs, Pair(mix(previous, word)))
	}
}

// Pairs returns the pairs of neighbours in a text. A document that contains the text, with
// no letter or digit directly before or after it, has all of these pairs. Pairs returns
// none for a text with an escape character, because the words around a colour code depend
// on what follows it (see analysis).
func Pairs(text []byte) []Pair {
	if bytes.IndexByte(text, 0x1b) >= 0 {
		return nil
	}
	var p pairer
	new(analysis.Analyzer).Walk(text, func(t analysis.Token) { p.add(t, keyOf(t.Term), uint32(len(t.Term))) })
	return p.pairs
}

// adjacency collects the filters of the documents of a segment.
type adjacency struct {
	pairer         // of the document being added
	filters []byte // of all documents
	ends    []uint32
}

func (a *adjacency) endDocument() {
	if n := len(a.pairs); 0 < n && n <= maxPairs {
		start := len(a.filters)
		a.filters = append(a.filters, make([]byte, (pairBits*len(a.pairs)+7)/8)...)
		filter := a.filters[start:]
		n := 8 * uint64(len(filter))
		for _, p := range a.pairs {
			x, y := p.bits(n)
			filter[x/8] |= 1 << (x % 8)
			filter[y/8] |= 1 << (y % 8)
		}
	}
	a.ends = append(a.ends, uint32(len(a.filters)))
	a.pairer.reset()
}

func (a *adjacency) reset() {
	a.pairs, a.filters, a.ends = reuse(a.pairs), reuse(a.filters), reuse(a.ends)
}

// adjacency writes the filters, and returns the address of the offsets.
func (w *writer) adjacency(a *adjacency) (offsets uint64) {
	w.out = append(w.out, a.filters...)
	return w.adjacencyOffsets(a.ends)
}

func (w *writer) adjacencyOffsets(ends []uint32) uint64 {
	at := w.at()
	w.out = binary.BigEndian.AppendUint32(w.out, 0)
	for _, end := range ends {
		w.out = binary.BigEndian.AppendUint32(w.out, end)
	}
	return at
}

// adjacency copies the filters of the live documents. It returns the address of the offsets.
func (m *merger) adjacency() uint64 {
	ends := make([]uint32, 0, m.docs)
	end := uint32(0)
	for _, s := range m.sources {
		filters := s.adjacency()
		for _, doc := range s.live {
			filter := filters.of(doc)
			m.out = append(m.out, filter...)
			if end += uint32(len(filter)); int(end) < len(filter) {
				m.err = cmp.Or(m.err, errTooMuch)
			}
			ends = append(ends, end)
			if m.spill() != nil {
				return 0
			}
		}
	}
	return m.adjacencyOffsets(ends)
}

type filters struct {
	*body
	start, offsets uint64 // addresses of the first filter and of the offsets; offsets is 0 if there are none
}

func (s *Segment) adjacency() filters {
	f := filters{body: &s.body}
	if s.fieldIndex < 16 {
		return f
	}
	pointer := s.bytes(s.fieldIndex-16, 16)
	if string(pointer[8:]) != adjacencyMagic {
		return f
	}
	f.offsets = binary.BigEndian.Uint64(pointer)
	size := uint64(binary.BigEndian.Uint32(s.bytes(f.offsets+4*uint64(s.length), 4))) // of all filters
	if size > f.offsets {
		panic(format.Damaged("adjacency filters of segment %s", s.name))
	}
	f.start = f.offsets - size
	return f
}

// of returns the filter of a document.
func (f *filters) of(doc uint32) []byte {
	if f.offsets == 0 {
		return nil
	}
	at := f.bytes(f.offsets+4*uint64(doc), 8)
	start, end := uint64(binary.BigEndian.Uint32(at)), uint64(binary.BigEndian.Uint32(at[4:]))
	return f.bytes(f.start+start, end-start)
}

// has reports whether a document with this filter may have all the pairs.
func has(filter []byte, pairs []Pair) bool {
	n := 8 * uint64(len(filter))
	if n == 0 {
		return true
	}
	for _, p := range pairs {
		x, y := p.bits(n)
		if (filter[x/8]>>(x%8))&(filter[y/8]>>(y%8))&1 == 0 {
			return false
		}
	}
	return true
}

// KeepAdjacent removes from a set of documents, a bit for each, those whose text does not
// have all the pairs. It may keep others.
func (s *Segment) KeepAdjacent(docs []uint64, pairs []Pair) {
	defer s.contain(format.Guard(), "read adjacency filters of "+s.name)
	if len(pairs) == 0 {
		return
	}
	filters := s.adjacency()
	if filters.offsets == 0 {
		return
	}
	for i, word := range docs {
		for ; word != 0; word &= word - 1 {
			if bit := bits.TrailingZeros64(word); !has(filters.of(uint32(i<<6+bit)), pairs) {
				docs[i] &^= 1 << bit
			}
		}
	}
}
