package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// WriterOptions are the options of OpenWriter.
type WriterOptions struct {
	Logger  *slog.Logger // nil discards everything
	PID     int          // of this process, for the message of ErrLocked
	Rebuild bool         // start with an empty index; readers keep the last generation until the next Publish
	Reader  *Reader      // of the same directory, to share open segments with; may be nil
}

// Writer is the one writer of an index. It is safe for concurrent use.
type Writer struct {
	dir    string
	lock   *files.Lock
	locked fs.FileInfo // the lock file; it may be deleted along with the directory
	root   *os.Root    // the opened directory, for all writing: its path may lead to another one by now
	logger *slog.Logger

	work        sync.Mutex     // serializes commits, publishing, merging and closing, which are slow
	added       int            // documents of all commits
	last        uint64         // the highest generation number ever used
	lastSegment uint64         // the highest number of a segment file
	published   *generation    // the newest one that readers know; nil if none can be read
	pruning     sync.WaitGroup // removes old generations and renews the store after publishing

	mu     sync.Mutex // guards the fields below; changing them also requires work
	head   *head
	next   uint32 // what NextFile returns next
	failed error  // set once; nothing is written afterwards
}

// OpenWriter claims the directory, takes its lock, and opens the last commit. It fails with
// ErrForeign if that is no index, with ErrLocked while another writer is open, and with
// ErrVersion or ErrDamaged if the index must be rebuilt; the caller may then open it again
// with Rebuild. The caller must close the writer.
func OpenWriter(dir string, opt WriterOptions) (w *Writer, err error) {
	logger := opt.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	root, err := Claim(dir)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(root, opt.PID)
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	w = &Writer{dir: dir, lock: lock, root: root, logger: logger}
	if w.locked, err = root.Stat(lockName); err == nil {
		err = w.open(opt)
	}
	if err != nil {
		_ = errors.Join(root.Close(), lock.Unlock())
		return nil, err
	}
	return w, nil
}

// ours fails if the directory was deleted: the one there now may be another writer's.
func (w *Writer) ours() error {
	if now, err := os.Stat(filepath.Join(w.dir, lockName)); err != nil || !os.SameFile(now, w.locked) {
		return format.Damaged("its directory was deleted")
	}
	return nil
}

func (w *Writer) open(opt WriterOptions) error {
	var have []*segment.Segment
	if opt.Reader != nil {
		have = opt.Reader.segments
	}
	h, err := w.readHead(opt.Rebuild, have)
	if err != nil {
		return err
	}
	if err := w.readSegments(); err != nil {
		return errors.Join(fmt.Errorf("read the index directory: %w", err), release(h.segments))
	}
	w.head, w.next = h, h.table.Next
	return nil
}

// Continues reports whether the reader's generation is the last commit, so that batches
// that were added to the reader can be committed.
func (w *Writer) Continues(r *Reader) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.head.generation
	if g == nil {
		return r.ID() == ID{}
	}
	return g.ID == r.ID()
}

// Table returns the summaries of all files as of the last commit.
func (w *Writer) Table() *record.Table {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head.table
}

// Summaries returns the summaries as of the last commit, ordered by path.
func (w *Writer) Summaries() []session.Summary { return w.Table().Summaries() }

// Empty reports whether the index has no files as of the last commit.
func (w *Writer) Empty() bool { return w.Table().Len() == 0 }

// RecordToContinue returns the session record of a file as of its checkpoint, without an
// unterminated last line, and its facts. Reading continues from it. It is nil if there is
// no record.
func (w *Writer) RecordToContinue(file uint32) (r *session.Record, err error) {
	w.mu.Lock()
	if w.failed != nil {
		defer w.mu.Unlock()
		return nil, w.failed
	}
	segments := retain(w.head.segments...)
	w.mu.Unlock()
	defer func() { err = errors.Join(err, release(segments)) }()
	return recordToContinue(segments, file)
}

// recordToContinue is recordsToContinue for one file.
func recordToContinue(segments []*segment.Segment, file uint32) (*session.Record, error) {
	records, err := recordsToContinue(segments, []uint32{file})
	return records[file], err
}

// recordsToContinue returns the session records of files as of their checkpoints, with
// their facts. Files without a record are missing.
func recordsToContinue(segments []*segment.Segment, files []uint32) (map[uint32]*session.Record, error) {
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
			r, err := record.Decode(b, true)
			if err != nil {
				return err
			}
			if facts.Has(file) {
				if r.Facts, err = facts.Facts(file); err != nil {
					return err
				}
				r.Facts.Stored()
			}
			mu.Lock()
			defer mu.Unlock()
			records[file] = r
			return nil
		})
	}
	return records, group.Wait()
}

// NextFile returns a number for a new file. No number is returned twice during the
// life of an index, provided that the last used one is committed.
func (w *Writer) NextFile() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return w.next - 1
}

// Commit makes a generation from the last one and the batch, atomically, and returns
// when it is on disk. Readers find it after Publish. The batch cannot be reused. After
// an error the writer can only be closed; the last successful commit is on disk.
func (w *Writer) Commit(b *Batch) error {
	if err := w.commit(b); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *Writer) commit(b *Batch) error {
	if b.committed {
		return errors.New("the batch was committed before")
	}
	b.committed = true
	image, err := b.finish()
	b.image = nil
	if err != nil || len(b.files) == 0 {
		return err
	}

	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	w.pruning.Wait()
	segments, err := without(w.head.segments, superseded(w.head.table, b))
	if err != nil {
		return w.fail(err)
	}
	for _, s := range segments { // a bulk update looks up many ids in all of them
		s.Trim()
	}
	table := w.changed(b)
	var written []*os.File
	if image != nil {
		s, f, err := w.writeSegment(image)
		if err != nil {
			return w.fail(errors.Join(err, release(segments)))
		}
		segments, written = append(segments, s), append(written, f)
	}
	if err := w.advance(segments, table, written...); err != nil {
		return w.fail(err)
	}
	for _, c := range b.files {
		w.added += c.added
	}
	return nil
}

// changed returns the table with the changes of a batch.
func (w *Writer) changed(b *Batch) *record.Table {
	w.mu.Lock()
	next := w.next
	w.mu.Unlock()
	for file := range b.files {
		next = max(next, file+1)
	}
	return w.head.table.With(b.summaries(), b.drops, next)
}

// fail makes the writer unusable.
func (w *Writer) fail(err error) error {
	w.logger.Debug("index writer stops", "error", err)
	err = w.explain(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = fmt.Errorf("%w after an error: %v", ErrClosed, err)
	return err
}

// explain finds the cause of a write error: a full disk, a replaced index directory,
// or damaged segments.
func (w *Writer) explain(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) || errors.Is(err, context.Canceled) {
		return err
	}
	if files.NoSpace(err) {
		return ErrFull
	}
	if err2 := w.ours(); err2 != nil {
		return fmt.Errorf("%w (%v)", err2, err)
	}
	for _, s := range w.head.segments {
		if err2 := s.Verify(context.Background()); errors.Is(err2, ErrDamaged) {
			return fmt.Errorf("%w (%v)", err2, err)
		}
	}
	return err
}

// Close releases the lock. Commits are kept; the next writer publishes them.
func (w *Writer) Close() error {
	w.work.Lock()
	defer w.work.Unlock()
	w.pruning.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lock == nil {
		return nil
	}
	if w.failed == nil {
		w.failed = ErrClosed
	}
	err := errors.Join(release(w.head.segments), w.root.Close(), w.lock.Unlock())
	w.head.segments, w.lock = nil, nil
	return err
}
