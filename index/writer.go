package index

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// Names in the index directory.
const (
	lockName     = "lock"
	segmentsName = "segments"
	currentName  = "current"
)

// WriterOptions says how to open a writer.
type WriterOptions struct {
	Logger  *slog.Logger // nil: say nothing
	PID     int          // of this process, for the message of ErrLocked
	Rebuild bool         // begin with nothing, whatever is there; readers keep the last generation until the next Publish
	Reader  *Reader      // of the same directory, which it shares what it can with; nil: none is open
}

// Writer is the one writer of an index. All methods may be called by several
// goroutines.
type Writer struct {
	dir    string
	lock   *files.Lock
	locked fs.FileInfo // the lock's file, which somebody may delete with the directory
	logger *slog.Logger

	work        sync.Mutex     // serialises commits, publishing, merging and closing, which take long
	added       int            // documents of all commits
	last        uint64         // the highest number of a generation there ever was
	lastSegment uint64         // the highest number of a segment's file
	published   *generation    // the newest one that readers know, nil when there is none that can be read
	pruning     sync.WaitGroup // removes what is old after publishing

	mu     sync.Mutex // guards the fields below; whoever changes them holds work too
	live   *liveState
	next   uint32 // the next number that NextFile hands out
	failed error  // after which nothing is written any more
}

// OpenWriter takes the lock of the directory, which is made when it is missing,
// and opens what its last writer left. It fails with ErrLocked while another writer lives,
// and with ErrVersion or ErrDamaged when what is there cannot be read on: then
// the caller opens again with Rebuild.
func OpenWriter(dir string, opt WriterOptions) (w *Writer, err error) {
	logger := opt.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := makeDirs(dir); err != nil {
		return nil, fmt.Errorf("make the index directory: %w", err)
	}
	lock, err := takeLock(filepath.Join(dir, lockName), opt.PID)
	if err != nil {
		return nil, err
	}
	w = &Writer{dir: dir, lock: lock, logger: logger}
	if w.locked, err = os.Stat(filepath.Join(dir, lockName)); err == nil {
		err = w.open(opt)
	}
	if err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return w, nil
}

// ours fails when the directory was deleted: what is there now may be another writer's.
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
	live, err := w.readLive(opt.Rebuild, have)
	if err != nil {
		return err
	}
	// Where indexes of versions up to 12 kept what is in segments now. Whatever is
	// opened here does not go on from one of them.
	if err := os.RemoveAll(filepath.Join(w.dir, "live")); err != nil {
		return errors.Join(fmt.Errorf("remove the old index: %w", err), release(live.segments))
	}
	if err := w.readSegments(); err != nil {
		return errors.Join(fmt.Errorf("read the index directory: %w", err), release(live.segments))
	}
	w.live, w.next = live, live.table.Next
	return nil
}

// Summaries returns the summaries as of the last commit, ordered by path.
func (w *Writer) Summaries() []session.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]session.Summary, len(w.live.table.Rows))
	for i := range list {
		list[i] = w.live.table.Rows[i].Summary
	}
	return list
}

// NextFile returns a number for a new file. It never returns a number twice in
// the life of an index, as long as a commit holds the last one that was used.
func (w *Writer) NextFile() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return w.next - 1
}

// Commit makes the batch part of the live state, all of it or nothing, and
// returns when it is on disk. The batch cannot be used again. After an error
// the writer can only be closed: what is on disk is the last commit that
// succeeded.
func (w *Writer) Commit(b *Batch) error {
	if err := w.commit(b); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *Writer) commit(b *Batch) error {
	if b.closed {
		return errors.New("the batch was committed before")
	}
	b.closed = true
	for file, c := range b.files {
		if c.added > 0 && !c.put {
			return fmt.Errorf("documents of file %d without its record", file)
		}
	}
	if len(b.files) == 0 {
		return nil
	}
	image, err := b.build()
	if err != nil {
		return err
	}

	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	w.pruning.Wait()
	segments, err := w.live.without(going(w.live.table, b))
	if err != nil {
		return w.fail(err)
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

// changed returns the table after the changes of a batch.
func (w *Writer) changed(b *Batch) *record.Table {
	w.mu.Lock()
	next := w.next
	w.mu.Unlock()
	var put []*session.Summary
	for file, c := range b.files {
		next = max(next, file+1)
		if c.put {
			put = append(put, c.summary)
		}
	}
	gone := func(file uint32) bool { c := b.files[file]; return c != nil && c.drop }
	return w.live.table.With(put, gone, next)
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

// Close gives the lock back. What was committed stays; what was not published
// will be by the next writer.
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
	err := errors.Join(release(w.live.segments), w.lock.Unlock())
	w.live.segments, w.lock = nil, nil
	return err
}

// takeLock takes the lock file, which the system frees when the process dies,
// and writes the pid into it. The first byte is what is locked; on some systems
// nobody else can read it, so that the pid comes after it.
func takeLock(path string, pid int) (*files.Lock, error) {
	lock, err := files.TryLock(path)
	if err != nil {
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	if lock == nil {
		return nil, lockedError(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, fileMode)
	if err == nil {
		err = errors.Join(f.Truncate(1), writeAt(f, fmt.Sprintf("%d\n", pid), 1), f.Close(), os.Chmod(path, fileMode))
	}
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	return lock, nil
}

func writeAt(f *os.File, s string, at int64) error {
	_, err := f.WriteAt([]byte(s), at)
	return err
}

func lockedError(path string) error {
	if pid := pidIn(path); pid > 0 {
		return fmt.Errorf("%w (pid %d)", ErrLocked, pid)
	}
	return ErrLocked
}
