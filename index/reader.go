package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/index/bleve"
	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
)

// Reader reads one generation, which never changes, whatever a writer does. All
// methods may be called by several goroutines.
type Reader struct {
	dir        string
	generation *generation
	table      *record.Table
	unmap      func() error                      // of the table
	summaries  atomic.Pointer[[]session.Summary] // nil until they are decoded
	decoding   sync.Once
	segments   []*segment.Segment
	records    recordFinder
	naming     sync.Once
	names      *Names // nil if there are no Notes
	chaining   sync.Once
	chains     *session.Chains // nil until they are needed
	partly     bool            // as of Partly
	excerpt    bool            // as of Excerpt

	close sync.Once
}

// Open opens the newest generation. It never waits for a writer. It fails with
// ErrNoIndex if nothing was published, with ErrForeign if the directory is not an index,
// and with ErrVersion or ErrDamaged if the index has to be rebuilt. The caller must close
// the reader.
func Open(dir string) (*Reader, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return open(dir, nil)
}

// Reopen is Open for a process that has a reader open. It costs less, because the two
// readers share the segments that both generations have. The caller must close both.
func (r *Reader) Reopen() (*Reader, error) { return open(r.dir, r.segments) }

// open is Open. Segments that are open in have are shared.
func open(dir string, have []*segment.Segment) (*Reader, error) {
	if err := Check(dir); errors.Is(err, ErrForeign) {
		return nil, err
	}
	for try := 1; ; try++ {
		number, err := currentNumber(dir)
		if err != nil {
			return nil, err
		}
		if number == 0 {
			return nil, fmt.Errorf("%w in %s", ErrNoIndex, dir)
		}
		r, err := openGeneration(dir, number, have)
		if err == nil {
			return r, nil
		}
		if now, err2 := currentNumber(dir); err2 == nil && now != number && try < openTries {
			continue // a writer has published, and removed the generation
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = format.Damaged("generation %d is not complete: %v", number, err)
		}
		return nil, err
	}
}

func openGeneration(dir string, number uint64, have []*segment.Segment) (r *Reader, err error) {
	g, err := readManifest(dir, number)
	if err != nil {
		return nil, err
	}
	r = &Reader{dir: dir, generation: g}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	var state []byte
	if state, r.unmap, err = segment.Map(filepath.Join(g.path, stateName)); err != nil {
		return r, err
	}
	if r.segments, r.table, err = g.open(state, have); err != nil {
		return r, err
	}
	segment.Share(r.segments, func() []segment.Duplicates { return g.duplicates(r.segments) })
	return r, nil
}

func Empty() *Reader {
	return &Reader{
		generation: &generation{}, table: &record.Table{Next: 1}, unmap: func() error { return nil },
	}
}

// ID returns the generation; with a part in memory, the one that this is added to.
func (r *Reader) ID() ID { return r.generation.ID }

func (r *Reader) Generation() uint64 { return r.generation.Number }

// NextFile returns the number of the next new file.
func (r *Reader) NextFile() uint32 { return r.table.Next }

// Table returns the summaries of all files. The reader owns it; it is closed with it.
func (r *Reader) Table() *record.Table { return r.table }

// Summaries returns the summaries of all files, ordered by path. The first call decodes
// them; Table is faster for a few. The caller must not change the slice. Its strings stay
// valid after the reader is closed.
func (r *Reader) Summaries() []session.Summary {
	r.decoding.Do(func() {
		if r.summaries.Load() == nil {
			list := r.table.Summaries()
			for i := range list {
				r.Names().apply(&list[i])
			}
			r.summaries.Store(&list)
		}
	})
	return *r.summaries.Load()
}

// Summary returns the summary of a file by its index in the table. For a few files it is
// faster than Summaries.
func (r *Reader) Summary(i int) *session.Summary {
	if decoded := r.summaries.Load(); decoded != nil {
		return &(*decoded)[i]
	}
	s := r.table.Summary(i)
	r.Names().apply(&s)
	return &s
}

// Beginnings visits at least a part of the summary of each file; see record.Table. A summary
// is valid until the next one.
func (r *Reader) Beginnings() iter.Seq2[int, *session.Summary] {
	return func(yield func(int, *session.Summary) bool) {
		for i, s := range r.table.Beginnings() {
			r.Names().apply(s)
			if !yield(i, s) {
				return
			}
		}
	}
}

