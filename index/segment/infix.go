package segment

import (
	"encoding/binary"

	"pigrep/index/format"

	"github.com/RoaringBitmap/roaring/v2"
)

// The dictionary of a field is an automaton of the engine (vellum, version 1):
// nodes that share the beginnings of terms, and in part their ends. Finding what
// stands inside of terms has to visit every node, so it reads the bytes itself.
//
//	footer   8 bytes number of terms, 8 bytes address of the first node, little endian
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
	dictHeader = 16
	dictFooter = 16

	oneTransition  = 1 << 7
	nextTransition = 1 << 6
	endsHere       = 1 << 6
	transitionCode = 1<<6 - 1

	// maxTerms is more terms than a segment can have. A dictionary whose terms
	// share their ends has many more of them than bytes.
	maxTerms = 1 << 31
	// maxDepth is more bytes than a term of any field can have; a dictionary with
	// longer ones is damaged.
	maxDepth = 2 * MaxKeyword
)

// commonBytes are the bytes that the codes from 1 on stand for.
const commonBytes = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// dictionary is the bytes of one.
type dictionary struct {
	data  []byte
	root  int // address of the first node
	terms int
}

// dictionary returns the dictionary of a field; false when it has no terms.
func (s *Segment) dictionary(f Field) (d dictionary, ok bool, err error) {
	field, ok := s.fields[f]
	if !ok {
		return d, false, nil
	}
	size, at, ok := readUvarint(s.data, field.dict)
	if !ok || size < dictHeader+dictFooter || size > uint64(len(s.data))-at {
		return d, false, format.Damaged("dictionary of %s", f)
	}
	d.data = s.data[at : at+size]
	terms, root := binary.LittleEndian.Uint64(d.data[size-16:]), binary.LittleEndian.Uint64(d.data[size-8:])
	if root >= size-dictFooter || terms > maxTerms {
		return d, false, format.Damaged("dictionary of %s", f)
	}
	d.terms, d.root = int(terms), int(root)
	return d, root != 1, nil
}

// one reads a node with one transition.
func (d *dictionary) one(addr int) (c byte, out uint64, next int) {
	top, at := d.data[addr], addr-1
	if code := top & transitionCode; code != 0 {
		c = commonBytes[code-1]
	} else {
		c = d.data[at]
		at--
	}
	if top&nextTransition != 0 {
		return c, 0, at
	}
	trans, size := int(d.data[at]>>4), int(d.data[at]&15)
	at -= trans
	return c, d.packed(at-size, size), d.target(at, trans, at-size)
}

// many is a node with any number of transitions, from the last to the first.
type many struct {
	n           int
	trans, out  int // sizes
	bytes       int // where they are
	targets     int
	outs        int
	bottom      int
	ends        bool
	endingValue uint64
}

func (d *dictionary) many(addr int) (m many) {
	at := addr - 1
	if m.n = int(d.data[addr] & transitionCode); m.n == 0 {
		if m.n = int(d.data[at]); m.n == 1 {
			m.n = 256
		}
		at--
	}
	m.trans, m.out = int(d.data[at]>>4), int(d.data[at]&15)
	m.bytes = at - m.n
	m.targets = m.bytes - m.n*m.trans
	m.outs = m.targets - m.n*m.out
	m.bottom = m.outs
	if m.ends = d.data[addr]&endsHere != 0; m.ends {
		m.bottom -= m.out
		m.endingValue = d.packed(m.bottom, m.out)
	}
	return m
}

// packed reads a number of so many bytes. The footer follows every node, so there
// are always eight bytes to read.
func (d *dictionary) packed(at, size int) uint64 {
	return binary.LittleEndian.Uint64(d.data[at:]) & (1<<(8*uint(size)) - 1)
}

// target returns the address that the distance at an offset, of that many bytes,
// leads to from the bottom of a node.
func (d *dictionary) target(at, size, bottom int) int {
	distance := int(d.packed(at, size))
	if distance == 0 {
		return 0
	}
	if bottom -= distance; bottom < dictHeader {
		panic("a node below the first")
	}
	return bottom
}

