package segment

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// A directory is that of the containers of a roaring bitmap, each with the documents
// of which the high half of the number is the same:
//
//	uint32   roaringNoRuns, then
//	uint32   number of containers
//	  or
//	uint16   roaringRuns, then
//	uint16   number of containers - 1, and a bit for each, set when it is of runs
//
//	for each container: uint16 the high half, uint16 number of documents - 1
//	for each container: uint32 its offset, unless there are runs and fewer than 4 containers
//
// A container is of runs, uint16 their number and for each uint16 the first and the
// number of others; or of up to mostInArray documents, uint16 each; or a bit for each
// of 65,536.
type directory struct {
	count int
	runs  []byte // nil: there are none
	rows  []byte
	data  []byte // the containers
}

const (
	roaringNoRuns = 12346
	roaringRuns   = 12347
	mostInArray   = 4096
	fewContainers = 4 // have no offsets when there are runs
)

func readDirectory(b []byte) (d directory, ok bool) {
	le := binary.LittleEndian
	if len(b) < 8 {
		return d, false
	}
	at, offsets := 0, true
	switch cookie := le.Uint32(b); {
	case cookie == roaringNoRuns:
		if cookie = le.Uint32(b[4:]); cookie > 1<<16 {
			return d, false
		}
		d.count, at = int(cookie), 8
	case cookie&0xffff == roaringRuns:
		d.count = int(cookie>>16) + 1
		at = 4 + (d.count+7)/8
		if at > len(b) {
			return d, false
		}
		d.runs, offsets = b[4:at], d.count >= fewContainers
	default:
		return d, false
	}
	end := at + 4*d.count
	if end > len(b) {
		return d, false
	}
	d.rows, d.data = b[at:end], b[end:]
	if offsets {
		if 4*d.count > len(d.data) {
			return d, false
		}
		d.data = d.data[4*d.count:]
	}
	return d, true
}

// row returns the first number that a container may have, and how many it has.
func (d *directory) row(i int) (first uint32, count int) {
	le := binary.LittleEndian
	return uint32(le.Uint16(d.rows[4*i:])) << 16, int(le.Uint16(d.rows[4*i+2:])) + 1
}

func (d *directory) isRuns(i int) bool { return d.runs != nil && d.runs[i/8]>>(i%8)&1 != 0 }

// has reports whether a document is there.
func (d *directory) has(doc uint32) bool {
	le := binary.LittleEndian
	data, low := d.data, uint16(doc)
	for i := range d.count {
		base, n := d.row(i)
		size := 2 * n
		switch {
		case d.isRuns(i):
			size = 2 + 4*int(le.Uint16(data))
		case n > mostInArray:
			size = 8 << 10
		}
		if base != doc&^0xffff {
			data = data[size:]
			continue
		}
		switch data = data[:size]; {
		case d.isRuns(i):
			runs := data[2:]
			k := sort.Search(len(runs)/4, func(k int) bool { return le.Uint16(runs[4*k:]) > low }) - 1
			return k >= 0 && low-le.Uint16(runs[4*k:]) <= le.Uint16(runs[4*k+2:])
		case n > mostInArray:
			return data[low/8]>>(low%8)&1 != 0
		default:
			k := sort.Search(n, func(k int) bool { return le.Uint16(data[2*k:]) >= low })
			return k < n && le.Uint16(data[2*k:]) == low
		}
	}
	return false
}

// eachRun visits the documents as runs of documents side by side: their first and
// last. It reports whether it could read them.
func (d *directory) eachRun(visit func(first, last uint32)) bool {
	le := binary.LittleEndian
	var first, end uint64 // of the run that may go on
	add := func(from, to uint64) {
		if from != end || first == end {
			if first < end {
				visit(uint32(first), uint32(end-1))
			}
			first = from
		}
		end = to
	}
	data := d.data
	for i := range d.count {
		base, n := d.row(i)
		high := uint64(base)
		switch {
		case d.isRuns(i):
			if len(data) < 2 || len(data) < 2+4*int(le.Uint16(data)) {
				return false
			}
			n, data = int(le.Uint16(data)), data[2:]
			for ; n > 0; n-- {
				from := high + uint64(le.Uint16(data))
				add(from, from+uint64(le.Uint16(data[2:]))+1)
				data = data[4:]
			}
		case n <= mostInArray:
			if len(data) < 2*n {
				return false
			}
			if from, to := uint64(le.Uint16(data)), uint64(le.Uint16(data[2*n-2:]))+1; to-from == uint64(n) {
				add(high+from, high+to)
			} else {
				for k := range n {
					doc := high + uint64(le.Uint16(data[2*k:]))
					add(doc, doc+1)
				}
			}
			data = data[2*n:]
		default:
			if len(data) < 8<<10 {
				return false
			}
			for k := range uint64(1 << 10) {
				for w := le.Uint64(data[8*k:]); w != 0; w &= w - 1 {
					doc := high + 64*k + uint64(bits.TrailingZeros64(w))
					add(doc, doc+1)
				}
			}
			data = data[8<<10:]
		}
	}
	if first < end {
		visit(uint32(first), uint32(end-1))
	}
	return true
}

// mark sets the bits of the documents, and reports whether all of them have one.
func (d *directory) mark(set []uint64) bool {
	le := binary.LittleEndian
	data := d.data
	for i := range d.count {
		first, n := d.row(i)
		if first/64 >= uint32(len(set)) {
			return false
		}
		words := set[first/64 : min(len(set), int(first/64)+1<<10)]
		switch {
		case d.isRuns(i):
			if len(data) < 2 || len(data) < 2+4*int(le.Uint16(data)) {
				return false
			}
			n := int(le.Uint16(data))
			for k := range n {
				from, more := uint32(le.Uint16(data[2+4*k:])), uint32(le.Uint16(data[4+4*k:]))
				if (from+more)/64 >= uint32(len(words)) {
					return false
				}
				for doc := from; doc <= from+more; doc++ {
					words[doc/64] |= 1 << (doc % 64)
				}
			}
			data = data[2+4*n:]
		case n <= mostInArray:
			if len(data) < 2*n {
				return false
			}
			for b := data[:2*n]; len(b) >= 2; b = b[2:] {
				doc := le.Uint16(b)
				if int(doc/64) >= len(words) {
					return false
				}
				words[doc/64] |= 1 << (doc % 64)
			}
			data = data[2*n:]
		default:
			if len(data) < 8<<10 {
				return false
			}
			for k := range 1 << 10 {
				if w := le.Uint64(data[8*k:]); k < len(words) {
					words[k] |= w
				} else if w != 0 {
					return false
				}
			}
			data = data[8<<10:]
		}
	}
	return true
}
