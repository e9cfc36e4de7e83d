package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime/debug"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/golang/snappy"

	"pigrep/index/format"
	"pigrep/index/segment"
)

// Segment is one part of a generation. Its documents, and the session records
// among them, have the numbers 0 to Len-1; some are deleted and are found by
// nothing but their number. All methods may be called by several goroutines.
type Segment struct {
	zap      *zap.Segment
	data     []byte // the whole file, mapped
	length   int
	fields   map[Field]fieldAt
	deleted  *roaring.Bitmap // nil when there are none
	automata *automata

	mu    sync.Mutex
	dicts map[Field]*vellum.FST // those that were asked for

	deadOnce sync.Once
	deadBits []uint64

	path string   // of the file
	mark fileMark // what the manifest says of it

	reader *Reader   // whose segment it is; nil of a writer's
	copied copyMarks // of MayBeCopy

	filesOnce sync.Once
	files     FileRuns
	filesErr  error
}

// segmentOf returns a segment without knowledge of what is deleted.
func segmentOf(z *zap.Segment) (*Segment, error) {
	if z.NumDocs() > math.MaxInt32 || z.NumDocs() > uint64(len(z.Data())) {
		return nil, format.Damaged("segment with %d documents", z.NumDocs())
	}
	fields, err := readFields(z)
	if err != nil {
		return nil, err
	}
	return &Segment{zap: z, data: z.Data(), length: int(z.NumDocs()), fields: fields, dicts: make(map[Field]*vellum.FST), path: z.Path()}, nil
}

// again returns the same segment, to be closed once more, without knowledge of what
// is deleted.
func (s *Segment) again() *Segment {
	s.zap.AddRef()
	return &Segment{zap: s.zap, data: s.data, length: s.length, fields: s.fields, dicts: make(map[Field]*vellum.FST), path: s.path, mark: s.mark}
}

// openSegment opens a segment file. Closing its zap closes it.
func openSegment(path string) (*Segment, error) {
	z, err := segment.Open(path)
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return nil, fmt.Errorf("open %s: %w", path, err)
	case err != nil:
		return nil, format.Damaged("open %s: %v", path, err)
	}
	s, err := segmentOf(z)
	if err != nil {
		return nil, errors.Join(err, z.Close())
	}
	s.Trim()
	return s, nil
}

// Len returns the number of documents and records, deleted ones included.
func (s *Segment) Len() int { return s.length }

// Trim lets go of the memory that reading the segment has mapped so far. It may
// be called at any time, and is worth it when a phase of work ends.
func (s *Segment) Trim() { segment.Spare(s.data) }

// dict returns the dictionary of a field, nil when the segment has none.
func (s *Segment) dict(f Field) (fst *vellum.FST, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fst, ok := s.dicts[f]; ok {
		return fst, nil
	}
	field, ok := s.fields[f]
	if !ok {
		return nil, nil // no document here has the field
	}
	size, at, ok := readUvarint(s.data, field.dict)
	if !ok || size == 0 || size > uint64(len(s.data))-at {
		return nil, format.Damaged("dictionary of %s", f)
	}
	fst, err = vellum.Load(s.data[at : at+size])
	if err != nil {
		return nil, format.Damaged("dictionary of %s: %v", f, err)
	}
	s.dicts[f] = fst
	return fst, nil
}

// A Place says where the postings of a term are in a segment, so that they need not
// be looked up again. 0 is nowhere.
type Place uint64

// Place looks up a term.
func (s *Segment) Place(f Field, term []byte) (p Place, err error) {
	defer format.Contain("look up a term", &err)()
	return s.place(f, term)
}

func (s *Segment) place(f Field, term []byte) (Place, error) {
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return 0, err
	}
	value, ok, err := fst.Get(term)
	if err != nil {
		return 0, format.Damaged("look up a term of %s: %v", f, err)
	}
	if !ok {
		return 0, nil
	}
	return Place(value), nil
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

// live takes the deleted documents out of a bitmap. Whoever uses the numbers as
// indices must be able to rely on them, so it fails on those out of range.
func (s *Segment) live(b *roaring.Bitmap) error {
	if s.deleted != nil {
		b.AndNot(s.deleted)
	}
	// Those before the last 65,536 are in range by the form of a bitmap.
	it := b.Iterator()
	for it.AdvanceIfNeeded(uint32(s.length) &^ 0xffff); it.HasNext(); {
		if doc := it.Next(); int(doc) >= s.length {
			return format.Damaged("document number %d", doc)
		}
	}
	return nil
}

// dead returns a bit for each document number, set when it is deleted; nil when
// none is.
func (s *Segment) dead() []uint64 {
	s.deadOnce.Do(func() {
		if s.deleted == nil {
			return
		}
		s.deadBits = make([]uint64, (s.length+63)/64)
		clear(s.deadBits) // memory that is read before it is written costs two faults
		for it := s.deleted.Iterator(); it.HasNext(); {
			if doc := it.Next(); int(doc) < s.length {
				s.deadBits[doc/64] |= 1 << (doc % 64)
			}
		}
	})
	return s.deadBits
}