// Infix returns the live documents with a term that the needle stands in, at its
// end when that is asked for. When more than most terms have it, ok is false and
// nothing is said. The needle has 1 to 254 bytes; the bitmap is the caller's.
func (s *Segment) Infix(f Field, needle []byte, atEnd bool, most int) (docs *roaring.Bitmap, ok bool, err error) {
	defer format.Contain("search the terms", &err)()
	docs = roaring.New()
	d, have, err := s.dictionary(f)
	if err != nil || !have || len(needle) == 0 || len(needle) > 254 {
		return docs, err == nil, err
	}
	w := infixWalk{dictionary: d, segment: s, step: occurrences(needle, atEnd), found: uint8(len(needle)), most: most, docs: docs}
	if f == FieldText {
		w.columns = s.columns(needle, atEnd)
	}
	if w.walk(d.root, 0, 0, 0, 0); w.err != nil || w.most < 0 {
		return nil, false, w.err
	}
	docs.AddMany(w.single)
	docs.CloneCopyOnWriteContainers() // they are in mapped memory
	return docs, true, s.live(docs)
}

// occurrences returns the automaton that finds the needle: a state is how many
// bytes of it have just been read. Having found it, it stays there, unless only
// what is at the end counts.
func occurrences(needle []byte, atEnd bool) [][256]uint8 {
	step := make([][256]uint8, len(needle)+1)
	fallback := uint8(0)
	for i, c := range needle {
		step[i] = step[fallback]
		next := step[fallback][c]
		step[i][c] = uint8(i + 1)
		if i > 0 {
			fallback = next
		}
	}
	last := &step[len(needle)]
	if *last = step[fallback]; !atEnd {
		for i := range last {
			last[i] = uint8(len(needle))
		}
	}
	return step
}

type infixWalk struct {
	dictionary
	segment *Segment
	columns *columns // that may have the needle; nil when nothing is known of them
	step    [][256]uint8
	found   uint8
	most    int // terms that may still be found; negative: there are too many

	docs   *roaring.Bitmap
	single []uint32 // documents that are the only ones of a term
	err    error
}

// walk visits the terms below a node. prefix is the first bytes of the way there,
// the first one highest; value is the sum of outputs.
func (w *infixWalk) walk(addr int, state uint8, depth int, prefix uint32, value uint64) {
	for addr != 0 && w.data[addr]&oneTransition != 0 {
		c, out, next := w.one(addr)
		if depth++; depth <= prefixBytes {
			if prefix |= uint32(c) << (8 * (prefixBytes - depth)); w.skips(prefix, depth) {
				return
			}
		}
		addr, state, value = next, w.step[state][c], value+out
	}
	if addr == 0 {
		if state == w.found {
			w.add(value)
		}
		return
	}
	if depth++; depth > maxDepth {
		panic("a term that is too long")
	}
	m := w.many(addr)
	if m.ends && state == w.found {
		w.add(value + m.endingValue)
	}
	for i := m.n - 1; i >= 0 && w.most >= 0; i-- {
		c := w.data[m.bytes+i]
		next, to := w.target(m.targets+i*m.trans, m.trans, m.bottom), w.step[state][c]
		if next == 0 && to != w.found { // the end of most terms
			continue
		}
		below := prefix
		if depth <= prefixBytes {
			if below |= uint32(c) << (8 * (prefixBytes - depth)); w.skips(below, depth) {
				continue
			}
		}
		out := value
		if m.out > 0 {
			out += w.packed(m.outs+i*m.out, m.out)
		}
		w.walk(next, to, depth, below, out)
	}
}

// skips reports whether no term that begins with the first bytes of a prefix has
// the needle.
func (w *infixWalk) skips(prefix uint32, depth int) bool {
	return w.columns != nil && !w.columns.any(prefix, prefix|(1<<(8*(prefixBytes-depth))-1))
}

// add adds the documents of a term.
func (w *infixWalk) add(value uint64) {
	if w.most--; w.most < 0 || w.err != nil {
		return
	}
	if value&oneHitBit != 0 {
		w.single = append(w.single, uint32(value&oneHitMask))
		return
	}
	_, bitmap, ok := listParts(w.segment.data, value)
	if !ok {
		w.err = errPostings
		return
	}
	var docs roaring.Bitmap
	if _, err := docs.FromBuffer(bitmap); err != nil {
		w.err = format.Damaged("postings: %v", err)
		return
	}
	w.docs.Or(&docs)
}