func (r *Reader) Documents() int { return r.table.Documents }

// Tokens returns the number of tokens in the texts of all documents.
func (r *Reader) Tokens() uint64 { return r.table.Tokens }

// Segments returns the segments, each with a part of the documents, in no particular
// order. The reader owns them; they are closed with it.
func (r *Reader) Segments() []*segment.Segment { return r.segments }

// Fault returns the first Segment.Fault, nil if no segment has one. Callers ask for it before
// they answer.
func (r *Reader) Fault() error {
	for _, s := range r.segments {
		if err := s.Fault(); err != nil {
			return err
		}
	}
	return nil
}

// Keep keeps the pages of all segments mapped, or no longer; see segment.Segment.Keep.
func (r *Reader) Keep(on bool) {
	for _, s := range r.segments {
		s.Keep(on)
	}
}

// Record returns the session record of a file, an unterminated last line included;
// nil when there is none.
func (r *Reader) Record(file uint32) (*session.Record, error) {
	b, err := r.records.find(r.segments, file, nil)
	if err != nil || b == nil {
		return nil, err
	}
	rec, err := record.Decode(b, false, entryPieces(r.segments, file))
	if err == nil {
		r.Names().apply(&rec.Summary)
		rec.Abandon(r.Chains().Cut(rec.Path))
	}
	return rec, err
}

// Chains returns the chains among all files. They share the memory of the reader.
func (r *Reader) Chains() *session.Chains {
	r.chaining.Do(func() {
		r.chains = session.NewChains(r.table.Beginnings(), session.Twins{Has: r.has, Lacks: r.lacks})
	})
	return r.chains
}

// Outline is Record without decoding the entries. near, if not nil, is searched first:
// the record is usually in the last segment with documents of the file.
func (r *Reader) Outline(file uint32, near *segment.Segment) (*record.Outline, error) {
	o, err := r.outline(file, near)
	if o != nil && err == nil {
		r.Names().apply(&o.Record.Summary)
		err = o.Abandon(r.Chains().Cut(o.Record.Path))
	}
	return o, err
}

func (r *Reader) outline(file uint32, near *segment.Segment) (*record.Outline, error) {
	b, err := r.records.find(r.segments, file, near)
	if err != nil || b == nil {
		return nil, err
	}
	return record.DecodeOutline(b, entryPieces(r.segments, file))
}

// RecordToContinue returns the session record, with facts, from which an update continues
// reading a file: as of the checkpoint, so without an unterminated last line. It returns
// nil if there is no record.
func (r *Reader) RecordToContinue(file uint32) (*session.Record, error) {
	records, err := r.RecordsToContinue([]uint32{file})
	return records[file], err
}

// RecordsToContinue is RecordToContinue for several files. The map has no entry for a file
// without a record. The records may read from the reader later.
func (r *Reader) RecordsToContinue(files []uint32) (map[uint32]*session.Record, error) {
	return recordsToContinue(r.segments, files, func(file uint32, piece int) (*session.Facts, error) {
		return earlierFacts(r.segments, file, piece)
	})
}

// Facts finds the facts of all files, unterminated last lines included. The set reads
// them from the reader, which must be open.
func (r *Reader) Facts(ctx context.Context, kinds ...record.FactKind) (*record.FactSet, error) {
	set := record.NewFactSet(kinds...)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range r.segments {
		for _, kind := range kinds {
			g.Go(func() (err error) {
				defer format.Contain(format.Guard(), "find the facts of sessions", &err)
				if err := ctx.Err(); err != nil {
					return err
				}
				return addFacts(set, s, kind, allIDs(kind), true)
			})
		}
	}
	return set, g.Wait()
}

// fewInMemory is the largest number of documents in memory that are looked up to find
// duplicates. For more, reading all facts takes less time.
const fewInMemory = 1000

// Partly says that the index does not have all documents of its records. Call it before the
// reader is used.
func (r *Reader) Partly() { r.partly = true }

// Excerpt says that the index has only sessions that matter for one question. Call it before the
// first question.
func (r *Reader) Excerpt() { r.excerpt = true }