// Terms visits the terms of a field that begin with the prefix, in byte order,
// until visit returns false. The count is the number of documents that have the
// term, deleted ones included. The term is valid during the visit only.
func (s *Segment) Terms(f Field, prefix []byte, visit func(term []byte, count int) bool) (err error) {
	var visiting bool
	defer format.ContainUnless(&visiting, "list terms", &err)()
	fst, err := s.dict(f)
	if err != nil || fst == nil {
		return err
	}
	it, err := fst.Iterator(prefix, prefixEnd(prefix))
	for err == nil {
		term, value := it.Current()
		count, ok := countList(s.data, value)
		if !ok {
			return format.Damaged("postings of a term of %s", f)
		}
		visiting = true
		more := visit(term, count)
		if visiting = false; !more {
			return nil
		}
		err = it.Next()
	}
	return iteratorError(f, err)
}

func iteratorError(f Field, err error) error {
	if errors.Is(err, vellum.ErrIteratorDone) {
		return nil
	}
	return format.Damaged("dictionary of %s: %v", f, err)
}

// prefixEnd returns the smallest key after all that begin with the prefix, nil
// when there is none.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for len(end) > 0 {
		end[len(end)-1]++
		if end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// automata holds the automata of the words looked for, which all segments of a
// reader share.
type automata struct {
	mu   sync.Mutex
	made map[automatonKey]*levenshtein.DFA
}

type automatonKey struct {
	term     string
	distance int
}

// automatonBuilders make automata for terms within so many edits, a swap of
// neighbours being one. Making a builder takes milliseconds.
var automatonBuilders = [...]func() (*levenshtein.LevenshteinAutomatonBuilder, error){
	1: automatonBuilder(1),
	2: automatonBuilder(2),
}

func automatonBuilder(distance uint8) func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
	return sync.OnceValues(func() (*levenshtein.LevenshteinAutomatonBuilder, error) {
		return levenshtein.NewLevenshteinAutomatonBuilder(distance, true)
	})
}

// of returns the automaton of a term, nil when the term is too long for one.
func (a *automata) of(term string, distance int) (*levenshtein.DFA, error) {
	if distance < 1 || distance >= len(automatonBuilders) {
		return nil, fmt.Errorf("terms within %d edits cannot be looked for", distance)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := automatonKey{term, distance}
	if dfa, ok := a.made[key]; ok {
		return dfa, nil
	}
	builder, err := automatonBuilders[distance]()
	if err != nil {
		return nil, err
	}
	dfa, err := builder.BuildDfa(term, uint8(distance))
	if err != nil && !errors.Is(err, levenshtein.ErrTooManyStates) {
		return nil, err
	}
	a.made[key] = dfa
	return dfa, nil
}

// ID returns the id of a document; false for a session record.
func (s *Segment) ID(doc uint32) (id ID, ok bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if recover() != nil {
			id, ok = ID{}, false
		}
	}()
	b, _, _, ok := s.storedParts(doc)
	if !ok {
		return ID{}, false
	}
	return parseID(b)
}

// storedParts returns what is stored with a document. At the offset that the
// footer names stand the offsets of the documents, 8 bytes each, big endian, and
// at such an offset
//
//	uvarint  length of the description
//	uvarint  length of the data
//	the description: the uvarint length of the id, and for each value, as uvarints,
//	    its field, its type, where it starts in the values, its length, and 0
//	the data: the id, and the values compressed with snappy
func (s *Segment) storedParts(doc uint32) (id, description, values []byte, ok bool) {
	at := s.zap.StoredIndexOffset() + 8*uint64(doc)
	if int(doc) >= s.length || at > uint64(len(s.data))-8 {
		return nil, nil, nil, false
	}
	described, at, ok1 := readUvarint(s.data, binary.BigEndian.Uint64(s.data[at:]))
	size, at, ok2 := readUvarint(s.data, at)
	if left := uint64(len(s.data)) - at; !ok1 || !ok2 || described > left || size > left-described {
		return nil, nil, nil, false
	}
	description = s.data[at : at+described]
	at += described
	values = s.data[at : at+size]
	n, k := binary.Uvarint(description)
	if k <= 0 || n > size {
		return nil, nil, nil, false
	}
	return values[:n], description[k:], values[n:], true
}

// stored returns what is stored under an id of the engine, nil when there is
// nothing.
func (s *Segment) stored(id string) (b []byte, err error) {
	defer format.Contain("read a session record", &err)()
	l, err := s.list(fieldID, []byte(id))
	if err != nil || l == nil {
		return nil, err
	}
	p := newPostings(l, s)
	doc, _, _, ok := p.Next()
	if !ok {
		return nil, p.Err()
	}
	return s.storedAt(doc)
}

