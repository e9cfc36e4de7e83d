package segment

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index/format"
)

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

// fileCache holds the result of Files for all references to a segment.
type fileCache struct {
	once sync.Once
	runs FileRuns
	err  error
}

// Files returns the files of all documents. The slice is the segment's own and must
// not be changed.
func (s *Segment) Files() (FileRuns, error) {
	c := s.files
	c.once.Do(func() { c.runs, c.err = s.readFiles() })
	return c.runs, c.err
}

func (s *Segment) readFiles() (runs FileRuns, err error) {
	defer format.Contain(format.Guard(), "read the files of documents", &err)
	type piece struct{ first, last, file uint32 }
	var pieces []piece
	var docs roaring.Bitmap
	err = s.eachTerm(FieldFile, nil, nil, func(term []byte, at PostingsOffset) error {
		number, err := strconv.ParseUint(string(term), 16, 32)
		if err != nil {
			return format.Damaged("file number %q", term)
		}
		if err := s.readDocuments(at, &docs); err != nil {
			return err
		}
		eachRun(&docs, func(first, last uint32) { pieces = append(pieces, piece{first, last, uint32(number)}) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	runs = make(FileRuns, 0, 2*len(pieces)+1)
	next := uint32(0) // the document after the last piece
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
