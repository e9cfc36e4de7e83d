package index

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/index/segment"
	"pigrep/internal/files"
)

// The file copies of a generation says which documents may have a duplicate: those
// whose entry has a hash (FieldEntryHash) that another entry has too. It has a bit for
// each document, and the hashes and parts of the documents that are marked. Most entries have no
// duplicate, so that a search rarely has to read the hashes in the segments: without
// the file, a search for a frequent word in 1 GB of sessions takes 45 ms of CPU
// instead of 28.
//
// Deleted entries may count, so a marked entry may have no duplicate left. An entry that
// is not marked has none. The file is written when the generation is published, based on
// the file of the previous generation if little was added since. It is derived: if it
// is missing or damaged, every entry may have duplicates. All numbers are little endian:
//
//	8 bytes   "pgcopie4"
//	8 bytes   xxhash of everything after it
//	4 bytes   number of segments, then for each, in the order of the manifest:
//	          8 bytes size and 8 bytes hash of its Fingerprint, 4 bytes number of
//	          documents, 4 bytes number of marked documents, 4 bytes number of their files
//	          for each segment: the bits in words of 64, then of each marked document the
//	          hash in 8 bytes, then of each the part in 4, then each file number in 4
const (
	duplicatesMagic = "pgcopie4"
	duplicatesHead  = 20
)

// duplicatesRow says what the file has of a segment.
type duplicatesRow struct {
	Size, Hash               uint64
	Documents, Marked, Files uint32
}

func encodeDuplicates(segments []*segment.Segment, list []segment.Duplicates) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16)
	copy(b, duplicatesMagic)
	put := func(values ...any) {
		for _, v := range values {
			b, _ = binary.Append(b, le, v) // which takes all these types
		}
	}
	put(uint32(len(segments)))
	for i, s := range segments {
		f := s.Fingerprint()
		put(duplicatesRow{uint64(f.Size), f.Hash, uint32(s.Len()), uint32(len(list[i].Hashes)), uint32(len(list[i].Files))})
	}
	for _, d := range list {
		put(d.Bits, d.Hashes, d.Parts, d.Files)
	}
	le.PutUint64(b[8:], xxhash.Sum64(b[16:]))
	return b
}

// duplicates reads the possible duplicates of each segment, in the order of the
// manifest, or nil if they are not known.
func (g *generation) duplicates() []segment.Duplicates {
	b, err := files.ReadFile(filepath.Join(g.path, duplicatesName))
	if err != nil {
		return nil
	}
	return decodeDuplicates(b, g.segments())
}

// decodeDuplicates returns nil when the bytes are not those of these segments.
func decodeDuplicates(b []byte, segments []listedFile) []segment.Duplicates {
	le := binary.LittleEndian
	if len(b) < duplicatesHead || string(b[:8]) != duplicatesMagic || le.Uint64(b[8:]) != xxhash.Sum64(b[16:]) ||
		le.Uint32(b[16:]) != uint32(len(segments)) {
		return nil
	}
	b = b[duplicatesHead:]
	take := func(values ...any) bool {
		for _, v := range values {
			n, err := binary.Decode(b, le, v)
			if err != nil {
				return false
			}
			b = b[n:]
		}
		return true
	}
	rows := make([]duplicatesRow, len(segments))
	if !take(rows) {
		return nil
	}
	list := make([]segment.Duplicates, len(segments))
	for i, f := range segments {
		row := rows[i]
		size := (int(row.Documents)+63)/64*8 + int(row.Marked)*12 + int(row.Files)*4
		if row.Size != uint64(f.Size) || row.Hash != f.Hash || size > len(b) {
			return nil
		}
		d := segment.NewDuplicates(int(row.Documents), int(row.Marked))
		d.Files = make([]uint32, row.Files)
		take(d.Bits, d.Hashes, d.Parts, d.Files)
		ones := 0
		for _, word := range d.Bits {
			ones += bits.OnesCount64(word)
		}
		if ones != int(row.Marked) {
			return nil
		}
		list[i] = d
	}
	return list
}

// duplicateFinder finds the possible duplicates among the documents of segments.
type duplicateFinder struct {
	segments []*segment.Segment
	found    []segment.Duplicates // by segment; without Bits where the segment is new
}

// lookUpCost is the time to look up a hash in a segment, divided by the time to read one.
const lookUpCost = 16

