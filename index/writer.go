package index

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	engineapi "github.com/blevesearch/bleve_index_api"

	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// Names in the index directory.
const (
	lockName    = "lock"
	liveName    = "live"
	currentName = "current"
)

// WriterOptions says how to open a writer.
type WriterOptions struct {
	Logger  *slog.Logger // nil: say nothing
	PID     int          // of this process, for the message of ErrLocked
	Stock   bool         // let the engine build its segments, as a reference
	Rebuild bool         // begin with nothing, whatever is there; readers keep the last generation until the next Publish
}

// Writer is the one writer of an index. All methods may be called by several
// goroutines.
type Writer struct {
	dir    string
	lock   *files.Lock
	logger *slog.Logger
	build  func() builder // makes the builder of every batch

	work    sync.Mutex     // serialises commits, publishing, merging and closing, which take long
	added   int            // documents of all commits
	current *generation    // the newest generation, nil when there is none that is sound
	pruning sync.WaitGroup // removes old generations after publishing

	mu     sync.Mutex // guards the fields below; whoever changes them holds work too
	engine *liveEngine
	table  *table
	next   uint32 // the next number that NextFile hands out
	failed error  // after which nothing is written any more
}

// OpenWriter takes the lock of the directory, which is made when it is missing,
// and opens its live state. It fails with ErrLocked while another writer lives,
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
	w = &Writer{dir: dir, lock: lock, logger: logger, build: newSegmentBuilder}
	if opt.Stock || !segment.Known() {
		w.build = newStockBuilder
	}
	if err := w.open(opt.Rebuild); err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return w, nil
}

func (w *Writer) open(rebuild bool) error {
	live := filepath.Join(w.dir, liveName)
	w.leftovers()
	if rebuild {
		if err := removeAside(live); err != nil {
			return fmt.Errorf("remove the old index: %w", err)
		}
	}
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { w.current = w.newestGeneration() })
	if _, err := os.Stat(live); err != nil && !rebuild {
		if looking.Wait(); w.current != nil {
			return damaged("directory %s is missing", liveName)
		}
	}
	return w.openLive(live)
}

// openLive opens the live state, and makes it when the directory is missing or
// empty.
func (w *Writer) openLive(live string) error {
	segments, err := segmentFiles(live)
	if err != nil {
		return fmt.Errorf("read the index directory: %w", err)
	}
	switch err := checkRoot(filepath.Join(live, rootFile)); {
	case errors.Is(err, fs.ErrNotExist) && len(segments) > 0:
		return damaged("%s is missing", rootFile)
	case err == nil:
		if err := unsealRoot(live); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDirs(live); err != nil {
		return fmt.Errorf("make the index directory: %w", err)
	}
	engine, err := openLive(live)
	if err != nil {
		return err
	}
	table, err := loadTable(engine, len(segments) > 0)
	if err != nil {
		_ = engine.close()
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine, w.table, w.next = engine, table, max(w.next, table.next)
	return nil
}

// loadTable reads the table of summaries, or commits an empty one when the live
// state is new.
func loadTable(engine *liveEngine, segments bool) (*table, error) {
	snapshot, err := engine.snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	if blob := snapshot.Internal()[string(tableKey)]; blob != nil {
		return decodeTable(blob)
	}
	if segments {
		// The engine falls back to an empty state when it cannot read any.
		return nil, damaged("the live state cannot be read")
	}
	var lineage [8]byte
	if _, err := rand.Read(lineage[:]); err != nil {
		return nil, err
	}
	t := &table{lineage: binary.LittleEndian.Uint64(lineage[:]), next: 1}
	b := engineapi.NewBatch()
	b.SetInternal(tableKey, t.encode())
	if err := engine.apply(b); err != nil {
		return nil, fmt.Errorf("make the index: %w", engine.explain(err))
	}
	return t, tighten(engine.path)
}

// Summaries returns the summaries as of the last commit, ordered by path.
func (w *Writer) Summaries() []session.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]session.Summary, len(w.table.rows))
	for i := range list {
		list[i] = w.table.rows[i].Summary
	}
	return list
}

