package index

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

const (
	// fewSearches is how many segments are searched for records by their ids. After that,
	// one pass over the ids of all segments finds out where each record is.
	fewSearches = 1000
	// trimAfter is after how many bytes of records the pages of the segments are unmapped.
	trimAfter = 16 << 20
)

type recordFinder struct {
	searched atomic.Int64 // segments
	read     atomic.Int64 // bytes of records that were found by their places

	once   sync.Once
	places map[uint32]recordPlace // by file; nil if they cannot be read
}

type recordPlace struct {
	segment *segment.Segment
	doc     uint32
}

// find returns the stored record of a file, nil if there is none. It searches near first,
// if that is not nil.
func (f *recordFinder) find(segments []*segment.Segment, file uint32, near *segment.Segment) ([]byte, error) {
	if f.searched.Load() >= fewSearches {
		f.once.Do(func() { f.places, _ = recordPlaces(segments) })
		if f.places != nil {
			return f.at(segments, f.places[file])
		}
	}
	id := recordID(file)
	if near != nil {
		f.searched.Add(1)
		if b, err := near.Stored(id); err != nil || b != nil {
			return b, err
		}
	}
	for _, s := range slices.Backward(segments) {
		if s == near {
			continue
		}
		f.searched.Add(1)
		if b, err := s.Stored(id); err != nil || b != nil {
			return b, err
		}
		s.Trim() // most segments do not have it
	}
	return nil, nil
}

// at returns the record at a place, nil if that is zero.
func (f *recordFinder) at(segments []*segment.Segment, p recordPlace) ([]byte, error) {
	if p.segment == nil {
		return nil, nil
	}
	b, err := p.segment.StoredAt(p.doc, nil)
	n := int64(len(b))
	if all := f.read.Add(n); all/trimAfter != (all-n)/trimAfter {
		for _, s := range segments {
			s.Trim()
		}
	}
	return b, err
}

func recordPlaces(segments []*segment.Segment) (map[uint32]recordPlace, error) {
	places := make(map[uint32]recordPlace)
	for _, s := range segments {
		err := s.EachStored(allIDs(records), func(id []byte, doc uint32) error {
			file, _, err := parseID(records, id)
			places[file] = recordPlace{s, doc}
			return err
		})
		if err != nil {
			return nil, err
		}
		s.Trim()
	}
	return places, nil
}

func entryPieces(segments []*segment.Segment, file uint32) record.Pieces {
	return func(n int) ([][]byte, error) {
		found := make(map[uint64][]byte)
		for _, s := range segments {
			err := s.EachStored(factIDs(entries, file), func(id []byte, doc uint32) error {
				_, name, err := parseID(entries, id)
				i, badName := strconv.ParseUint(name, 16, 31)
				if err == nil && badName == nil && i < uint64(n) {
					found[i], err = s.StoredAt(doc, nil)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if len(found) < n {
			return nil, format.Damaged("entries of file %d: %d of %d pieces", file, len(found), n)
		}
		pieces := make([][]byte, n)
		for i := range pieces {
			pieces[i] = found[uint64(i)]
		}
		return pieces, nil
	}
}

func earlierFacts(segments []*segment.Segment, file uint32, piece int) (*session.Facts, error) {
	set := record.NewFactSet(record.SourceKinds...)
	for _, s := range segments {
		for _, kind := range record.SourceKinds {
			if err := addFacts(set, s, kind, segment.OneID(factsID(kind, file, record.PieceName(piece))), false); err != nil {
				return nil, err
			}
		}
	}
	if set.Pieces(file) != 1 {
		return nil, format.Damaged("facts of file %d: piece %d is missing", file, piece)
	}
	return set.PieceFacts(file, 0)
}

// recordsToContinue returns the session records of files as of their checkpoints, with the
// last piece of their entries and facts. earlier reads another piece of facts when it is
// needed. Files without a record are missing.
func recordsToContinue(segments []*segment.Segment, files []uint32, earlier func(file uint32, piece int) (*session.Facts, error)) (map[uint32]*session.Record, error) {
	var mu sync.Mutex
	stored := make(map[uint32][]byte, len(files))
	facts := record.NewFactSet(record.SourceKinds...)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range segments {
		group.Go(func() (err error) {
			defer format.Contain(format.Guard(), "read session records", &err)
			for _, file := range files {
				b, err := s.Stored(recordID(file))
				if err != nil {
					return err
				}
				if b != nil {
					mu.Lock()
					stored[file] = b
					mu.Unlock()
				}
				for _, kind := range record.SourceKinds {
					if err := addFacts(facts, s, kind, factIDs(kind, file), false); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	records := make(map[uint32]*session.Record, len(stored))
	for file, b := range stored {
		group.Go(func() (err error) {
			defer format.Contain(format.Guard(), "decode session records", &err)
			r, err := record.DecodeToContinue(b, entryPieces(segments, file))
			if err != nil {
				return err
			}
			if last := facts.Pieces(file) - 1; last >= 0 {
				if r.Facts, err = facts.PieceFacts(file, last); err != nil {
					return err
				}
				r.Facts.Continue(last, func(piece int) (*session.Facts, error) { return earlier(file, piece) })
			}
			mu.Lock()
			defer mu.Unlock()
			records[file] = r
			return nil
		})
	}
	return records, group.Wait()
}

// addFacts adds the pieces of a kind that a segment has under ids in the range; tails
// only if asked for.
func addFacts(set *record.FactSet, s *segment.Segment, kind record.FactKind, ids segment.IDRange, tails bool) error {
	return s.EachStored(ids, func(id []byte, doc uint32) error {
		file, piece, err := parseID(kind, id)
		if err == nil && (tails || piece != record.Tail) {
			set.Add(kind, file, piece, func(memory []byte) ([]byte, error) { return s.StoredAt(doc, memory) })
		}
		return err
	})
}

// The record of a file and the pieces of its facts are stored under the ids
//
//	r:<file>          the record
//	n:<file>:<piece>  a piece of its entries
//	u:<file>:<piece>  record.UsageFacts
//	f:<file>:<piece>  record.CallFacts
//	g:<file>:<piece>  record.DetailFacts
//	b:<file>:<piece>  record.BareFacts
//
// with the file number in hexadecimal, as the ids of documents have it.

func recordID(file uint32) string { return fmt.Sprintf("r:%06x", file) }

// The kinds of the ids of records, and of pieces of entries.
const (
	records record.FactKind = 'r'
	entries record.FactKind = 'n'
)

func factsID(kind record.FactKind, file uint32, piece string) string {
	return fmt.Sprintf("%c:%06x:%s", kind, file, piece)
}

// parseID returns the file of an id of a kind, and the piece; "" in the id of a record.
func parseID(kind record.FactKind, id []byte) (file uint32, piece string, err error) {
	number, piece, _ := strings.Cut(strings.TrimPrefix(string(id), string(kind)+":"), ":")
	n, err := strconv.ParseUint(number, 16, 32)
	if err != nil {
		what := "facts"
		if kind == records {
			what = "records"
		}
		return 0, "", format.Damaged("read the %s of sessions: %q is no id of any", what, id)
	}
	return uint32(n), piece, nil
}

func factIDs(kind record.FactKind, file uint32) segment.IDRange {
	return segment.IDRange{Start: factsID(kind, file, ""), End: fmt.Sprintf("%c:%06x;", kind, file)} // ';' follows ':'
}

// allIDs is the range of the ids of a kind of all files.
func allIDs(kind record.FactKind) segment.IDRange {
	return segment.IDRange{Start: string(kind) + ":", End: string(kind) + ";"}
}
