package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"pigrep/index/format"

	"github.com/golang/snappy"
)

// Document values are read from the bytes of the segment too: the engine's own
// reader fails on a merged segment in which the field has no value left, and
// looks up each document by itself.
//
// The directory of a segment's fields, at the offset that its footer names:
//
//	uvarint  number of fields
//	8 bytes  offset of each field, big endian
//
// and a field:
//
//	uvarint  length of the name, and the name
//	uvarint  options
//	uvarint  number of sections, then for each:
//	         2 bytes its type, 8 bytes its offset, big endian; 0: there is none
//
// and the section of type 0, the inverted index:
//
//	uvarint  start of the document values, all bits set: there are none
//	uvarint  end of them
//	uvarint  offset of the dictionary
//
// and the document values, from start to end:
//
//	chunks of valueChunk documents each
//	uvarint  end of each chunk, relative to start
//	8 bytes  length of these ends, big endian
//	8 bytes  number of chunks, big endian
//
// and a chunk:
//
//	uvarint  number of documents that have a value, then for each:
//	         uvarint document, uvarint end of its values in the data
//	snappy   the data: values, each followed by valueEnd
const valueEnd = 0xff

var decodedChunks = sync.Pool{New: func() any { return new([]byte) }}

// values visits the values of the given documents, which ascend. A value is valid
// during the visit only.
func (s *Segment) values(f Field, docs []uint32, visit func(doc uint32, value []byte)) error {
	at, ok := s.fields[f]
	if !ok || at.values == noValues {
		return nil
	}
	bad := fmt.Errorf("%w: values of %s", format.ErrDamaged, f)
	data := s.data
	if at.valuesEnd > uint64(len(data)) || at.values > at.valuesEnd || at.valuesEnd-at.values < 16 {
		return bad
	}
	data = data[at.values:at.valuesEnd]
	endsLen := binary.BigEndian.Uint64(data[len(data)-16:])
	chunks := binary.BigEndian.Uint64(data[len(data)-8:])
	data = data[:len(data)-16]
	if endsLen > uint64(len(data)) || chunks > endsLen {
		return bad
	}
	ends := data[uint64(len(data))-endsLen:]
	data = data[:uint64(len(data))-endsLen]

	memory := decodedChunks.Get().(*[]byte)
	defer decodedChunks.Put(memory)
	var start uint64
	for chunk := range chunks {
		end, n := binary.Uvarint(ends)
		if n <= 0 || end < start || end > uint64(len(data)) {
			return bad
		}
		ends = ends[n:]
		k := 0 // documents in this chunk
		for k < len(docs) && uint64(docs[k])/valueChunk == chunk {
			k++
		}
		if k > 0 && end > start {
			if *memory, ok = valuesOfChunk(data[start:end], *memory, docs[:k], visit); !ok {
				return bad
			}
		}
		docs = docs[k:]
		if len(docs) == 0 {
			return nil
		}
		start = end
	}
	return nil
}

// valuesOfChunk visits the values of documents in one chunk. It returns the
// memory that it decoded into, for the next one.
func valuesOfChunk(b, scratch []byte, docs []uint32, visit func(doc uint32, value []byte)) ([]byte, bool) {
	count, at, ok := readUvarint(b, 0)
	if !ok || count > uint64(len(b))/2 {
		return scratch, false
	}
	table := b[at:]
	left := 2 * count // numbers until the data, behind the table
	for ; left > 8 && at+8 <= uint64(len(b)); at += 8 {
		left -= uint64(bits.OnesCount64(^binary.LittleEndian.Uint64(b[at:]) & 0x8080_8080_8080_8080)) // last bytes of numbers
	}
	for ; left > 0; at++ {
		if at == uint64(len(b)) {
			return scratch, false
		}
		if b[at] < 0x80 {
			left--
		}
	}
	if n, err := snappy.DecodedLen(b[at:]); err != nil || n > maxChunk {
		return scratch, false
	}
	data, err := snappy.Decode(scratch[:cap(scratch)], b[at:])
	if err != nil {
		return scratch, false
	}
	var start uint64
	for range count {
		doc, end, n := twoUvarints(table)
		if n <= 0 {
			return data, false
		}
		table = table[n:]
		if end < start || end > uint64(len(data)) {
			return data, false
		}
		for len(docs) > 0 && uint64(docs[0]) < doc {
			docs = docs[1:]
		}
		if len(docs) == 0 {
			break
		}
		if uint64(docs[0]) == doc {
			from := start
			for i := start; i < end; i++ {
				if data[i] == valueEnd {
					visit(docs[0], data[from:i])
					from = i + 1
				}
			}
		}
		start = end
	}
	return data, true
}

// twoUvarints reads two numbers that follow each other, and how many bytes they
// take; 0 when they are not there.
func twoUvarints(b []byte) (first, second uint64, size int) {
	if len(b) >= 8 { // most take up to three bytes each
		w := binary.LittleEndian.Uint64(b)
		last := ^w & 0x8080_8080_8080_8080 // the last bytes of numbers
		n := bits.TrailingZeros64(last) + 1
		m := bits.TrailingZeros64(last&(last-1)) + 1 - n
		if n <= 24 && m <= 24 && last != 0 {
			return shortUvarint(w & (1<<n - 1)), shortUvarint(w >> n & (1<<m - 1)), (n + m) / 8
		}
	}
	first, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, 0
	}
	second, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return 0, 0, 0
	}
	return first, second, n + m
}

// shortUvarint is a number from its three bytes.
func shortUvarint(w uint64) uint64 { return w&0x7f | w>>1&0x3f80 | w>>2&0x1f_c000 }

// maxChunk bounds the decoded values of a chunk.
const maxChunk = valueChunk * 4 * (MaxKeyword + 1)