// Record returns the session record as of the checkpoint, without an
// unterminated last line, with its facts, for reading on. It is nil when there is
// none.
func (w *Writer) Record(file uint32) (*session.Record, error) {
	snapshot, err := w.snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	r, err := readRecord(snapshot, file, true)
	if r != nil {
		r.Facts, err = readFacts(snapshot, file)
	}
	return r, err
}

func (w *Writer) snapshot() (*scorch.IndexSnapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil, w.failed
	}
	return w.engine.snapshot()
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
	docs, err := b.builder.finish()
	if err != nil {
		return err
	}

	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if err := w.engine.failure(); err != nil {
		return w.fail(err)
	}
	batch := engineapi.NewBatch()
	if err := w.deletions(b, batch); err != nil {
		return w.fail(err)
	}
	for _, d := range docs {
		batch.Update(d)
	}
	w.mu.Lock()
	next := w.table.with(b.files, w.next)
	w.mu.Unlock()
	batch.SetInternal(tableKey, next.encode())
	if err := w.engine.apply(batch); err != nil {
		return w.fail(err)
	}
	// The engine syncs its files but not the directory that names them.
	if err := files.SyncDir(w.engine.path); err != nil {
		return w.fail(err)
	}
	w.mu.Lock()
	w.table = next
	w.mu.Unlock()
	for _, c := range b.files {
		w.added += c.added
	}
	return nil
}

// deletions adds to the batch of the engine the ids of the older documents that
// go. Deletions come first: an id that is deleted and added is added.
func (w *Writer) deletions(b *Batch, batch *engineapi.Batch) error {
	snapshot, err := w.engine.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	for i := range w.table.rows {
		old := &w.table.rows[i].Summary
		c := b.files[old.File]
		if c == nil {
			continue
		}
		from := c.from
		if c.put && old.TailBytes > 0 &&
			(c.summary.Checkpoint.Offset != old.Checkpoint.Offset || c.summary.TailBytes != old.TailBytes) {
			// The unterminated last line is another one now.
			from = min(from, old.Checkpoint.Offset)
		}
		if c.drop {
			from = 0
		}
		if from < math.MaxInt64 {
			ids, err := idsOf(snapshot, old.File, from)
			if err != nil {
				return err
			}
			for _, id := range ids {
				batch.Delete(id)
			}
		}
		// A builder may hide the id of the new record from the engine.
		batch.Delete(recordID(old.File))
		for _, id := range append(c.stored, factTails(old.File)...) {
			batch.Delete(id)
		}
		if c.drop {
			ids, err := factIDs(snapshot, old.File)
			if err != nil {
				return err
			}
			for _, id := range ids {
				batch.Delete(id)
			}
		}
	}
	return nil
}

// with returns the table after the changes.
func (t *table) with(files map[uint32]*change, next uint32) *table {
	n := &table{lineage: t.lineage, revision: t.revision + 1, next: max(next, t.next)}
	added := make([]row, 0, len(files))
	for file, c := range files {
		n.next = max(n.next, file+1)
		if c.put {
			added = append(added, row{*c.summary, appendSummary(nil, c.summary)})
		}
	}
	slices.SortFunc(added, compareRows)
	n.rows = make([]row, 0, len(t.rows)+len(added))
	for _, old := range t.rows {
		if c := files[old.File]; c != nil && (c.put || c.drop) {
			continue
		}
		for len(added) > 0 && compareRows(added[0], old) < 0 {
			n.rows = append(n.rows, added[0])
			added = added[1:]
		}
		n.rows = append(n.rows, old)
	}
	n.rows = append(n.rows, added...)
	return n
}

func compareRows(a, b row) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return cmp.Compare(a.File, b.File)
}

// fail ends the engine, which would otherwise try to write for ever, and makes
// the writer unusable.
func (w *Writer) fail(err error) error {
	w.logger.Debug("index writer stops", "error", err)
	_ = w.engine.close()
	err = w.engine.explain(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine = nil
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
	var err error
	if w.engine != nil {
		live := w.engine.path
		if err = w.engine.close(); err == nil {
			if err := sealRoot(live); err != nil { // the next writer has nothing to compare with
				w.logger.Debug("write the hash of the engine's state", "error", err)
			}
		}
		w.engine = nil
	}
	if w.failed == nil {
		w.failed = ErrClosed
	}
	err = errors.Join(err, w.lock.Unlock())
	w.lock = nil
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
