package segment

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"pigrep/index/format"
)

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
