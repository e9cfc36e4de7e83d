package segment

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	engine "github.com/blevesearch/bleve_index_api"
	"github.com/golang/snappy"

	"pigrep/index/format"
)

// The doc values of a field are its terms by document. From the start to the end
// that the header of the field names:
//
//	chunks of valueChunk document numbers each
//	varint   end of each chunk, relative to the start
//	8 bytes  length of these ends
//	8 bytes  number of chunks
//
// and a chunk, which is empty when no document in it has a value:
//
//	varint   number of documents that have a value, then for each:
//	         varint document, varint end of its values in the data
//	data, compressed with snappy: values, each followed by valueEnd
//
// The engine's own reader fails on a merged segment in which the field has no value
// left, and looks up each document by itself.
const (
	valueChunk = 1024
	valueEnd   = engine.DocValueTermSeparator

	// maxChunk bounds the uncompressed values of a chunk.
	maxChunk = valueChunk * 4 * (MaxKeyword + 1)
)

// docValues writes the doc values of a field. appendValues appends those of a document to
// b, each followed by valueEnd; it is called for each document in turn.
func (w *writer) docValues(appendValues func(b []byte, doc int) []byte) {
	base := len(w.out)
	w.chunks = w.chunks[:0]
	for first := 0; first < w.docs; first += valueChunk {
		w.value, w.chunk = w.value[:0], w.chunk[:0] // values and where they end
		with := 0
		for doc := first; doc < min(first+valueChunk, w.docs); doc++ {
			before := len(w.value)
			if w.value = appendValues(w.value, doc); len(w.value) == before {
				continue
			}
			with++
			w.chunk = binary.AppendUvarint(w.chunk, uint64(doc))
			w.chunk = binary.AppendUvarint(w.chunk, uint64(len(w.value)))
		}
		if with > 0 {
			w.compress = snappy.Encode(w.compress[:cap(w.compress)], w.value)
			w.varint(uint64(with))
			w.out = append(w.out, w.chunk...)
			w.out = append(w.out, w.compress...)
		}
		w.chunks = append(w.chunks, len(w.out)-base)
	}
	ends := len(w.out)
	for _, end := range w.chunks {
		w.varint(uint64(end))
	}
	w.fixed(uint64(len(w.out) - ends))
	w.fixed(uint64(len(w.chunks)))
}

// appendValues appends the terms of a document in byte order, each followed by valueEnd.
func (f *inverted) appendValues(b []byte, doc int) []byte {
	from := uint32(0)
	if doc > 0 {
		from = f.ends[doc-1]
	}
	postings := f.postings[from:f.ends[doc]]
	if len(postings) > 1 {
		postings = slices.SortedFunc(slices.Values(postings), func(x, y posting) int {
			return bytes.Compare(f.term(x.term), f.term(y.term))
		})
	}
	for _, p := range postings {
		b = append(append(b, f.term(p.term)...), valueEnd)
	}
	return b
}

// uncompressedChunks has the memory of docValues: an answer visits values of each segment many times.
var uncompressedChunks = sync.Pool{New: func() any { return new([]byte) }}

// docValues visits the doc values of documents, whose numbers ascend. A value is
// valid during the visit only.
func (s *Segment) docValues(f Field, docs []uint32, visit func(doc uint32, value []byte)) {
	at, ok := s.fields[f]
	if !ok || at.values == noValues {
		return
	}
	numbers := s.bytes(at.valuesEnd-16, 16)
	endsLen, chunks := binary.BigEndian.Uint64(numbers), binary.BigEndian.Uint64(numbers[8:])
	size := at.valuesEnd - at.values - 16 - endsLen // of the chunks
	if at.values+16 > at.valuesEnd || endsLen > at.valuesEnd-at.values-16 {
		panic(format.Damaged("values of %s", f))
	}
	ends := s.bytes(at.values+size, endsLen)
	memory := uncompressedChunks.Get().(*[]byte)
	defer uncompressedChunks.Put(memory)
	var start uint64
	for chunk := uint64(0); chunk < chunks && len(docs) > 0; chunk++ {
		end, n := readUvarint(ends, 0)
		if end < start || end > size {
			panic(format.Damaged("values of %s", f))
		}
		ends = ends[n:]
		k := 0 // documents in this chunk
		for k < len(docs) && uint64(docs[k])/valueChunk == chunk {
			k++
		}
		if k > 0 && end > start {
			*memory = valuesOfChunk(s.bytes(at.values+start, end-start), *memory, docs[:k], visit)
		}
		docs, start = docs[k:], end
	}
}

// valuesOfChunk visits the values of documents in one chunk. It returns the memory
// that it uncompressed into, for the next chunk.
func valuesOfChunk(b, scratch []byte, docs []uint32, visit func(doc uint32, value []byte)) []byte {
	bad := format.Damaged("values of a document")
	count, at := readUvarint(b, 0)
	if count > uint64(len(b))/2 {
		panic(bad)
	}
	table := b[at:]
	for left := 2 * count; left > 0; at++ { // numbers before the data
		if b[at] < 0x80 {
			left--
		}
	}
	if n, err := snappy.DecodedLen(b[at:]); err != nil || n > maxChunk {
		panic(bad)
	}
	data, err := snappy.Decode(scratch[:cap(scratch)], b[at:])
	if err != nil {
		panic(bad)
	}
	var start uint64
	for range count {
		doc, n := readUvarint(table, 0)
		end, n := readUvarint(table, n)
		if end < start || end > uint64(len(data)) {
			panic(bad)
		}
		table = table[n:]
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
	return data
}
