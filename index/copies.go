package index

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"pigrep/index/format"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Most entries are copies of nothing, and which those are takes as long to read as
// a query for a frequent word may take altogether. The file copies of a generation
// says it, with a bit for each document that is set when some other entry has the
// hash of its own entry in FieldCopy, or may have: hashes are compared by some of
// their bits, and entries that were deleted count. Of those that are marked it has
// the hash as well.
//
// It is made when the generation is published, from that of the generation before
// when little was added since. It is derived: without it, or when it is not as it was
// written, every entry may be a copy. All numbers are little endian:
//
//	8 bytes   "pgcopie2"
//	8 bytes   xxhash of all that follows
//	4 bytes   number of segments, then for each, in the order of the manifest:
//	          8 bytes the size and 8 bytes the hash that the manifest has of it, 4 bytes
//	          the number of documents, 4 bytes how many of them are marked
//	8 each    the bits of the first segment in words of 64, then the hash of each
//	          document that is marked, then those of the next segment
const (
	copiesName  = "copies"
	copiesMagic = "pgcopie2"
	copiesHead  = 20
	copiesEach  = 24
)

// copyMarks are the documents of a segment that may be copies.
type copyMarks struct {
	bits   []uint64 // by document, in words of 64; nil when it is not known
	hashes []uint64 // of those that are marked, in order
}

func newCopyMarks(documents, marked int) copyMarks {
	return copyMarks{make([]uint64, (documents+63)/64), make([]uint64, marked)}
}

func (m *copyMarks) has(doc uint32) bool { return m.bits[doc/64]>>(doc%64)&1 != 0 }

// set marks a document.
func (m *copyMarks) set(doc uint32, hash uint64) {
	if m.has(doc) {
		return
	}
	before := bits.OnesCount64(m.bits[doc/64] & (1<<(doc%64) - 1))
	for _, w := range m.bits[:doc/64] {
		before += bits.OnesCount64(w)
	}
	m.bits[doc/64] |= 1 << (doc % 64)
	m.hashes = slices.Insert(m.hashes, before, hash)
}

// visit visits documents, in ascending order, when all of them are marked, and
// reports whether they are.
func (m *copyMarks) visit(docs []uint32, visit func(doc uint32, hash uint64)) bool {
	if m.bits == nil {
		return false
	}
	for _, doc := range docs {
		if !m.has(doc) {
			return false
		}
	}
	word, before := uint32(0), 0
	for _, doc := range docs {
		for ; word < doc/64; word++ {
			before += bits.OnesCount64(m.bits[word])
		}
		visit(doc, m.hashes[before+bits.OnesCount64(m.bits[word]&(1<<(doc%64)-1))])
	}
	return true
}

func encodeCopies(marks []fileMark, lengths []int, sets []copyMarks) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16)
	copy(b, copiesMagic)
	b = le.AppendUint32(b, uint32(len(marks)))
	for i, m := range marks {
		b = le.AppendUint64(b, uint64(m.size))
		b = le.AppendUint64(b, m.hash)
		b = le.AppendUint32(b, uint32(lengths[i]))
		b = le.AppendUint32(b, uint32(len(sets[i].hashes)))
	}
	for _, set := range sets {
		for _, list := range [][]uint64{set.bits, set.hashes} {
			for _, w := range list {
				b = le.AppendUint64(b, w)
			}
		}
	}
	le.PutUint64(b[8:], xxhash.Sum64(b[16:]))
	return b
}

// decodeCopies returns the marks of each segment, nil when the bytes are not those
// of these segments.
func decodeCopies(b []byte, marks []fileMark) []copyMarks {
	le := binary.LittleEndian
	if len(b) < copiesHead || string(b[:8]) != copiesMagic || le.Uint64(b[8:]) != xxhash.Sum64(b[16:]) ||
		le.Uint32(b[16:]) != uint32(len(marks)) || len(b)-copiesHead < copiesEach*len(marks) {
		return nil
	}
	each, words := b[copiesHead:], b[copiesHead+copiesEach*len(marks):]
	sets := make([]copyMarks, len(marks))
	for i, m := range marks {
		documents, marked := int(le.Uint32(each[16:])), int(le.Uint32(each[20:]))
		if le.Uint64(each) != uint64(m.size) || le.Uint64(each[8:]) != m.hash || len(words)/8 < (documents+63)/64+marked {
			return nil
		}
		each = each[copiesEach:]
		set, ones := newCopyMarks(documents, marked), 0
		for k := range set.bits {
			set.bits[k] = le.Uint64(words[8*k:])
			ones += bits.OnesCount64(set.bits[k])
		}
		if ones != marked {
			return nil
		}
		words = words[8*len(set.bits):]
		for k := range set.hashes {
			set.hashes[k] = le.Uint64(words[8*k:])
		}
		words = words[8*marked:]
		sets[i] = set
	}
	return sets
}

// copies reads which documents of the generation may be copies, by segment; nil
// when that is not known.
func (g *generation) copies() []copyMarks {
	b, err := os.ReadFile(filepath.Join(g.path, copiesName))
	if err != nil {
		return nil
	}
	return decodeCopies(b, g.segmentMarks())
}

// loadCopies gives the segments of the reader their bits.
func (r *Reader) loadCopies() {
	marks, sets := r.generation.segmentMarks(), r.generation.copies()
	if sets == nil {
		return
	}
	for _, s := range r.segments {
		if i := slices.Index(marks, s.mark); i >= 0 && len(sets[i].bits) == (s.length+63)/64 {
			s.copied = sets[i]
		}
	}
}

// MayBeCopy returns a bit for each document, in words of 64, that is not set when
// its entry has no copy in the index. It is nil when that is not known of any. The
// slice is the segment's own and must not be changed.
func (s *Segment) MayBeCopy() []uint64 {
	s.reader.copies.Do(s.reader.loadCopies)
	return s.copied.bits
}

