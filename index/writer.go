package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

type WriterOptions struct {
	Logger  *slog.Logger // nil discards everything
	PID     int          // of this process, for the message of ErrLocked
	Roots   []string     // the session directories, which status names when they are gone
	Rebuild bool         // start with an empty index; readers keep the last generation until the next Publish
	Reader  *Reader      // of the same directory, to share open segments with; may be nil
}

// Writer is the one writer of an index. It is safe for concurrent use.
type Writer struct {
	*directory
	logger *slog.Logger

	work      sync.Mutex     // serializes commits, publishing, merging and closing, which are slow
	added     int            // documents of all commits
	published *generation    // the newest one that readers know; nil if none can be read
	pruning   sync.WaitGroup // removes old generations and renews the store after publishing

	mu     sync.Mutex // guards the fields below; changing them also requires work
	head   *head
	next   uint32 // what NextFile returns next
	failed error  // set once; nothing is written afterwards
	closed bool
}

// The head of a writer is the generation of its last commit, which is open and may not be
// published yet. It is immutable. The next head shares the segments that a commit does
// not replace.
type head struct {
	generation *generation // nil before the first commit of a new index
	segments   []*segment.Segment
	table      *record.Table
}

// OpenWriter claims the directory, takes its lock, and opens the last commit. It fails with
// ErrForeign if that is not an index, with ErrLocked while another writer is open, and with
// ErrVersion or ErrDamaged if the index must be rebuilt; the caller may then open it again
// with Rebuild. The caller must close the writer.
func OpenWriter(dir string, opt WriterOptions) (*Writer, error) {
	logger := opt.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	d, err := openDirectory(dir, opt.PID)
	if err != nil {
		return nil, err
	}
	w := &Writer{directory: d, logger: logger}
	if err := w.open(opt); err != nil {
		_ = d.close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) open(opt WriterOptions) error {
	h, err := w.readHead(opt)
	if err != nil {
		if h != nil {
			err = errors.Join(err, release(h.segments))
		}
		return err
	}
	if err := w.readSegments(); err != nil {
		return errors.Join(fmt.Errorf("read the index directory: %w", err), release(h.segments))
	}
	if opt.Rebuild {
		err = layout.Remove(w.root, layout.Former)
	}
	if err = errors.Join(err, w.noteRoots(opt.Roots)); err != nil {
		w.logger.Debug("note the session directories", "error", err)
	}
	w.head, w.next = h, h.table.Next
	return nil
}

// readHead opens the generation of the last writer, or an empty head if there is none or
// the index is rebuilt. It shares the open segments of the reader. With an error it may
// return a head, whose segments are then to be released.
func (w *Writer) readHead(opt WriterOptions) (*head, error) {
	var have []*segment.Segment
	if opt.Reader != nil {
		have = opt.Reader.segments
	}
	numbers, _, err := generations(w.root.FS())
	if err != nil {
		return nil, fmt.Errorf("read the index directory: %w", err)
	}
	// If current cannot be read, the next publishing replaces it.
	current, _ := currentNumber(w.path)
	if w.last = current; len(numbers) > 0 {
		w.last = max(w.last, numbers[0])
	}
	if w.last == 0 || opt.Rebuild {
		if current != 0 {
			err = w.replace(rebuildName, nil)
		}
		return &head{table: &record.Table{Next: 1}}, err
	}
	h, err := w.openHead(w.last, have)
	if err != nil {
		return nil, err
	}
	if current == w.last {
		w.published = h.generation
		return h, layout.Remove(w.root, rebuildName)
	}
	old, err := w.openHead(current, have)
	if err != nil { // nothing can be derived from it
		return h, nil
	}
	w.published = old.generation
	if !layout.Exists(w.root, rebuildName) {
		return h, release(old.segments)
	}
	// A rebuild counts only when it is complete.
	return old, errors.Join(release(h.segments), layout.Remove(w.root, h.generation.name()), layout.Remove(w.root, rebuildName))
}

func (w *Writer) openHead(number uint64, have []*segment.Segment) (h *head, err error) {
	h = &head{}
	if h.generation, err = readManifest(w.path, number); err == nil {
		var state []byte
		if state, err = files.ReadFile(filepath.Join(h.generation.path, stateName)); err == nil {
			h.segments, h.table, err = h.generation.open(state, have)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = format.Damaged("generation %d is not complete: %v", number, err)
	}
	if err != nil {
		return nil, errors.Join(err, release(h.segments))
	}
	return h, nil
}

// Continues reports whether the reader's generation is the last commit, so that batches
// that were added to the reader can be committed.
func (w *Writer) Continues(r *Reader) bool {
	return w.Head() == r.ID()
}

// Head returns the last commit; zero if there is none.
func (w *Writer) Head() ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head.generation == nil {
		return ID{}
	}
	return w.head.generation.ID
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
	err = w.reading(func(segments []*segment.Segment) error {
		records, err := recordsToContinue(segments, []uint32{file}, w.earlierFacts)
		r = records[file]
		return err
	})
	return r, err
}

// earlierFacts returns a piece of the facts of a file as of the last commit. The record to
// continue reads earlier pieces from the writer that returned it, while that is open.
func (w *Writer) earlierFacts(file uint32, piece int) (f *session.Facts, err error) {
	err = w.reading(func(segments []*segment.Segment) error {
		f, err = earlierFacts(segments, file, piece)
		return err
	})
	return f, err
}

// reading calls a function with the segments of the last commit.
func (w *Writer) reading(read func([]*segment.Segment) error) error {
	w.mu.Lock()
	if w.failed != nil {
		defer w.mu.Unlock()
		return w.failed
	}
	segments := retain(w.head.segments...)
	w.mu.Unlock()
	return errors.Join(read(segments), release(segments))
}

// NextFile returns a number for a new file. No number is returned twice during the
// life of an index, provided that the last used one is committed.
func (w *Writer) NextFile() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	return w.next - 1
}

