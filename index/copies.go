package index

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
	"pigrep/index/segment"
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
// the file of the previous generation if little was added since. If nothing more is to be
// marked, it is that file: a link to it. So it may have segments that are gone. It is
// derived: if it is missing or damaged, every entry may have duplicates. All numbers are
// little endian:
//
//	8 bytes   "pgcopie4"
//	8 bytes   xxhash of everything after it
//	4 bytes   number of segments with marked documents, then for each:
//	          8 bytes size and 8 bytes hash of its Fingerprint, 4 bytes number of
//	          documents, 4 bytes number of marked documents, 4 bytes number of their files
//	          for each of them: the bits in words of 64, then of each marked document the
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
	var rows []duplicatesRow
	size := duplicatesHead
	for i, d := range list {
		if len(d.Hashes) == 0 {
			continue
		}
		f := segments[i].Fingerprint()
		rows = append(rows, duplicatesRow{uint64(f.Size), f.Hash, uint32(segments[i].Len()), uint32(len(d.Hashes)), uint32(len(d.Files))})
		size += binary.Size(rows[0]) + 8*len(d.Bits) + 12*len(d.Hashes) + 4*len(d.Files)
	}
	b := make([]byte, 16, size)
	copy(b, duplicatesMagic)
	put := func(values ...any) {
		for _, v := range values {
			b, _ = binary.Append(b, le, v) // which takes all these types
		}
	}
	put(uint32(len(rows)), rows)
	for _, d := range list {
		if len(d.Hashes) > 0 {
			put(d.Bits, d.Hashes, d.Parts, d.Files)
		}
	}
	le.PutUint64(b[8:], xxhash.Sum64(b[16:]))
	return b
}

// duplicates reads the possible duplicates of segments of the generation, or nil if they are
// not known.
func (g *generation) duplicates(segments []*segment.Segment) (list []segment.Duplicates) {
	b, unmap, err := segment.Map(filepath.Join(g.path, duplicatesName))
	defer func() {
		if err = errors.Join(err, unmap()); err != nil {
			list = nil
		}
	}()
	defer format.Contain(format.Guard(), "read which entries are copies", &err)
	if err != nil || len(b) < duplicatesHead || string(b[:8]) != duplicatesMagic || binary.LittleEndian.Uint64(b[8:]) != xxhash.Sum64(b[16:]) {
		return nil
	}
	return decodeDuplicates(b, segments)
}

// decodeDuplicates returns the possible duplicates of segments from the bytes of a file, nil
// if that has another number of documents of one.
func decodeDuplicates(b []byte, segments []*segment.Segment) []segment.Duplicates {
	le := binary.LittleEndian
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
	count := le.Uint32(b[duplicatesHead-4:])
	b = b[duplicatesHead:]
	if int64(count)*int64(binary.Size(duplicatesRow{})) > int64(len(b)) {
		return nil
	}
	rows := make([]duplicatesRow, count)
	take(rows)
	list := make([]segment.Duplicates, len(segments))
	for i, s := range segments {
		list[i] = segment.NewDuplicates(s.Len(), 0)
	}
	for _, row := range rows {
		size := (int(row.Documents)+63)/64*8 + int(row.Marked)*12 + int(row.Files)*4
		if size > len(b) {
			return nil
		}
		i := slices.IndexFunc(segments, func(s *segment.Segment) bool {
			return s.Fingerprint() == segment.Fingerprint{Size: int64(row.Size), Hash: row.Hash}
		})
		if i < 0 {
			b = b[size:]
			continue
		}
		d := segment.NewDuplicates(int(row.Documents), int(row.Marked))
		d.Files = make([]uint32, row.Files)
		take(d.Bits, d.Hashes, d.Parts, d.Files)
		ones := 0
		for _, word := range d.Bits {
			ones += bits.OnesCount64(word)
		}
		if ones != int(row.Marked) || int(row.Documents) != segments[i].Len() {
			return nil
		}
		list[i] = d
	}
	return list
}

// lookUpCost is the time to look up a hash in a segment, divided by the time to read one.
const lookUpCost = 16

