package segment

import (
	"encoding/binary"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
)

// PostingsOffset is the value of a term in a dictionary: the address of its postings
// in the segment, or, when one document has the term once, that posting itself. 0
// is not postings at all. Bit 63 tells the two apart; bit 62 is always clear.
//
//	bit 63 set     bits 0-30 the document, bits 31-61 the length of its field
//	bit 63 clear   an address, where there are:
//
//	varint   address of the frequencies, 0 for none
//	varint   address of positions, always 0
//	varint   length of a roaring bitmap, and the bitmap: the documents
//
// The frequencies, which we write before that, are cut into chunks of as many
// document numbers as chunkSize says:
//
//	varint   number of chunks
//	varint   end of each chunk, relative to the start of the first
//	for each document, in order:
//	         varint   frequency << 1, the low bit for positions
//	         varint   length of the field in the document, unless the frequency is 0
//
// Keyword fields have the frequency 0 only. Chunks help to begin in the middle; read
// from the start, they follow each other without a gap.
//
// A roaring bitmap is cut into containers where the upper 16 bits of the numbers
// change. It is little endian:
//
//	4 bytes  12346
//	4 bytes  number of containers
//	for each container: 2 bytes upper bits, 2 bytes number of documents - 1
//	for each container: 4 bytes where it starts in the bitmap
//	for each container: 2 bytes lower bits of each document, or above 4,096 of them
//	         8,192 bytes, a bit for each possible document
//
// If the documents are side by side, as those of a session are, the bitmap has a run in
// place of a list of them, so that the files of all documents can be read from a few pages:
//
//	2 bytes  12347
//	2 bytes  number of containers - 1
//	         a bit for each container, set when it is of runs
//	for each container: 2 bytes upper bits, 2 bytes number of documents - 1
//	for each of four containers or more: 4 bytes where it starts in the bitmap
//	for each container of runs: 2 bytes number of runs, and for each of them
//	         2 bytes lower bits of the first document, 2 bytes number of documents - 1
//
// Containers of less than four documents are as above. Bitmaps that the engine wrote may
// mix containers of all kinds.
type PostingsOffset uint64

const (
	oneHitBit   = 1 << 63
	reservedBit = 1 << 62
	oneHitMask  = 1<<31 - 1

	chunkPostings = 1024 // of frequencies

	roaringCookie     = 12346
	roaringRunsCookie = 12347
	maxArray          = 4096 // documents of a container before it is a bitmap
	minRun            = 8    // documents side by side before they are written as runs
)

func oneHit(doc, length uint32) PostingsOffset {
	return oneHitBit | PostingsOffset(length&oneHitMask)<<31 | PostingsOffset(doc)
}

func (at PostingsOffset) isOneHit() bool   { return at&oneHitBit != 0 }
func (at PostingsOffset) document() uint32 { return uint32(at & oneHitMask) }
func (at PostingsOffset) length() uint32   { return uint32(at >> 31 & oneHitMask) }

// chunkSize returns how many document numbers a chunk of frequencies spans, for a
// term in so many of all documents.
func chunkSize(docs, all int) int { return all / (docs/chunkPostings + 1) }

// postings writes the postings of a term. lengths is nil for a field without
// frequencies.
func (w *writer) postings(hits []hit, lengths []uint32) PostingsOffset {
	if len(hits) == 1 && lengths != nil && hits[0].freq == 1 {
		return oneHit(hits[0].doc, lengths[hits[0].doc])
	}
	frequencies := w.at()
	size := chunkSize(len(hits), w.docs)
	w.chunk, w.chunks = w.chunk[:0], w.chunks[:0]
	limit := uint32(size) // of the document numbers in the chunk
	for _, h := range hits {
		for h.doc >= limit {
			w.chunks = append(w.chunks, len(w.chunk))
			limit += uint32(size)
		}
		if lengths == nil {
			w.chunk = append(w.chunk, 0)
			continue
		}
		w.chunk = binary.AppendUvarint(w.chunk, uint64(h.freq)<<1)
		w.chunk = binary.AppendUvarint(w.chunk, uint64(lengths[h.doc]))
	}
	for all := (w.docs-1)/size + 1; len(w.chunks) < all; {
		w.chunks = append(w.chunks, len(w.chunk))
	}
	w.varint(uint64(len(w.chunks)))
	for _, end := range w.chunks {
		w.varint(uint64(end))
	}
	w.out = append(w.out, w.chunk...)

	address := w.at()
	w.varint(frequencies)
	w.varint(0)
	w.bitmap(hits)
	return PostingsOffset(address)
}