// Announce tells other processes one line of text: see Announcement. It stays until another
// one replaces it, even after the writer has been closed or killed.
func (w *Writer) Announce(text string) error {
	if err := w.ours(); err != nil {
		return err
	}
	f, err := w.root.OpenFile(lockName, os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	pid, _ := linesOf(f)
	return errors.Join(writeLines(f, pid, text), f.Close())
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
	w.mu.Lock()
	next := w.next
	w.mu.Unlock()
	table := b.table(w.head.table, next)
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

// advance makes a generation of the segments and the table, and makes it the head
// when it is on disk. If it fails, the segments are released. Written files are
// synced with the generation and closed.
func (w *Writer) advance(segments []*segment.Segment, t *record.Table, written ...*os.File) error {
	g := w.nextGeneration()
	if err := w.write(g, segments, t, written); err != nil {
		err = errors.Join(err, layout.Remove(w.root, g.name()+tempExt), release(segments))
		if !layout.Exists(w.root, g.name()) { // else it is complete, and names them
			for _, s := range segments {
				if !slices.ContainsFunc(w.head.segments, func(o *segment.Segment) bool { return o.Path() == s.Path() }) {
					_ = w.removeSegment(s.Path())
				}
			}
		}
		return err
	}
	w.mu.Lock()
	before := w.head
	w.head = &head{g, segments, t}
	w.mu.Unlock()
	if old := before.generation; old != nil && (w.published == nil || old.Number != w.published.Number) {
		if err := layout.Remove(w.root, old.name()); err != nil { // no reader knows of it
			w.logger.Debug("remove an old generation", "path", old.path, "error", err)
		}
	}
	return release(before.segments)
}

// alone runs do while nothing else changes the index. doing names it in errors.
func (w *Writer) alone(doing string, do func() error) error {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", doing, w.explain(err))
	}
	return nil
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
		return fmt.Errorf("%w (after: %v)", err2, err)
	}
	for _, s := range w.head.segments {
		if err2 := s.Verify(context.Background()); errors.Is(err2, ErrDamaged) {
			return fmt.Errorf("%w (after: %v)", err2, err)
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
	if w.closed {
		return nil
	}
	if w.failed == nil {
		w.failed = ErrClosed
	}
	err := errors.Join(release(w.head.segments), w.close())
	w.head.segments, w.closed = nil, true
	return err
}
