package segment

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
)

// Sets of documents of a segment: those of a term as a bitmap or as bits, and which
// of all documents are live.

// Live returns the number of documents and stored values that are not deleted.
func (s *Segment) Live() int {
	if s.deleted == nil {
		return s.length
	}
	return s.length - int(s.deleted.GetCardinality())
}

// Hidden returns the numbers of all that is not a live document: deleted documents and
// stored values. The bitmap is the caller's.
func (s *Segment) Hidden() *roaring.Bitmap {
	b := s.Bitmap(fieldRecord, []byte(recordTerm))
	if s.deleted != nil {
		b.Or(s.deleted)
	}
	return b
}

// Bitmap returns the live documents that have the keyword. The bitmap is the
// caller's.
func (s *Segment) Bitmap(f Field, term []byte) (b *roaring.Bitmap) {
	defer s.contain(format.Guard(), "look up a keyword")
	b = roaring.New()
	if at := s.lookUp(f, term); at != 0 {
		docs := roaring.New()
		s.readDocuments(at, docs)
		docs.CloneCopyOnWriteContainers() // they are in mapped memory
		s.keepLive(docs)
		return docs
	}
	return b
}

// Mark sets the bits of the live documents that have the term with these postings,
// and clears those of deleted documents. The set has a bit for each document, in
// words of 64.
func (s *Segment) Mark(at PostingsOffset, set []uint64) {
	defer s.contain(format.Guard(), "read postings")
	if at == 0 {
		return
	}
	m := markers.Get().(*marker)
	defer markers.Put(m)
	s.readDocuments(at, &m.docs)
	if m.docs.IsEmpty() {
		return
	}
	if last := m.docs.Maximum(); int(last) >= s.length {
		panic(format.Damaged("document number %d", last))
	}
	m.mark(set)
	if s.length%64 != 0 && set[len(set)-1]>>(s.length%64) != 0 { // documents do not ascend
		clear(set)
		panic(errPostings)
	}
	for i, w := range s.deletedBits() {
		set[i] &^= w
	}
}

// marker is the memory of Mark.
type marker struct {
	docs  roaring.Bitmap
	dense []uint64
}

var markers = sync.Pool{New: func() any { return new(marker) }}

func (m *marker) mark(set []uint64) {
	if 8*m.docs.GetCardinality() < uint64(len(set)) {
		m.docs.Iterate(func(doc uint32) bool {
			set[doc/64] |= 1 << (doc % 64)
			return true
		})
		return
	}
	m.dense = slices.Grow(m.dense[:0], len(set))[:len(set)]
	clear(m.dense)
	m.docs.WriteDenseTo(m.dense) // not into set: it overwrites what is there
	for i, w := range m.dense {
		set[i] |= w
	}
}

// KeywordsOf visits the keywords that the documents have in a field, in the order
// of the terms: i is the index of the document in docs. Deleted documents may have
// some too. The term is valid during the visit only.
func (s *Segment) KeywordsOf(f Field, docs []uint32, visit func(i int, term []byte)) {
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "look up keywords")
	var having roaring.Bitmap
	s.eachTerm(f, nil, nil, func(term []byte, at PostingsOffset) bool {
		s.readDocuments(at, &having)
		for i, doc := range docs {
			if having.Contains(doc) {
				calling.do(func() { visit(i, term) })
			}
		}
		return true
	})
}

// keepLive removes deleted documents from a bitmap. Callers use the numbers as
// indices, so it fails on those out of range.
func (s *Segment) keepLive(b *roaring.Bitmap) {
	if s.deleted != nil {
		b.AndNot(s.deleted)
	}
	// Those before the last 65,536 are in range by the form of a bitmap.
	it := b.Iterator()
	for it.AdvanceIfNeeded(uint32(s.length) &^ 0xffff); it.HasNext(); {
		if doc := it.Next(); int(doc) >= s.length {
			panic(format.Damaged("document number %d", doc))
		}
	}
}

// deletedBits returns a bit for each document, in words of 64, set when it is
// deleted; nil when none is.
func (s *Segment) deletedBits() []uint64 {
	s.deletedOnce.Do(func() {
		if s.deleted == nil {
			return
		}
		s.deletedSet = make([]uint64, (s.length+63)/64)
		clear(s.deletedSet) // memory that is read before it is written costs two page faults
		s.deleted.Iterate(func(doc uint32) bool {
			if int(doc) < s.length {
				s.deletedSet[doc/64] |= 1 << (doc % 64)
			}
			return true
		})
	})
	return s.deletedSet
}

// Duplicates are the documents of a segment whose entries may have a duplicate in
// the index: an entry with the same hash elsewhere.
type Duplicates struct {
	Bits   []uint64 // by document, in words of 64; nil when nothing is known
	Hashes []uint64 // of the marked documents, in order
	Parts  []uint32 // their parts: ID.Part
	Files  []uint32 // their files, ascending, each once
}

// NewDuplicates returns empty Duplicates for a segment with this number of documents. It
// has room for marked ones.
func NewDuplicates(documents, marked int) Duplicates {
	return Duplicates{Bits: make([]uint64, (documents+63)/64), Hashes: make([]uint64, marked), Parts: make([]uint32, marked)}
}

func (d *Duplicates) Mark(doc uint32, hash uint64, id ID) {
	if d.has(doc) {
		return
	}
	before := bits.OnesCount64(d.Bits[doc/64] & (1<<(doc%64) - 1))
	for _, w := range d.Bits[:doc/64] {
		before += bits.OnesCount64(w)
	}
	d.Bits[doc/64] |= 1 << (doc % 64)
	d.Hashes = slices.Insert(d.Hashes, before, hash)
	d.Parts = slices.Insert(d.Parts, before, uint32(id.Part))
	if i, ok := slices.BinarySearch(d.Files, id.File); !ok {
		d.Files = slices.Insert(d.Files, i, id.File)
	}
}

