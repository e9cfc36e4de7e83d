package index

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"slices"

	"pigrep/index/format"
	"pigrep/index/segment"

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

func encodeCopies(marks []fileMark, lengths []int, sets []segment.Duplicates) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16)
	copy(b, copiesMagic)
	b = le.AppendUint32(b, uint32(len(marks)))
	for i, m := range marks {
		b = le.AppendUint64(b, uint64(m.Size))
		b = le.AppendUint64(b, m.Hash)
		b = le.AppendUint32(b, uint32(lengths[i]))
		b = le.AppendUint32(b, uint32(len(sets[i].Hashes)))
	}
	for _, set := range sets {
		for _, list := range [][]uint64{set.Bits, set.Hashes} {
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
func decodeCopies(b []byte, marks []fileMark) []segment.Duplicates {
	le := binary.LittleEndian
	if len(b) < copiesHead || string(b[:8]) != copiesMagic || le.Uint64(b[8:]) != xxhash.Sum64(b[16:]) ||
		le.Uint32(b[16:]) != uint32(len(marks)) || len(b)-copiesHead < copiesEach*len(marks) {
		return nil
	}
	each, words := b[copiesHead:], b[copiesHead+copiesEach*len(marks):]
	sets := make([]segment.Duplicates, len(marks))
	for i, m := range marks {
		documents, marked := int(le.Uint32(each[16:])), int(le.Uint32(each[20:]))
		if le.Uint64(each) != uint64(m.Size) || le.Uint64(each[8:]) != m.Hash || len(words)/8 < (documents+63)/64+marked {
			return nil
		}
		each = each[copiesEach:]
		set, ones := segment.NewDuplicates(documents, marked), 0
		for k := range set.Bits {
			set.Bits[k] = le.Uint64(words[8*k:])
			ones += bits.OnesCount64(set.Bits[k])
		}
		if ones != marked {
			return nil
		}
		words = words[8*len(set.Bits):]
		for k := range set.Hashes {
			set.Hashes[k] = le.Uint64(words[8*k:])
		}
		words = words[8*marked:]
		sets[i] = set
	}
	return sets
}

// copies reads which documents of the generation may be copies, by segment; nil
// when that is not known.
func (g *generation) copies() []segment.Duplicates {
	b, err := os.ReadFile(filepath.Join(g.path, copiesName))
	if err != nil {
		return nil
	}
	return decodeCopies(b, g.segmentMarks())
}

// addCopies puts the file copies into the directory of a new generation with these
// segments.
func addCopies(dir string, segments []*segment.Segment, before *generation) (err error) {
	defer format.Contain("look for copies", &err)()
	c := copyFinder{segments: segments, sets: make([]segment.Duplicates, len(segments))}
	marks, lengths := make([]fileMark, len(segments)), make([]int, len(segments))
	for i, s := range segments {
		marks[i], lengths[i] = markOf(s), s.Len()
		c.documents += s.Len()
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
	segments  []*segment.Segment
	documents int                  // of all
	sets      []segment.Duplicates // by segment, without bits for those that were not in the generation before
}

// inherit takes over what the generation before knew of the segments that stay,
// when it is cheaper to look up what is new in them than to read all.
func (c *copyFinder) inherit(marks []fileMark, before *generation) {
	old, sets := before.segmentMarks(), before.copies()
	if sets == nil {
		return
	}
	inherited := make([]segment.Duplicates, len(marks))
	added, stay := 0, 0
	for i, m := range marks {
		if k := slices.Index(old, m); k >= 0 && len(sets[k].Bits) == (c.segments[i].Len()+63)/64 {
			inherited[i] = sets[k]
			stay++
		} else {
			added += c.segments[i].Len()
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
		if c.sets[i].Bits != nil {
			continue
		}
		var err error
		hashes[i], err = copyHashes(s)
		s.Trim()
		if err != nil {
			return err
		}
		added += len(hashes[i])
	}
	t := newHashTable(added)
	for i, s := range c.segments {
		for doc, h := range hashes[i] {
			if h != 0 && !sameEntry(s, hashes[i], doc) {
				t.add(h)
			}
		}
		s.Trim()
	}
	known := make(map[uint64]bool) // those that segments that stay have
	for i, s := range c.segments {
		if c.sets[i].Bits == nil {
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
	found := make([]segment.Duplicates, len(c.sets))
	for i := range c.segments {
		if c.sets[i].Bits != nil {
			continue
		}
		found[i] = segment.NewDuplicates(len(hashes[i]), 0)
		for doc, h := range hashes[i] {
			if h != 0 && (known[h] || t.twice(h)) {
				found[i].Mark(uint32(doc), h)
			}
		}
	}
	for i := range found {
		if c.sets[i].Bits == nil {
			c.sets[i] = found[i]
		}
	}
	return nil
}

// mark sets the bits of the documents with a hash in segment i, which stays, and adds
// the hash to known when there are any.
func (c *copyFinder) mark(i int, hash uint64, known map[uint64]bool) error {
	s := c.segments[i]
	p, err := s.Postings(segment.FieldCopy, []byte(segment.CopyTerm(hash)))
	if err != nil {
		return err
	}
	for {
		doc, _, _, ok := p.Next()
		if !ok {
			return p.Err()
		}
		known[hash] = true
		c.sets[i].Mark(doc, hash)
	}
}

// copyHashes returns the hash of each document's entry, 0 for none.
func copyHashes(s *segment.Segment) ([]uint64, error) {
	docs, hashes := make([]uint32, s.Len()), make([]uint64, s.Len())
	for i := range docs {
		docs[i] = uint32(i)
	}
	return hashes, s.Copies(docs, func(doc uint32, hash uint64) { hashes[doc] = hash })
}

// sameEntry reports whether a document is of the entry of the one before it. Those
// of an entry lie side by side.
func sameEntry(s *segment.Segment, hashes []uint64, doc int) bool {
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
