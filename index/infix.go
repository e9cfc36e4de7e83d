package index

import (
	"encoding/binary"
	"sync"
)

// The dictionary of a field is an automaton of the engine (vellum, version 1):
// nodes that share the beginnings of terms, and in part their ends. Finding what
// stands inside of terms has to visit every node, so it reads the bytes itself
// and visits a node with several transitions once, not once for each way to it.
//
//	root     the last 8 bytes, little endian: the address of the first node
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
//
// The distance 0 leads to the end of a term, address 0.
const (
	dictHeader = 16
	dictFooter = 16

	oneTransition  = 1 << 7
	nextTransition = 1 << 6
	transitionCode = 1<<6 - 1
)

// commonBytes are the bytes that the codes from 1 on stand for.
const commonBytes = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// Inside visits beginnings of terms, in byte order, until visit returns false:
// each ends where the needle first occurs in it, or has long bytes and lacks the
// needle. Every term that has one of these beginnings holds the needle, or is at
// least that long, and no other term does. A beginning is valid during the visit
// only. The needle has 1 to 64 bytes.
func (s *Segment) Inside(f Field, needle []byte, long int, visit func(beginning []byte, holds bool) bool) (err error) {
	var visiting bool
	defer containUnless(&visiting, "search the terms", &err)()
	field, ok := s.fields[f]
	if !ok || len(needle) == 0 || len(needle) > 64 || long < 1 {
		return nil
	}
	size, at, ok := readUvarint(s.data, field.dict)
	if !ok || size < dictHeader+dictFooter || size > uint64(len(s.data))-at {
		return damaged("dictionary of %s", f)
	}
	w := insideWalk{
		data: s.data[at : at+size], step: occurrences(needle), found: uint8(len(needle)),
		path: make([]byte, long+1), long: long,
		visit: func(b []byte, holds bool) bool {
			visiting = true
			more := visit(b, holds)
			visiting = false
			return more
		},
	}
	root := binary.LittleEndian.Uint64(w.data[size-8:])
	if root >= size-dictFooter {
		return damaged("dictionary of %s", f)
	}
	if root == 1 { // no terms at all
		return nil
	}
	known := knownNodes.Get().(*[]uint8)
	defer knownNodes.Put(known)
	if cap(*known) < int(root)+1 {
		*known = make([]uint8, root+1, root+root/4)
	}
	w.known = (*known)[:root+1]
	clear(w.known)
	w.walk(int(root), 0, 0)
	return nil
}

// knownNodes keeps the memory of walks: taking new pages for each would take as
// long as the walk.
var knownNodes = sync.Pool{New: func() any { return new([]uint8) }}

// occurrences returns the automaton that finds the needle: a state is how many
// bytes of it have just been read.
func occurrences(needle []byte) [][256]uint8 {
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
	return step
}

type insideWalk struct {
	data  []byte
	step  [][256]uint8
	found uint8
	path  []byte
	long  int
	visit func([]byte, bool) bool
	done  bool

	// known tells of a node that nothing of the needle leads to and nothing was
	// found below: 1 and the length of the longest way down.
	known []uint8
}

// walk visits what is below a node. It returns the length of the longest way
// down, and whether there was anything to visit.
func (w *insideWalk) walk(addr int, state uint8, depth int) (height int, any bool) {
	start, data := depth, w.data
	for {
		switch {
		case w.done:
			return 0, true
		case state == w.found || depth == w.long:
			w.done = !w.visit(w.path[:depth], state == w.found)
			return 0, true
		case addr == 0:
			return depth - start, false
		}
		top := data[addr]
		if top&oneTransition == 0 {
			break
		}
		c, at := top&transitionCode, addr-1
		if c == 0 {
			c = data[at]
			at--
		} else {
			c = commonBytes[c-1]
		}
		if top&nextTransition != 0 {
			addr = at
		} else {
			trans, out := int(data[at]>>4), int(data[at]&15)
			at -= trans
			addr = target(data, at, trans, at-out)
		}
		w.path[depth] = c
		depth++
		state = w.step[state][c]
	}
	if state == 0 {
		if k := int(w.known[addr]); k != 0 && depth+k-1 < w.long {
			return depth - start + k - 1, false
		}
	}
	at := addr - 1
	n := int(data[addr] & transitionCode)
	if n == 0 {
		if n = int(data[at]); n == 1 {
			n = 256
		}
		at--
	}
	trans, out := int(data[at]>>4), int(data[at]&15)
	bytes := at - n
	targets := bytes - n*trans
	bottom := targets - n*out
	if out > 0 && data[addr]&nextTransition != 0 { // the output of a term that ends here
		bottom -= out
	}
	for i := n - 1; i >= 0; i-- {
		c := data[bytes+i]
		w.path[depth] = c
		next, to := target(data, targets+i*trans, trans, bottom), w.step[state][c]
		if next == 0 && to != w.found && depth+1 < w.long { // the end of most terms
			height = max(height, 1)
			continue
		}
		below, found := w.walk(next, to, depth+1)
		height, any = max(height, below+1), any || found
	}
	if state == 0 && !any && height < 255 {
		w.known[addr] = uint8(height + 1)
	}
	return depth - start + height, any
}

// target returns the address that the distance at an offset, of that many bytes,
// leads to from the bottom of a node. The footer follows every node, so there are
// always eight bytes to read.
func target(data []byte, at, size, bottom int) int {
	d := int(binary.LittleEndian.Uint64(data[at:]) & (1<<(8*uint(size)) - 1))
	if d == 0 {
		return 0
	}
	if d = bottom - d; d < dictHeader {
		panic("a node below the first")
	}
	return d
}