// addCopies puts the file copies into the directory of a new generation with these
// segments.
func addCopies(dir string, segments []*Segment, before *generation) (err error) {
	defer format.Contain("look for copies", &err)()
	c := copyFinder{segments: segments, sets: make([]copyMarks, len(segments))}
	marks, lengths := make([]fileMark, len(segments)), make([]int, len(segments))
	for i, s := range segments {
		marks[i], lengths[i] = s.mark, s.length
		c.documents += s.length
	}
	if before != nil {
		c.inherit(marks, before)
	}
	if err := c.find(); err != nil {
		return err
	}
	f, err := create(filepath.Join(dir, copiesName), encodeCopies(marks, lengths, c.sets))
	if err != nil {
		return err
	}
	return f.Close() // what a crash leaves of it shows by its hash
}

// copyFinder finds which documents of some segments may be copies.
type copyFinder struct {
	segments  []*Segment
	documents int         // of all
	sets      []copyMarks // by segment, without bits for those that were not in the generation before
}

// inherit takes over what the generation before knew of the segments that stay,
// when it is cheaper to look up what is new in them than to read all.
func (c *copyFinder) inherit(marks []fileMark, before *generation) {
	old, sets := before.segmentMarks(), before.copies()
	if sets == nil {
		return
	}
	inherited := make([]copyMarks, len(marks))
	added, stay := 0, 0
	for i, m := range marks {
		if k := slices.Index(old, m); k >= 0 && len(sets[k].bits) == (c.segments[i].length+63)/64 {
			inherited[i] = sets[k]
			stay++
		} else {
			added += c.segments[i].length
		}
	}
	if added*stay*lookupCost <= c.documents {
		c.sets = inherited
	}
}

// lookupCost is how many times as long it takes to look a hash up as to read one.
const lookupCost = 16

// find sets the bits.
func (c *copyFinder) find() error {
	hashes := make([][]uint64, len(c.segments))
	added := 0
	for i, s := range c.segments {
		if c.sets[i].bits != nil {
			continue
		}
		var err error
		hashes[i], err = s.copyHashes()
		s.Trim()
		if err != nil {
			return err
		}
		added += len(hashes[i])
	}
	t := newHashTable(added)
	for i, s := range c.segments {
		for doc, h := range hashes[i] {
			if h != 0 && !s.sameEntry(hashes[i], doc) {
				t.add(h)
			}
		}
		s.Trim()
	}
	known := make(map[uint64]bool) // those that segments that stay have
	for i, s := range c.segments {
		if c.sets[i].bits == nil {
			continue
		}
		for _, list := range hashes {
			last := uint64(0)
			for _, h := range list {
				if h != 0 && h != last {
					if err := c.mark(i, h, known); err != nil {
						return err
					}
				}
				last = h
			}
		}
		s.Trim()
	}
	found := make([]copyMarks, len(c.sets))
	for i := range c.segments {
		if c.sets[i].bits != nil {
			continue
		}
		found[i] = newCopyMarks(len(hashes[i]), 0)
		for doc, h := range hashes[i] {
			if h != 0 && (known[h] || t.twice(h)) {
				found[i].set(uint32(doc), h)
			}
		}
	}
	for i := range found {
		if c.sets[i].bits == nil {
			c.sets[i] = found[i]
		}
	}
	return nil
}

// mark sets the bits of the documents with a hash in segment i, which stays, and adds
// the hash to known when there are any.
func (c *copyFinder) mark(i int, hash uint64, known map[uint64]bool) error {
	s := c.segments[i]
	l, err := s.list(FieldCopy, []byte(CopyTerm(hash)))
	if err != nil {
		return err
	}
	p := newPostings(l, s)
	for {
		doc, _, _, ok := p.Next()
		if !ok {
			return p.Err()
		}
		known[hash] = true
		c.sets[i].set(doc, hash)
	}
}

// copyHashes returns the hash of each document's entry, 0 for none.
func (s *Segment) copyHashes() ([]uint64, error) {
	docs, hashes := make([]uint32, s.length), make([]uint64, s.length)
	for i := range docs {
		docs[i] = uint32(i)
	}
	return hashes, s.Copies(docs, func(doc uint32, hash uint64) { hashes[doc] = hash })
}

// sameEntry reports whether a document is of the entry of the one before it. Those
// of an entry lie side by side.
func (s *Segment) sameEntry(hashes []uint64, doc int) bool {
	if doc == 0 || hashes[doc-1] != hashes[doc] {
		return false
	}
	a, ok1 := s.ID(uint32(doc - 1))
	b, ok2 := s.ID(uint32(doc))
	return ok1 && ok2 && a.File == b.File && a.Offset == b.Offset
}

// hashTable tells of which hashes there may be several, by some of their bits.
type hashTable struct {
	once, more []uint64
	shift      int
}

// newHashTable makes a table for n hashes, that takes one in thirty to be there
// twice that is not.
func newHashTable(n int) *hashTable {
	size := max(6, bits.Len(uint(32*n)))
	return &hashTable{make([]uint64, 1<<(size-6)), make([]uint64, 1<<(size-6)), 64 - size}
}

func (t *hashTable) place(h uint64) (int, uint64) {
	at := h * 0x9e3779b97f4a7c15 >> t.shift
	return int(at / 64), 1 << (at % 64)
}

func (t *hashTable) add(h uint64) {
	i, bit := t.place(h)
	t.more[i] |= t.once[i] & bit
	t.once[i] |= bit
}

func (t *hashTable) twice(h uint64) bool {
	i, bit := t.place(h)
	return t.more[i]&bit != 0
}