// IsExcerpt reports whether what the index lacks may be elsewhere.
func (r *Reader) IsExcerpt() bool { return r.excerpt }

// FilesWithDuplicates returns the files that may have entries in common with another
// file. known is false if the duplicates are not known.
func (r *Reader) FilesWithDuplicates() (files map[uint32]bool, known bool) {
	if r.partly {
		return nil, false
	}
	inMemory := 0
	for _, s := range r.segments {
		if s.Path() == "" {
			inMemory += s.Len()
		}
	}
	if inMemory > fewInMemory {
		return nil, false
	}
	files = make(map[uint32]bool)
	for _, s := range r.segments {
		list, known := s.FilesWithDuplicates()
		if !known {
			return nil, false
		}
		for _, file := range list {
			files[file] = true
		}
	}
	return files, true
}

// Copies returns the number of entries with documents that are copies of other entries; the
// first one of each does not count. known is false if the duplicates are not known.
func (r *Reader) Copies() (copies int, known bool) {
	type piece struct {
		hash uint64
		part int
	}
	seen, entries := make(map[piece]int), make(map[uint64]int) // an entry has each part at most once
	for _, s := range r.segments {
		marked, deleted := s.PossibleDuplicates(), s.Deleted()
		var docs []uint32
		for word, b := range marked {
			for ; b != 0; b &= b - 1 {
				if doc := uint32(word*64 + bits.TrailingZeros64(b)); deleted == nil || !deleted.Contains(doc) {
					docs = append(docs, doc)
				}
			}
		}
		if marked == nil && s.Len() > 0 {
			return 0, false
		}
		s.KnownDuplicates(docs, func(_ uint32, hash uint64, part int) {
			p := piece{hash, part}
			seen[p]++
			entries[hash] = max(entries[hash], seen[p])
		})
	}
	for _, n := range entries {
		copies += n - 1
	}
	return copies, true
}

// Generations returns the number of generations on disk up to the reader's, and when
// the newest was published.
func (r *Reader) Generations() (count int, newest time.Time, err error) {
	numbers, _, err := generations(os.DirFS(r.dir))
	if err != nil {
		return 0, newest, err
	}
	for _, n := range numbers {
		if n <= r.generation.Number {
			count++
		}
	}
	info, err := os.Stat(filepath.Join(r.dir, currentName))
	if err != nil {
		return count, newest, err
	}
	return count, info.ModTime(), nil
}

// Verify compares every byte of the segments with their checksums and returns an error
// for each damaged segment. Opening has verified what the manifest covers.
func (r *Reader) Verify(ctx context.Context) []error {
	var errs []error
	for _, s := range r.segments {
		if err := s.Verify(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Close closes the reader and its segments. They must not be used afterwards. Further
// calls do nothing.
func (r *Reader) Close() (err error) {
	r.close.Do(func() { err = errors.Join(release(r.segments), r.unmap()) })
	return err
}

// SizeOnDisk returns the size of all files in the index directory. A file with several names
// counts once.
func (r *Reader) SizeOnDisk() (int64, error) {
	var size int64
	var linked []fs.FileInfo
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreMissing(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		if filepath.Ext(path) == segment.Ext || e.Name() == duplicatesName {
			if slices.ContainsFunc(linked, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
				return nil
			}
			linked = append(linked, info)
		}
		size += info.Size()
		return nil
	})
	return size, err
}

// ignoreMissing ignores that a writer removed something in the meantime.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// snapshot describes a published generation for Bleve; published is the FileInfo of the
// file current.
func snapshot(g *generation, published fs.FileInfo, segments []*segment.Segment) bleve.Snapshot {
	return bleve.Snapshot{Epoch: g.Number, Time: published.ModTime(), Dir: segmentsName, Segments: segments}
}

// StoreChanged reports whether the store is missing or has changed since this generation
// was published. While the generation is the newest, publishing again renews the store.
func (r *Reader) StoreChanged() bool {
	published, err := os.Stat(filepath.Join(r.dir, currentName))
	return err == nil && !bleve.Current(r.dir, snapshot(r.generation, published, r.segments))
}

// Store returns the directory that Bleve opens, "" if there is none.
func (r *Reader) Store() string {
	if !bleve.Exists(r.dir) {
		return ""
	}
	return filepath.Join(r.dir, bleve.Dir)
}