// duplicatesBefore returns what the generation before knows of these segments of a generation,
// nothing for new ones. It returns nil if that is damaged, or if looking up the hashes of new
// segments in the others costs more than reading all hashes.
func (g *generation) duplicatesBefore(before *generation, segments []*segment.Segment) []segment.Duplicates {
	listed := before.segments()
	isNew := make([]bool, len(segments))
	added, stay, documents := 0, 0, 0
	for i, l := range g.segments() {
		n := segments[i].Len()
		documents += n
		if isNew[i] = !slices.Contains(listed, l); isNew[i] {
			added += n
		} else {
			stay++
		}
	}
	if added*stay*lookUpCost > documents {
		return nil
	}
	list := before.duplicates(segments)
	for i := range list {
		if isNew[i] {
			list[i] = segment.Duplicates{}
		}
	}
	return list
}

// markDuplicates marks the documents of new segments that have duplicates, and those
// duplicates. list has what is known of each segment, nothing for new ones. It reports whether
// it marked any.
func markDuplicates(segments []*segment.Segment, list []segment.Duplicates) (marked bool, err error) {
	hashes := make([][]uint64, len(segments)) // of the documents of new ones
	var all []uint64
	for i, s := range segments {
		if list[i].Bits == nil {
			hashes[i], all = readHashes(s, all)
		}
	}
	slices.Sort(all)
	repeated := make(map[uint64]bool)
	for k := 1; k < len(all); k++ {
		if all[k] == all[k-1] {
			repeated[all[k]] = true
		}
	}
	all = slices.Compact(all)
	for i, s := range segments {
		if hashes[i] != nil {
			continue
		}
		for _, h := range all {
			markOld(s, &list[i], h, repeated)
		}
		s.Trim()
	}
	for i, s := range segments {
		if hashes[i] != nil {
			list[i] = duplicatesOf(s, hashes[i], repeated)
		}
		if err := s.Fault(); err != nil {
			return false, err
		}
	}
	return len(repeated) > 0, nil
}

// readHashes returns the hashes of the documents of a segment, 0 where there is none, and
// appends those of its entries.
func readHashes(s *segment.Segment, entries []uint64) (hashes, _ []uint64) {
	defer s.Trim()
	docs := make([]uint32, s.Len())
	for i := range docs {
		docs[i] = uint32(i)
	}
	hashes = make([]uint64, s.Len())
	s.EntryHashes(docs, func(doc uint32, hash uint64) { hashes[doc] = hash })
	for doc, h := range hashes {
		if h != 0 && !sameEntry(s, hashes, doc) {
			entries = append(entries, h)
		}
	}
	return hashes, entries
}

// duplicatesOf returns the documents of a new segment that have a repeated hash.
func duplicatesOf(s *segment.Segment, hashes []uint64, repeated map[uint64]bool) segment.Duplicates {
	d := segment.NewDuplicates(len(hashes), 0)
	for doc, h := range hashes {
		if !repeated[h] {
			continue
		}
		id := s.ID(uint32(doc))
		d.Bits[doc/64] |= 1 << (doc % 64)
		d.Hashes, d.Parts, d.Files = append(d.Hashes, h), append(d.Parts, uint32(id.Part)), append(d.Files, id.File)
	}
	slices.Sort(d.Files)
	d.Files = slices.Compact(d.Files)
	return d
}

// markOld marks the documents of an old segment that have the hash of a new entry,
// and adds the hash to repeated if there are any.
func markOld(s *segment.Segment, d *segment.Duplicates, hash uint64, repeated map[uint64]bool) {
	p := s.Postings(segment.FieldEntryHash, []byte(segment.EntryHashTerm(hash)))
	for doc, _, _, ok := p.Next(); ok; doc, _, _, ok = p.Next() {
		repeated[hash] = true
		d.Mark(doc, hash, s.ID(doc))
	}
}

// sameEntry reports whether a document belongs to the same entry as the one before it.
// The documents of an entry are adjacent.
func sameEntry(s *segment.Segment, hashes []uint64, doc int) bool {
	if doc == 0 || hashes[doc-1] != hashes[doc] {
		return false
	}
	a, b := s.ID(uint32(doc-1)), s.ID(uint32(doc))
	return a.File == b.File && a.Offset == b.Offset
}
