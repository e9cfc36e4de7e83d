package segment

import (
	"encoding/binary"

	"pigrep/index/format"
)

// The FST of a dictionary is vellum's, version 1: nodes that share the beginnings of
// terms, and in part their ends. Infix and the trigrams have to visit every node, so
// they read its bytes: with vellum's iterator and an automaton for the needle, grep
// for a piece of a rare word in 1 GB of sessions takes 135 ms of CPU instead of 80.
// Everything else uses vellum.
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

	// maxTerms is more terms than a segment can have. A dictionary whose terms
	// share their ends has many more of them than bytes.
	maxTerms = 1 << 31
	// maxDepth is more bytes than a term of any field can have; a dictionary with
	// longer ones is damaged.
	maxDepth = 2 * MaxKeyword
)

// commonBytes are the bytes that the codes from 1 on stand for.
const commonBytes = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// fst is the bytes of one.
type fst struct {
	data  []byte
	root  int // address of the first node
	terms int
}

// fst returns the FST of a field; false when it has no terms.
func (s *Segment) fst(f Field) (t fst, ok bool, err error) {
	data, err := s.dictionaryBytes(f)
	if err != nil || data == nil {
		return t, false, err
	}
	size := uint64(len(data))
	if size < fstHeader+fstFooter {
		return t, false, format.Damaged("dictionary of %s", f)
	}
	terms, root := binary.LittleEndian.Uint64(data[size-16:]), binary.LittleEndian.Uint64(data[size-8:])
	if root >= size-fstFooter || terms > maxTerms {
		return t, false, format.Damaged("dictionary of %s", f)
	}
	return fst{data, int(root), int(terms)}, root != 1, nil
}

// one reads a node with one transition.
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
		m.endingValue = t.packed(m.bottom, m.out)
	}
	return m
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
