package segment

import (
	"encoding/binary"
	"runtime/debug"
	"sync"

	"pigrep/index/format"

	"github.com/RoaringBitmap/roaring/v2"
)

// Postings are read from the bytes of the engine's segment format (zap 17)
// rather than through its iterators: a posting costs a few nanoseconds instead
// of several interface calls, and every offset is checked.
//
// The dictionary of a field maps a term to a number, either
//
//	bit 63 set, bit 62 clear   one document with frequency 1: bits 0-30 the
//	                           document, bits 31-61 the length of its field
//	bits 63 and 62 clear       the offset of a list
//
// and a list is
//
//	uvarint  offset of the frequencies, 0 when there are none
//	uvarint  offset of positions, which we never write
//	uvarint  length of a roaring bitmap, and the bitmap: the documents
//
// and the frequencies are
//
//	uvarint  number of chunks
//	uvarint  end of each chunk, relative to the first
//	for each document, in order:
//	  uvarint  frequency << 1, the low bit for positions
//	  uvarint  length of the document's field, unless the frequency is 0
//
// Chunks only help to begin in the middle. Read from the start, they follow each
// other without a gap.
const (
	oneHitBit  = 1 << 63
	otherBit   = 1 << 62
	oneHitMask = 1<<31 - 1
)

// readUvarint reads a number at an offset and returns the offset after it.
func readUvarint(data []byte, at uint64) (v, end uint64, ok bool) {
	if at >= uint64(len(data)) {
		return 0, 0, false
	}
	v, n := binary.Uvarint(data[at:])
	if n <= 0 {
		return 0, 0, false
	}
	return v, at + uint64(n), true
}

// list is the postings of one term.
type list struct {
	doc, length uint32          // of the only document, when docs is nil
	docs        *roaring.Bitmap // refers to the mapped file: read only
	freqs       []byte          // the frequencies, nil when there are none
}

var errPostings = format.Damaged("postings")

// readList reads the list that the dictionary's value stands for.
func readList(data []byte, value uint64) (*list, error) {
	if value&oneHitBit != 0 {
		return &list{doc: uint32(value & oneHitMask), length: uint32(value >> 31 & oneHitMask)}, nil
	}
	freqs, bitmap, ok := listParts(data, value)
	if !ok {
		return nil, errPostings
	}
	l := &list{docs: roaring.New()}
	if _, err := l.docs.FromBuffer(bitmap); err != nil {
		return nil, format.Damaged("postings: %v", err)
	}
	if freqs == 0 {
		return l, nil
	}
	chunks, at, ok := readUvarint(data, freqs)
	if !ok || chunks > uint64(len(data)) {
		return nil, errPostings
	}
	var end uint64
	for range chunks {
		if end, at, ok = readUvarint(data, at); !ok {
			return nil, errPostings
		}
	}
	if end > uint64(len(data))-at {
		return nil, errPostings
	}
	l.freqs = data[at : at+end]
	return l, nil
}

// listParts returns the offset of the frequencies and the bitmap of a list.
func listParts(data []byte, at uint64) (freqs uint64, bitmap []byte, ok bool) {
	if at&otherBit != 0 {
		return 0, nil, false
	}
	freqs, at, ok = readUvarint(data, at)
	if ok {
		_, at, ok = readUvarint(data, at)
	}
	var size uint64
	if ok {
		size, at, ok = readUvarint(data, at)
	}
	if !ok || size > uint64(len(data))-at {
		return 0, nil, false
	}
	return freqs, data[at : at+size], true
}

// countList returns the number of documents in a list. It reads the directory
// of the bitmap's containers only.
func countList(data []byte, value uint64) (count int, ok bool) {
	if value&oneHitBit != 0 {
		return 1, true
	}
	_, b, ok := listParts(data, value)
	if !ok {
		return 0, false
	}
	d, ok := readDirectory(b)
	for i := range d.count {
		_, n := d.row(i)
		count += n
	}
	return count, ok
}

// eachRun visits the documents of a list, deleted ones included, as runs of documents
// side by side: their first and last.
func eachRun(data []byte, value uint64, visit func(first, last uint32)) error {
	if value&oneHitBit != 0 {
		visit(uint32(value&oneHitMask), uint32(value&oneHitMask))
		return nil
	}
	_, b, ok := listParts(data, value)
	if !ok {
		return errPostings
	}
	d, ok := readDirectory(b)
	if !ok || !d.eachRun(visit) {
		return errPostings
	}
	return nil
}

// listAt returns the postings at a place, deleted documents included; nil when
// there are none.
func (s *Segment) listAt(p Place) (*list, error) {
	if p == 0 {
		return nil, nil
	}
	return readList(s.data, uint64(p))
}