// inherit copies the duplicates of segments that the previous generation also has, if
// looking up the hashes of new segments in them costs less than reading all hashes.
func (f *duplicateFinder) inherit(g, before *generation) {
	listed, known := before.segments(), before.duplicates()
	if known == nil {
		return
	}
	inherited := make([]segment.Duplicates, len(f.segments))
	added, stay, documents := 0, 0, 0
	for i, l := range g.segments() {
		n := f.segments[i].Len()
		documents += n
		if k := slices.Index(listed, l); k >= 0 && len(known[k].Bits) == (n+63)/64 {
			inherited[i] = known[k]
			stay++
		} else {
			added += n
		}
	}
	if added*stay*lookUpCost <= documents {
		f.found = inherited
	}
}

func (f *duplicateFinder) isNew(i int) bool { return f.found[i].Bits == nil }

func (f *duplicateFinder) find() error {
	hashes, all, err := f.readNew()
	if err != nil {
		return err
	}
	slices.Sort(all)
	repeated := make(map[uint64]bool)
	for k := 1; k < len(all); k++ {
		if all[k] == all[k-1] {
			repeated[all[k]] = true
		}
	}
	all = slices.Compact(all)
	for i, s := range f.segments {
		if f.isNew(i) {
			continue
		}
		for _, h := range all {
			if err := f.markOld(i, h, repeated); err != nil {
				return err
			}
		}
		s.Trim()
	}
	for i := range f.segments {
		if f.isNew(i) {
			if err := f.markNew(i, hashes[i], repeated); err != nil {
				return err
			}
		}
	}
	return nil
}

// readNew returns the hashes of the documents of each new segment, 0 where there is none,
// and those of the entries of all these segments.
func (f *duplicateFinder) readNew() (hashes [][]uint64, entries []uint64, err error) {
	hashes = make([][]uint64, len(f.segments))
	for i, s := range f.segments {
		if !f.isNew(i) {
			continue
		}
		if hashes[i], err = entryHashes(s); err != nil {
			return nil, nil, err
		}
		for doc, h := range hashes[i] {
			if h == 0 {
				continue
			}
			if same, err := sameEntry(s, hashes[i], doc); err != nil {
				return nil, nil, err
			} else if !same {
				entries = append(entries, h)
			}
		}
		s.Trim()
	}
	return hashes, entries, nil
}

// markNew marks the documents of a new segment that have a repeated hash.
func (f *duplicateFinder) markNew(i int, hashes []uint64, repeated map[uint64]bool) error {
	d := segment.NewDuplicates(len(hashes), 0)
	for doc, h := range hashes {
		if !repeated[h] {
			continue
		}
		id, err := f.segments[i].ID(uint32(doc))
		if err != nil {
			return err
		}
		d.Bits[doc/64] |= 1 << (doc % 64)
		d.Hashes, d.Parts, d.Files = append(d.Hashes, h), append(d.Parts, uint32(id.Part)), append(d.Files, id.File)
	}
	slices.Sort(d.Files)
	d.Files = slices.Compact(d.Files)
	f.found[i] = d
	return nil
}

// markOld marks the documents of an old segment that have the hash of a new entry,
// and adds the hash to repeated if there are any.
func (f *duplicateFinder) markOld(i int, hash uint64, repeated map[uint64]bool) error {
	p, err := f.segments[i].Postings(segment.FieldEntryHash, []byte(segment.EntryHashTerm(hash)))
	if err != nil {
		return err
	}
	for {
		doc, _, _, ok := p.Next()
		if !ok {
			return p.Err()
		}
		repeated[hash] = true
		id, err := f.segments[i].ID(doc)
		if err != nil {
			return err
		}
		f.found[i].Mark(doc, hash, id)
	}
}

// entryHashes returns the hash of each document's entry, 0 for none.
func entryHashes(s *segment.Segment) ([]uint64, error) {
	docs, hashes := make([]uint32, s.Len()), make([]uint64, s.Len())
	for i := range docs {
		docs[i] = uint32(i)
	}
	return hashes, s.EntryHashes(docs, func(doc uint32, hash uint64) { hashes[doc] = hash })
}

// sameEntry reports whether a document belongs to the same entry as the one before it.
// The documents of an entry are adjacent.
func sameEntry(s *segment.Segment, hashes []uint64, doc int) (bool, error) {
	if doc == 0 || hashes[doc-1] != hashes[doc] {
		return false, nil
	}
	a, err1 := s.ID(uint32(doc - 1))
	b, err2 := s.ID(uint32(doc))
	return a.File == b.File && a.Offset == b.Offset, errors.Join(err1, err2)
}