// storedAt returns what is stored with a document but for its id, nil when that is
// all there is.
func (s *Segment) storedAt(doc uint32) (b []byte, err error) {
	_, description, values, ok := s.storedParts(doc)
	if !ok {
		return nil, errStored
	}
	if len(description) == 0 {
		return nil, nil
	}
	// There is one value, of fieldRecord.
	var number [5]uint64
	for i := range number {
		var k int
		if number[i], k = binary.Uvarint(description); k <= 0 {
			return nil, errStored
		}
		description = description[k:]
	}
	const mostDense = 64 // times that snappy can make of something
	start, length := number[2], number[3]
	size, err := snappy.DecodedLen(values)
	if err != nil || len(description) > 0 || size > mostDense*len(values) || start > uint64(size) || length > uint64(size)-start {
		return nil, errStored
	}
	if b, err = snappy.Decode(nil, values); err != nil {
		return nil, errStored
	}
	return b[start : start+length], nil
}

// documentsOf visits the documents that have ids in the range, deleted ones
// included, in the order of the ids.
func (s *Segment) documentsOf(ids idRange, visit func(doc uint32)) error {
	fst, err := s.dict(fieldID)
	if err != nil || fst == nil {
		return err
	}
	it, err := fst.Iterator([]byte(ids.start), []byte(ids.end))
	for err == nil {
		_, value := it.Current()
		l, err2 := readList(s.data, value)
		if err2 != nil {
			return err2
		}
		if l.docs == nil {
			visit(l.doc)
		} else {
			l.docs.Iterate(func(doc uint32) bool {
				visit(doc)
				return true
			})
		}
		err = it.Next()
	}
	return iteratorError(fieldID, err)
}

var errStored = format.Damaged("session record: stored values")

// Copies visits the given documents, in ascending order, that have a value in
// FieldCopy: the entry's Copy.
func (s *Segment) Copies(docs []uint32, visit func(doc uint32, copy uint64)) (err error) {
	if s.reader != nil {
		s.reader.copies.Do(s.reader.loadCopies)
		if s.copied.visit(docs, visit) {
			return nil
		}
	}
	var visiting bool
	defer format.ContainUnless(&visiting, "read which entries are copies", &err)()
	bad := false
	err = s.values(FieldCopy, docs, func(doc uint32, value []byte) {
		copy, ok := parseCopy(value)
		bad = bad || !ok
		visiting = true
		visit(doc, copy)
		visiting = false
	})
	if bad && err == nil {
		err = format.Damaged("values of %s", FieldCopy)
	}
	return err
}

// FileRuns says which documents are of which file. Those of one file mostly lie side
// by side: a run goes from its first document to the first of the next run. The last
// one is of records only, or of nothing.
type FileRuns []FileRun

// FileRun is documents side by side of one file.
type FileRun struct{ First, File uint32 }

// End returns the document behind a run, for the last one the highest number.
func (r FileRuns) End(i int) uint32 {
	if i+1 < len(r) {
		return r[i+1].First
	}
	return math.MaxUint32
}

// Of returns the file number of a document, NoFile of a record.
func (r FileRuns) Of(doc uint32) uint32 {
	i := sort.Search(len(r), func(i int) bool { return r[i].First > doc })
	if i == 0 {
		return NoFile
	}
	return r[i-1].File
}

// Files returns the files of all documents, NoFile for records. The slice is the
// segment's own and must not be changed.
func (s *Segment) Files() (FileRuns, error) {
	s.filesOnce.Do(func() { s.files, s.filesErr = s.readFiles() })
	return s.files, s.filesErr
}

func (s *Segment) readFiles() (runs FileRuns, err error) {
	defer format.Contain("read the files of documents", &err)()
	fst, err := s.dict(FieldFile)
	if err != nil || fst == nil {
		return FileRuns{{0, NoFile}}, err
	}
	type piece struct{ first, last, file uint32 }
	var pieces []piece
	it, err := fst.Iterator(nil, nil)
	for err == nil {
		term, value := it.Current()
		number, err2 := strconv.ParseUint(string(term), 16, 32)
		if err2 != nil {
			return nil, format.Damaged("file number %q", term)
		}
		file := uint32(number)
		err2 = eachRun(s.data, value, func(first, last uint32) {
			pieces = append(pieces, piece{first, last, file})
		})
		if err2 != nil {
			return nil, err2
		}
		err = it.Next()
	}
	if err := iteratorError(FieldFile, err); err != nil {
		return nil, err
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	runs = make(FileRuns, 0, 2*len(pieces)+1)
	next := uint32(0) // the document behind the last piece
	for _, p := range pieces {
		if p.first < next || int(p.last) >= s.length {
			return nil, format.Damaged("documents of file %d", p.file)
		}
		if p.first > next {
			runs = append(runs, FileRun{next, NoFile})
		}
		runs = append(runs, FileRun{p.first, p.file})
		next = p.last + 1
	}
	return append(runs, FileRun{next, NoFile}), nil
}