// list is listAt for a term.
func (s *Segment) list(f Field, term []byte) (*list, error) {
	p, err := s.place(f, term)
	if err != nil {
		return nil, err
	}
	return s.listAt(p)
}

// Postings returns the live documents that have the term.
func (s *Segment) Postings(f Field, term []byte) (p *Postings, err error) {
	defer format.Contain("look up a term", &err)()
	l, err := s.list(f, term)
	if err != nil {
		return nil, err
	}
	return newPostings(l, s), nil
}

// PostingsAt is Postings for a term whose place is known.
func (s *Segment) PostingsAt(at Place) (p *Postings, err error) {
	defer format.Contain("read postings", &err)()
	l, err := s.listAt(at)
	if err != nil {
		return nil, err
	}
	return newPostings(l, s), nil
}

// CountAt returns the number of live documents that have the term at a place.
func (s *Segment) CountAt(at Place) (n int, err error) {
	defer format.Contain("count documents", &err)()
	if at != 0 && s.deleted == nil && at&oneHitBit == 0 {
		n, ok := countList(s.data, uint64(at))
		if !ok {
			return 0, errPostings
		}
		return n, nil
	}
	l, err := s.listAt(at)
	if err != nil {
		return 0, err
	}
	return newPostings(l, s).Count(), nil
}

// Bitmap returns the live documents that have the keyword. The bitmap is the
// caller's.
func (s *Segment) Bitmap(f Field, term []byte) (*roaring.Bitmap, error) {
	at, err := s.Place(f, term)
	if err != nil {
		return nil, err
	}
	return s.BitmapAt(at)
}

// BitmapAt is Bitmap for a term whose place is known.
func (s *Segment) BitmapAt(at Place) (b *roaring.Bitmap, err error) {
	defer format.Contain("look up a keyword", &err)()
	l, err := s.listAt(at)
	if err != nil {
		return nil, err
	}
	switch {
	case l == nil:
		b = roaring.New()
	case l.docs == nil:
		b = roaring.BitmapOf(l.doc)
	default:
		b = l.docs.Clone()
		b.CloneCopyOnWriteContainers()
	}
	if err := s.live(b); err != nil {
		return nil, err
	}
	return b, nil
}

// KeywordsOf visits the keywords that the documents have in a field: i is the place
// of the document among docs. Deleted documents may have some too. The term is valid
// during the visit only.
func (s *Segment) KeywordsOf(f Field, docs []uint32, visit func(i int, term []byte)) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "look up keywords", &err)()
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return err
	}
	it, err := fst.Iterator(nil, nil)
	for err == nil {
		term, value := it.Current()
		var d directory
		if value&oneHitBit == 0 {
			_, b, ok := listParts(s.data, value)
			if ok {
				d, ok = readDirectory(b)
			}
			if !ok {
				return errPostings
			}
		}
		for i, doc := range docs {
			if value&oneHitBit != 0 && doc == uint32(value&oneHitMask) || d.has(doc) {
				visiting = true
				visit(i, term)
				visiting = false
			}
		}
		err = it.Next()
	}
	return iteratorError(f, err)
}

// Mark sets the bits of the live documents that have the term at a place. The set has
// a bit for each document, in words of 64, and none is set of what is not live.
func (s *Segment) Mark(at Place, set []uint64) (err error) {
	defer format.Contain("read postings", &err)()
	if at == 0 {
		return nil
	}
	dead := s.dead()
	if at&oneHitBit != 0 {
		doc := uint32(at & oneHitMask)
		if int(doc) >= s.length {
			return format.Damaged("document number %d", doc)
		}
		if dead == nil || dead[doc/64]>>(doc%64)&1 == 0 {
			set[doc/64] |= 1 << (doc % 64)
		}
		return nil
	}
	_, b, ok := listParts(s.data, uint64(at))
	if !ok {
		return errPostings
	}
	d, ok := readDirectory(b)
	// Whoever uses the numbers as indices must be able to rely on them.
	if !ok || !d.mark(set) || s.length%64 != 0 && set[len(set)-1]>>(s.length%64) != 0 {
		return errPostings
	}
	for i, w := range dead {
		set[i] &^= w
	}
	return nil
}

// Postings are the live documents that have a term, in ascending order. They are
// used by one goroutine.
type Postings struct {
	next, have int // in block
	block      *postingsBlock
	list       *list
	docs       roaring.ManyIntIterable // nil at the end
	freqs      []byte                  // of the documents that are not in block yet
	segment    *Segment
	dead       []uint64  // of the segment
	least      uint32    // that the next document can be
	single     bool      // the only document of a list was returned
	only       [3]uint32 // the memory of a block of one
	err        error
}

