package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/blevesearch/vellum"

	"pigrep/index/format"
)

// The dictionary of a field maps each of its terms to a PostingsOffset:
//
//	varint   length
//	an FST as vellum writes it, whose layout is below

type sortedTerm struct {
	key    uint64 // see keyOf
	number uint32
}

type hit struct{ doc, freq uint32 }

// invertedDictionary writes the postings of the terms of a field and then its dictionary,
// and returns the address of the latter.
func (w *writer) invertedDictionary(f *inverted) (address uint64, err error) {
	w.sort(f)
	w.invert(f)
	lengths := f.lengths
	if f.options.SkipFreqNorm() {
		lengths = nil
	}
	return w.dictionary(func(insert insertTerm) error {
		for _, t := range w.order {
			end := w.next[t.number]
			hits := w.hits[end-f.terms[t.number].docs : end]
			if err := insert(f.term(t.number), w.postings(hits, lengths)); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertTerm adds a term to a dictionary. Terms come in byte order.
type insertTerm func(term []byte, at PostingsOffset) error

// dictionary calls terms, which writes postings and inserts their terms. It then writes
// the dictionary of these terms, and returns its address.
func (w *writer) dictionary(terms func(insertTerm) error) (address uint64, err error) {
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
	err = terms(func(term []byte, at PostingsOffset) error { return w.builder.Insert(term, uint64(at)) })
	if err != nil {
		return 0, err
	}
	if err := w.builder.Close(); err != nil {
		return 0, err
	}
	address = w.at()
	w.varint(uint64(w.fst.Len()))
	w.out = append(w.out, w.fst.Bytes()...)
	return address, nil
}

func (w *writer) sort(f *inverted) {
	w.order = slices.Grow(w.order[:0], len(f.terms))
	for number := range f.terms {
		w.order = append(w.order, sortedTerm{f.terms[number].key, uint32(number)})
	}
	slices.SortFunc(w.order, func(x, y sortedTerm) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return bytes.Compare(f.term(x.number), f.term(y.number))
	})
}

// invert puts the postings of f, which are by document, into w.hits by term in the
// order of w.order, and sets w.next to where the hits of each term end.
func (w *writer) invert(f *inverted) {
	w.next = slices.Grow(w.next[:0], len(f.terms))[:len(f.terms)]
	at := uint32(0)
	for _, t := range w.order {
		w.next[t.number] = at
		at += f.terms[t.number].docs
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

// PostingsOffset looks up a term; 0 when no document has it.
func (s *Segment) PostingsOffset(f Field, term []byte) PostingsOffset {
	defer s.contain(format.Guard(), "look up a term")
	return s.lookUp(f, term)
}

// lookUp is PostingsOffset for callers that contain faults.
func (s *Segment) lookUp(f Field, term []byte) PostingsOffset {
	tree, have := s.fst(f)
	if !have {
		return 0
	}
	return PostingsOffset(tree.get(term))
}

// eachTerm visits the terms of a field in [start, end), as fst.walk does.
func (s *Segment) eachTerm(f Field, start, end []byte, visit func(term []byte, at PostingsOffset) bool) {
	if tree, have := s.fst(f); have {
		tree.walk(start, end, nil, visit)
	}
}

// Terms visits the terms of a field that begin with the prefix, in byte order,
// until visit returns false. The count is the number of documents that have the
// term, deleted ones included. The term is valid during the visit only.
func (s *Segment) Terms(f Field, prefix []byte, visit func(term []byte, count int) bool) {
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "list terms")
	s.eachTerm(f, prefix, prefixEnd(prefix), func(term []byte, at PostingsOffset) (more bool) {
		count := s.countPostings(at)
		calling.do(func() { more = visit(term, count) })
		return more
	})
}

// prefixEnd returns the smallest key after all that begin with the prefix, nil
// when there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// Walk visits every posting of a field, of live documents only, in the order of the
// terms. The term is valid during the visit only; frequency and length are 0 except
// in FieldText.
func (s *Segment) Walk(f Field, visit func(term []byte, doc, freq, length uint32)) {
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "list postings")
	s.eachTerm(f, nil, nil, func(term []byte, at PostingsOffset) bool {
		p := s.postingsAt(at)
		for doc, freq, length, ok := p.Next(); ok; doc, freq, length, ok = p.Next() {
			if f != FieldText {
				freq, length = 0, 0
			}
			calling.do(func() { visit(term, doc, freq, length) })
		}
		return true
	})
}

// The FST of a dictionary is vellum's, version 1: nodes that share the beginnings of
// terms, and in part their ends. vellum writes it. It is read here, because vellum
// cannot be made to check the bytes of a node before it reads them, and visiting every
// node with its iterator takes 1.7 times as long.
//
//	footer   8 bytes number of terms, 8 bytes address of the root, little endian
//	node     read downwards from its address; the nodes it leads to lie below it
//
//	1NCCCCCC           one transition: the byte that code C stands for, or when C is
//	[byte]             0 the byte here. With N it leads to the next node down.
//	[TTTTOOOO]         Without: sizes of what follows,
//	[T bytes][O bytes] the distance of the next node and the output
//
//	0FCCCCCC           C transitions, or when C is 0
//	[count]            as many as this byte says, 256 for 1
//	TTTTOOOO           sizes
//	C bytes            the bytes of the transitions, in descending order upwards
//	C·T bytes          the distances, then the outputs
//	[O bytes]          with F, the output of the term that ends here
//
// The distance 0 leads to the end of a term, address 0. The value of a term is
// the sum of the outputs on the way to it.
const (
	fstHeader = 16
	fstFooter = 16

	oneTransition  = 1 << 7
	nextTransition = 1 << 6
	endsHere       = 1 << 6
	transitionCode = 1<<6 - 1

	// headBytes is the most bytes that a node with one transition has below its
	// address.
	headBytes = 1 + 1 + 8 + 8

	// maxTerms is more terms than a segment can have. A dictionary whose terms
	// share their ends has many more of them than bytes.
	maxTerms = 1 << 31
	// maxDepth is more bytes than a term of any field can have; a dictionary with
	// longer ones is damaged.
	maxDepth = 2 * MaxKeyword
)

// commonBytes are the bytes that the codes from 1 on stand for.
const commonBytes = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// fst reads one FST. Addresses of nodes count from its first byte.
type fst struct {
	body  *body
	base  uint64 // address of data in the body
	data  []byte // hasOne and many check it, node by node
	root  int    // address of the first node
	terms int

	// The bytes [low-headBytes, high) are the block of the last node, already checked:
	// most nodes are in the same block as the one before.
	low, high int
}

// fst returns the FST of a field; ok is false if the field has no terms.
func (s *Segment) fst(f Field) (t fst, ok bool) {
	field, ok := s.fields[f]
	if !ok {
		return t, false
	}
	size, at := s.uvarint(field.dictionary)
	data := s.data[at:]
	if size < fstHeader+fstFooter || size > uint64(len(data)) {
		panic(format.Damaged("dictionary of %s", f))
	}
	footer := s.bytes(at+size-fstFooter, fstFooter)
	terms, root := binary.LittleEndian.Uint64(footer), binary.LittleEndian.Uint64(footer[8:])
	if root >= size-fstFooter || terms > maxTerms {
		panic(format.Damaged("dictionary of %s", f))
	}
	return fst{body: &s.body, base: at, data: data[:size], root: int(root), terms: int(terms)}, root != 1
}

// hasOne reports whether the node at an address, which must not be 0, has one
// transition. Such a node is checked as a whole, any other only at its head.
func (t *fst) hasOne(addr int) bool {
	if addr < t.low || addr >= t.high {
		t.enter(addr)
	}
	return t.data[addr]&oneTransition != 0
}

// enter checks headBytes of a node, and remembers their block.
func (t *fst) enter(addr int) {
	at := t.base + uint64(addr)
	t.body.check(at-headBytes, at+1)
	block := int(at&^(blockSize-1)) - int(t.base)
	t.low, t.high = block+headBytes, block+blockSize
}

// one reads a node for which hasOne returned true.
func (t *fst) one(addr int) (c byte, out uint64, next int) {
	top, at := t.data[addr], addr-1
	if code := top & transitionCode; code != 0 {
		c = commonBytes[code-1]
	} else {
		c = t.data[at]
		at--
	}
	if top&nextTransition != 0 {
		return c, 0, at
	}
	trans, size := int(t.data[at]>>4), int(t.data[at]&15)
	at -= trans
	return c, t.packed(at-size, size), t.target(at, trans, at-size)
}

// many is a node with any number of transitions, the last one first.
type many struct {
	n                    int
	trans, out           int // sizes of a distance and of an output
	bytes, targets, outs int // where they are
	bottom               int
	ends                 bool   // a term ends here
	endingValue          uint64 // its output
}

// many reads a node for which hasOne returned false, and checks the rest of it.
func (t *fst) many(addr int) (m many) {
	at := addr - 1
	if m.n = int(t.data[addr] & transitionCode); m.n == 0 {
		if m.n = int(t.data[at]); m.n == 1 {
			m.n = 256
		}
		at--
	}
	m.trans, m.out = int(t.data[at]>>4), int(t.data[at]&15)
	m.bytes = at - m.n
	m.targets = m.bytes - m.n*m.trans
	m.outs = m.targets - m.n*m.out
	m.bottom = m.outs
	if m.ends = t.data[addr]&endsHere != 0; m.ends {
		m.bottom -= m.out
	}
	if m.bottom < t.low-headBytes {
		t.body.check(t.base+uint64(m.bottom), t.base+uint64(addr))
	}
	if m.ends {
		m.endingValue = t.packed(m.bottom, m.out)
	}
	return m
}

// transition returns the i-th transition of a node: its byte, its output, and the
// address that it leads to.
func (t *fst) transition(m *many, i int) (c byte, out uint64, next int) {
	if m.out > 0 {
		out = t.packed(m.outs+i*m.out, m.out)
	}
	return t.data[m.bytes+i], out, t.target(m.targets+i*m.trans, m.trans, m.bottom)
}

// packed reads a number of size bytes. The footer follows every node, so there are
// always eight bytes to read.
func (t *fst) packed(at, size int) uint64 {
	return binary.LittleEndian.Uint64(t.data[at:]) & (1<<(8*uint(size)) - 1)
}

// target returns the address to which the distance at an offset, of size bytes,
// leads from the bottom of a node.
func (t *fst) target(at, size, bottom int) int {
	distance := int(t.packed(at, size))
	if distance == 0 {
		return 0
	}
	if bottom -= distance; bottom < fstHeader {
		panic("a node below the first")
	}
	return bottom
}

// after follows the transition for a byte; ok is false if the node has none.
func (t *fst) after(addr int, c byte) (next int, out uint64, ok bool) {
	if addr == 0 {
		return 0, 0, false
	}
	if t.hasOne(addr) {
		only, out, next := t.one(addr)
		return next, out, only == c
	}
	m := t.many(addr)
	i := bytes.IndexByte(t.data[m.bytes:m.bytes+m.n], c)
	if i < 0 {
		return 0, 0, false
	}
	_, out, next = t.transition(&m, i)
	return next, out, true
}

// ends reports whether a term ends at an address, and returns its output there.
func (t *fst) ends(addr int) (out uint64, ok bool) {
	if addr == 0 {
		return 0, true
	}
	if t.hasOne(addr) {
		return 0, false
	}
	m := t.many(addr)
	return m.endingValue, m.ends
}

// get returns the value of a term, 0 if there is no such term.
func (t *fst) get(term []byte) (value uint64) {
	addr := t.root
	for _, c := range term {
		next, out, ok := t.after(addr, c)
		if !ok {
			return 0
		}
		addr, value = next, value+out
	}
	out, ok := t.ends(addr)
	if !ok {
		return 0
	}
	return value + out
}

// walk visits the terms in [start, end) that an automaton matches, in byte order, until
// visit returns false. Without bounds or automaton, they are nil. The term is valid only
// during the visit.
func (t *fst) walk(start, end []byte, a *levenshtein, visit func(term []byte, at PostingsOffset) bool) {
	w := termWalk{fst: *t, start: start, end: end, automaton: a, visit: visit}
	w.walk(w.root, levenshteinStart, 0, len(start) > 0, end != nil)
}

type termWalk struct {
	fst
	start, end []byte
	automaton  *levenshtein
	visit      func(term []byte, at PostingsOffset) bool

	term []byte // the bytes on the path to the node
}

// walk visits the terms at and below an address. value is the sum of the outputs on the
// path. low is set while the path is a prefix of start, high while it is a prefix of end. It
// reports whether more terms are wanted.
func (w *termWalk) walk(addr, state int, value uint64, low, high bool) bool {
	depth := len(w.term)
	if depth > maxDepth {
		panic("a term that is too long")
	}
	if high && depth == len(w.end) {
		return true
	}
	if low && depth == len(w.start) {
		low = false
	}
	if addr == 0 {
		return w.found(state, value, low)
	}
	if w.hasOne(addr) {
		c, out, next := w.one(addr)
		return w.follow(c, next, state, value+out, low, high)
	}
	m := w.many(addr)
	if m.ends && !w.found(state, value+m.endingValue, low) {
		return false
	}
	for i := m.n - 1; i >= 0; i-- {
		c, out, next := w.transition(&m, i)
		if !w.follow(c, next, state, value+out, low, high) {
			return false
		}
	}
	return true
}

// follow walks on after a byte, unless that leads to no term that is wanted.
func (w *termWalk) follow(c byte, next, state int, value uint64, low, high bool) bool {
	depth := len(w.term)
	if low {
		if c < w.start[depth] {
			return true
		}
		low = c == w.start[depth]
	}
	if high {
		if c > w.end[depth] {
			return true
		}
		high = c == w.end[depth]
	}
	w.term = append(w.term, c)
	defer func() { w.term = w.term[:depth] }()
	if w.automaton != nil {
		if state = w.automaton.accept(state, w.term); state == levenshteinDead {
			return true
		}
	}
	return w.walk(next, state, value, low, high)
}

// found visits the term on the path, unless it is below start or the automaton does not
// match it.
func (w *termWalk) found(state int, value uint64, low bool) bool {
	if low || w.automaton != nil && !w.automaton.matches(state) {
		return true
	}
	return w.visit(w.term, PostingsOffset(value))
}