// bitmap writes the length and the bytes of the bitmap of the documents. With roaring for
// lists of few documents too, a first index costs 4 % more CPU.
func (w *writer) bitmap(hits []hit) {
	first, last := hits[0].doc, hits[len(hits)-1].doc
	sideBySide := len(hits) >= minRun && int(last-first) == len(hits)-1
	if sideBySide || len(hits) > maxArray {
		w.largeBitmap(hits, sideBySide)
		return
	}
	w.chunks = w.chunks[:0] // where the hits of each container begin
	key := uint32(1 << 16)
	for i, h := range hits {
		if h.doc>>16 != key {
			key = h.doc >> 16
			w.chunks = append(w.chunks, i)
		}
	}
	n := len(w.chunks)
	w.chunks = append(w.chunks, len(hits))
	le, start := binary.LittleEndian, 8+8*n
	w.varint(uint64(start + 2*len(hits)))
	w.out = le.AppendUint32(w.out, roaringCookie)
	w.out = le.AppendUint32(w.out, uint32(n))
	for i, at := range w.chunks[:n] {
		w.out = le.AppendUint16(w.out, uint16(hits[at].doc>>16))
		w.out = le.AppendUint16(w.out, uint16(w.chunks[i+1]-at-1))
	}
	for _, at := range w.chunks[:n] {
		w.out = le.AppendUint32(w.out, uint32(start+2*at))
	}
	for _, h := range hits {
		w.out = le.AppendUint16(w.out, uint16(h.doc))
	}
}

func (w *writer) largeBitmap(hits []hit, runs bool) {
	docs := make([]uint32, len(hits))
	for i, h := range hits {
		docs[i] = h.doc
	}
	bitmap := roaring.BitmapOf(docs...)
	if runs {
		bitmap.RunOptimize()
	}
	b, _ := bitmap.ToBytes() // it fails only if writing does
	w.varint(uint64(len(b)))
	w.out = append(w.out, b...)
}

// Reading: postings are decoded from the mapped bytes rather than with the engine's
// iterators. A posting then costs a few nanoseconds instead of several interface calls,
// and every offset and every byte is checked.

var errPostings = format.Damaged("postings")

// place is the address and the size of some bytes.
type place struct{ at, size uint64 }

func (b *body) listParts(at PostingsOffset) (freqs uint64, bitmap place) {
	if at&reservedBit != 0 || uint64(at) >= uint64(len(b.data)) {
		panic(errPostings)
	}
	b.check(uint64(at), min(uint64(at)+3*binary.MaxVarintLen64, uint64(len(b.data))))
	freqs, next := readUvarint(b.data, uint64(at))
	_, next = readUvarint(b.data, next)
	if bitmap.size, bitmap.at = readUvarint(b.data, next); bitmap.size > uint64(len(b.data))-bitmap.at {
		panic(errPostings)
	}
	return freqs, bitmap
}

// readBitmap makes docs a bitmap in the mapped file, which must not be changed.
func (b *body) readBitmap(p place, docs *roaring.Bitmap) {
	if _, err := docs.FromBuffer(b.bytes(p.at, p.size)); err != nil {
		panic(format.Damaged("postings: %v", err))
	}
}

// readDocuments reads the documents of the postings at an offset, deleted ones
// included, into a bitmap, whose memory it reuses. The bitmap then refers to the mapped
// file and must not be changed.
func (b *body) readDocuments(at PostingsOffset, docs *roaring.Bitmap) {
	if at.isOneHit() {
		docs.Clear()
		docs.Add(at.document())
		return
	}
	_, bitmap := b.listParts(at)
	b.readBitmap(bitmap, docs)
}