func (d *Duplicates) has(doc uint32) bool { return d.Bits[doc/64]>>(doc%64)&1 != 0 }

// PossibleDuplicates returns a bit for each document, in words of 64, set when its
// entry may have a duplicate in the index; nil when nothing is known. The slice is
// the segment's own and must not be changed.
func (s *Segment) PossibleDuplicates() []uint64 { return s.knownDuplicates().Bits }

func (s *Segment) knownDuplicates() Duplicates {
	if s.duplicates == nil {
		return Duplicates{}
	}
	return s.duplicates()
}

// FilesWithDuplicates returns the files with documents that may have a duplicate in the
// index. known is false if the duplicates are not known.
func (s *Segment) FilesWithDuplicates() (files []uint32, known bool) {
	d := s.knownDuplicates()
	return d.Files, d.Bits != nil || s.duplicates != nil && s.length == 0
}

// KnownDuplicates visits documents, whose numbers ascend, with the hash of their entry and
// their part, if all of them are among the possible duplicates that are known, and reports
// whether they are. It reads nothing of the segment.
func (s *Segment) KnownDuplicates(docs []uint32, visit func(doc uint32, hash uint64, part int)) bool {
	d := s.knownDuplicates()
	if d.Bits == nil || slices.ContainsFunc(docs, func(doc uint32) bool { return !d.has(doc) }) {
		return false
	}
	word, before := uint32(0), 0
	for _, doc := range docs {
		for ; word < doc/64; word++ {
			before += bits.OnesCount64(d.Bits[word])
		}
		at := before + bits.OnesCount64(d.Bits[word]&(1<<(doc%64)-1))
		visit(doc, d.Hashes[at], int(d.Parts[at]))
	}
	return true
}

// EntryHashes visits those of the documents, whose numbers ascend, that have a hash
// of their entry.
func (s *Segment) EntryHashes(docs []uint32, visit func(doc uint32, hash uint64)) {
	if s.KnownDuplicates(docs, func(doc uint32, hash uint64, _ int) { visit(doc, hash) }) {
		return
	}
	var calling visiting
	defer s.containUnless(format.Guard(), &calling, "read which entries are copies")
	s.docValues(FieldEntryHash, docs, func(doc uint32, value []byte) {
		hash, ok := parseEntryHash(value)
		if !ok {
			panic(format.Damaged("values of %s", FieldEntryHash))
		}
		calling.do(func() { visit(doc, hash) })
	})
}

// FileRuns has the files of the documents of a segment. The documents of one file are
// usually adjacent. A run ends where the next one begins. The last run has no documents,
// or stored values only.
type FileRuns []FileRun

// FileRun is a run of adjacent documents of one file. File is NoFile for stored values.
type FileRun struct{ First, File uint32 }

// End returns the document after a run, for the last one the highest number.
func (r FileRuns) End(i int) uint32 {
	if i+1 < len(r) {
		return r[i+1].First
	}
	return math.MaxUint32
}

// File returns the file number of a document, NoFile for a stored value.
func (r FileRuns) File(doc uint32) uint32 {
	i := sort.Search(len(r), func(i int) bool { return r[i].First > doc })
	if i == 0 {
		return NoFile
	}
	return r[i-1].File
}

// Files returns the files of all documents. The slice is the segment's own and must
// not be changed.
func (s *Segment) Files() FileRuns { return s.files() }

func (s *Segment) readFiles() (runs FileRuns) {
	defer func() {
		if s.Fault() != nil {
			runs = FileRuns{{0, NoFile}}
		}
	}()
	defer s.contain(format.Guard(), "read the files of documents")
	type piece struct{ first, last, file uint32 }
	var pieces []piece
	var docs roaring.Bitmap
	s.eachTerm(FieldFile, nil, nil, func(term []byte, at PostingsOffset) bool {
		number, err := strconv.ParseUint(string(term), 16, 32)
		if err != nil {
			panic(format.Damaged("file number %q", term))
		}
		s.readDocuments(at, &docs)
		eachRun(&docs, func(first, last uint32) { pieces = append(pieces, piece{first, last, uint32(number)}) })
		return true
	})
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	runs = make(FileRuns, 0, 2*len(pieces)+1)
	next := uint32(0) // the document after the last piece
	for _, p := range pieces {
		if p.first < next || int(p.last) >= s.length {
			panic(format.Damaged("documents of file %d", p.file))
		}
		if p.first > next {
			runs = append(runs, FileRun{next, NoFile})
		}
		runs = append(runs, FileRun{p.first, p.file})
		next = p.last + 1
	}
	return append(runs, FileRun{next, NoFile})
}

// eachRun visits the documents as runs of documents side by side: their first and
// last.
func eachRun(docs *roaring.Bitmap, visit func(first, last uint32)) {
	if docs.IsEmpty() {
		return
	}
	first, last := docs.Minimum(), docs.Maximum()
	if uint64(last)-uint64(first)+1 == docs.GetCardinality() {
		visit(first, last)
		return
	}
	from, end := uint64(first), uint64(first) // of the run so far
	docs.Iterate(func(doc uint32) bool {
		if uint64(doc) != end {
			visit(uint32(from), uint32(end-1))
			from = uint64(doc)
		}
		end = uint64(doc) + 1
		return true
	})
	visit(uint32(from), uint32(end-1))
}