// postingsBlock holds the postings that are decoded in one go.
type postingsBlock struct {
	docs, freqs, lengths [256]uint32
}

var postingsBlocks = sync.Pool{New: func() any { return new(postingsBlock) }}

func newPostings(l *list, s *Segment) *Postings {
	p := &Postings{list: l, segment: s, dead: s.dead()}
	if l != nil && l.docs != nil {
		p.docs = l.docs.ManyIterator()
		p.freqs = l.freqs
	}
	return p
}

// Count returns the number of postings.
func (p *Postings) Count() int {
	switch l := p.list; {
	case l == nil:
		return 0
	case l.docs == nil:
		if int(l.doc) >= p.segment.length || p.dead != nil && p.dead[l.doc/64]>>(l.doc%64)&1 != 0 {
			return 0
		}
		return 1
	case p.dead != nil:
		return int(l.docs.GetCardinality() - l.docs.AndCardinality(p.segment.deleted))
	default:
		return int(l.docs.GetCardinality())
	}
}

// Next returns the next document, how often it has the term, and how many tokens
// the field has in it; frequency and length are 0 in keyword fields. It returns
// false at the end, and after an error, which Err returns then.
func (p *Postings) Next() (doc, freq, length uint32, ok bool) {
	if p.next >= p.have && !p.fill() {
		return 0, 0, 0, false
	}
	i := p.next
	p.next++
	if p.block == nil {
		return p.list.doc, 1, p.list.length, true
	}
	return p.block.docs[i&255], p.block.freqs[i&255], p.block.lengths[i&255], true
}

// NextBlock is Next for some documents at once: those that Next has not returned
// yet and that are at hand. It returns none at the end. The slices are valid
// until the next call.
func (p *Postings) NextBlock() (docs, freqs, lengths []uint32) {
	if p.next >= p.have && !p.fill() {
		return nil, nil, nil
	}
	from, to := p.next, p.have
	p.next = to
	if p.block == nil {
		p.only = [3]uint32{p.list.doc, 1, p.list.length}
		return p.only[:1], p.only[1:2], p.only[2:]
	}
	return p.block.docs[from:to], p.block.freqs[from:to], p.block.lengths[from:to]
}

// Err returns why the postings ended too early, nil when they did not.
func (p *Postings) Err() error { return p.err }

// contain is what contain does, without memory for each block.
func (p *Postings) contain(before bool) {
	debug.SetPanicOnFault(before)
	if r := recover(); r != nil {
		p.err = format.Damaged("read postings: %v", r)
	}
}

// fill decodes the next block and reports whether there is any.
func (p *Postings) fill() bool {
	p.next = 0
	if p.docs == nil {
		// A single document is returned without a block.
		p.have = 0
		if l := p.list; l != nil && l.docs == nil && !p.single {
			p.single = true
			p.have = p.Count()
		}
		return p.have > 0
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
	defer p.contain(debug.SetPanicOnFault(true))
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
	} else if !p.decodeFreqs(n) {
		p.err = errPostings
		return 0
	}
	p.docs = docs
	// Whoever uses the numbers as indices must be able to rely on them, and on their order.
	length, least := uint32(p.segment.length), p.least
	for _, doc := range b.docs[:n] {
		if doc < least || doc >= length {
			p.err, p.docs = format.Damaged("document number %d", doc), nil
			return 0
		}
		least = doc + 1
	}
	p.least = least
	if p.dead == nil {
		return n
	}
	for i, doc := range b.docs[:n] {
		if p.dead[doc/64]>>(doc%64)&1 != 0 {
			continue
		}
		b.docs[live], b.freqs[live], b.lengths[live] = doc, b.freqs[i], b.lengths[i]
		live++
	}
	return live
}

// decodeFreqs decodes the frequencies and lengths of the n documents of the
// block, and reports whether they are all there.
func (p *Postings) decodeFreqs(n int) bool {
	b, data, at := p.block, p.freqs, 0
	for i := range n {
		// Most take two to four bytes.
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
		freq, k := binary.Uvarint(data[at:])
		if k <= 0 {
			return false
		}
		at += k
		var length uint64
		if freq >>= 1; freq != 0 {
			if length, k = binary.Uvarint(data[at:]); k <= 0 {
				return false
			}
			at += k
		}
		b.freqs[i&255], b.lengths[i&255] = uint32(freq), uint32(length)
	}
	p.freqs = data[at:]
	return true
}