// countPostings returns the number of documents in the postings at an offset,
// deleted ones included. It adds up what the head of the bitmap says: making a
// bitmap of each term costs 9 % more CPU in a search for c* in 1 GB of sessions.
func (b *body) countPostings(at PostingsOffset) (count int) {
	if at.isOneHit() {
		return 1
	}
	_, bitmap := b.listParts(at)
	start, end := bitmap.at, bitmap.at+bitmap.size
	b.check(start, min(start+16, end)) // the whole head, if there is one container
	le := binary.LittleEndian
	containers, head := le.Uint32(b.data[start+4:end]), 8
	switch cookie := le.Uint32(b.data[start:]); {
	case cookie == roaringCookie:
	case cookie&0xffff == roaringRunsCookie:
		containers = cookie>>16 + 1
		head = 4 + int(containers+7)/8
	default:
		panic(errPostings)
	}
	if containers > 1<<16 || uint64(head)+4*uint64(containers) > bitmap.size {
		panic(errPostings)
	}
	from := start + uint64(head)
	for counts := b.bytes(from, 4*uint64(containers)); len(counts) > 0; counts = counts[4:] {
		count += int(le.Uint16(counts[2:])) + 1
	}
	return count
}

// Postings returns the live documents that have the term.
func (s *Segment) Postings(f Field, term []byte) Postings {
	defer s.contain(format.Guard(), "look up a term")
	return s.postingsAt(s.lookUp(f, term))
}

// PostingsAt returns the live documents that have the term with these postings.
func (s *Segment) PostingsAt(at PostingsOffset) Postings {
	defer s.contain(format.Guard(), "read postings")
	return s.postingsAt(at)
}

func (s *Segment) postingsAt(at PostingsOffset) Postings {
	p := Postings{segment: s, deleted: s.deletedBits()}
	switch {
	case at == 0:
	case !at.isOneHit():
		p.read(at, roaring.New(), new(roaring.ManyIntIterator))
	case s.isLive(at.document()):
		p.only, p.have = [3]uint32{at.document(), 1, at.length()}, 1 // without a block
	}
	return p
}

func (s *Segment) isLive(doc uint32) bool {
	return int(doc) < s.length && (s.deleted == nil || !s.deleted.Contains(doc))
}

// CountAt returns the number of live documents that have the term with these
// postings.
func (s *Segment) CountAt(at PostingsOffset) int {
	defer s.contain(format.Guard(), "count documents")
	switch {
	case at == 0, at.isOneHit() && !s.isLive(at.document()):
		return 0
	case at.isOneHit(), s.deleted == nil:
		return s.countPostings(at)
	}
	var docs roaring.Bitmap
	s.readDocuments(at, &docs)
	return int(docs.GetCardinality() - docs.AndCardinality(s.deleted))
}

// Postings are the live documents that have a term, in ascending order. They are
// used by one goroutine.
type Postings struct {
	next, have int // in block
	block      *postingsBlock
	docs       roaring.ManyIntIterable // nil at the end
	freqs      []byte                  // of the documents after those in block; not checked yet; nil when there are none
	freqsAt    uint64                  // their address
	segment    *Segment
	deleted    []uint64  // of the segment
	least      uint32    // that the next document can be
	only       [3]uint32 // the document of a list of one, its frequency and length
}

// postingsBlock holds the postings that are decoded in one go.
type postingsBlock struct {
	docs, freqs, lengths [256]uint32
}

var postingsBlocks = sync.Pool{New: func() any { return new(postingsBlock) }}

// read begins with the postings at an address, deleted documents included. It uses the memory
// of a bitmap, which then refers to the mapped file and must not be changed, and of an
// iterator. The frequencies are checked only when they are decoded, because most callers just
// filter.
func (p *Postings) read(at PostingsOffset, bitmap *roaring.Bitmap, docs *roaring.ManyIntIterator) {
	b := &p.segment.body
	freqs, place := b.listParts(at)
	b.readBitmap(place, bitmap)
	docs.Initialize(bitmap)
	p.docs = docs
	if freqs == 0 {
		return
	}
	chunks, next := b.uvarint(freqs)
	var end uint64
	for ; chunks > 0; chunks-- {
		end, next = b.uvarint(next)
	}
	if end > uint64(len(b.data))-next {
		panic(errPostings)
	}
	p.freqs, p.freqsAt = b.data[next:next+end], next
}

// Next returns the next document, how often it has the term, and how many tokens
// the field has in it; frequency and length are 0 in keyword fields. It returns
// false at the end, and where the segment has a Fault.
func (p *Postings) Next() (doc, freq, length uint32, ok bool) {
	if p.next >= p.have && !p.fill() {
		return 0, 0, 0, false
	}
	i := p.next
	p.next++
	if p.block == nil {
		return p.only[0], p.only[1], p.only[2], true
	}
	return p.block.docs[i&255], p.block.freqs[i&255], p.block.lengths[i&255], true
}

// NextBlock returns the next documents, up to 256, as Next does one by one. It
// returns none at the end. The slices are valid until the next call.
func (p *Postings) NextBlock() (docs, freqs, lengths []uint32) {
	if p.next >= p.have && !p.fill() {
		return nil, nil, nil
	}
	from, to := p.next, p.have
	p.next = to
	if p.block == nil {
		return p.only[:1], p.only[1:2], p.only[2:]
	}
	return p.block.docs[from:to], p.block.freqs[from:to], p.block.lengths[from:to]
}

// fill decodes the next block and reports whether there is any.
func (p *Postings) fill() bool {
	p.next, p.have = 0, 0
	if p.docs == nil {
		return false
	}
	if p.block == nil {
		p.block = postingsBlocks.Get().(*postingsBlock)
	}
	for p.docs != nil {
		if p.have = p.decode(); p.have > 0 {
			return true
		}
	}
	postingsBlocks.Put(p.block)
	p.block = nil
	return false
}

// decode decodes a block and returns how many of it are live.
func (p *Postings) decode() (live int) {
	defer p.segment.contain(format.Guard(), "read postings")
	docs := p.docs
	p.docs = nil // unless all goes well
	b := p.block
	n := docs.NextMany(b.docs[:])
	if n == 0 {
		return 0
	}
	if p.freqs == nil {
		clear(b.freqs[:n])
		clear(b.lengths[:n])
	} else {
		p.decodeFreqs(n)
	}
	p.docs = docs
	// Callers use the numbers as indices and rely on their order.
	length, least := uint32(p.segment.length), p.least
	for _, doc := range b.docs[:n] {
		if doc < least || doc >= length {
			p.docs = nil
			panic(format.Damaged("document number %d", doc))
		}
		least = doc + 1
	}
	p.least = least
	if p.deleted == nil {
		return n
	}
	for i, doc := range b.docs[:n] {
		if p.deleted[doc/64]>>(doc%64)&1 != 0 {
			continue
		}
		b.docs[live], b.freqs[live], b.lengths[live] = doc, b.freqs[i], b.lengths[i]
		live++
	}
	return live
}

// decodeFreqs decodes the frequencies and lengths of the n documents of the
// block. Their bytes are checked last, because
// decoding them tells how many there are. Without the short cut for numbers of one to
// three bytes a posting takes 8.7 ns instead of 5.7 (BenchmarkPostings).
func (p *Postings) decodeFreqs(n int) {
	b, data, at := p.block, p.freqs, 0
	for i := range n {
		// Most take two to four bytes together.
		if at+4 <= len(data) {
			w := binary.LittleEndian.Uint32(data[at:])
			if w&0x80 == 0 && w&0x7e != 0 {
				b.freqs[i&255] = w >> 1 & 0x3f
				switch {
				case w&0x8000 == 0:
					b.lengths[i&255] = w >> 8 & 0x7f
					at += 2
					continue
				case w&0x80_0000 == 0:
					b.lengths[i&255] = w>>8&0x7f | w>>9&0x3f80
					at += 3
					continue
				case w&0x8000_0000 == 0:
					b.lengths[i&255] = w>>8&0x7f | w>>9&0x3f80 | w>>10&0x1f_c000
					at += 4
					continue
				}
			}
		}
		freq, next := readUvarint(data, uint64(at))
		var length uint64
		if freq >>= 1; freq != 0 {
			length, next = readUvarint(data, next)
		}
		at = int(next)
		b.freqs[i&255], b.lengths[i&255] = uint32(freq), uint32(length)
	}
	p.segment.body.check(p.freqsAt, p.freqsAt+uint64(at))
	p.freqs, p.freqsAt = data[at:], p.freqsAt+uint64(at)
}
