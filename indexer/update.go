package indexer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/keep"
)

// Options say what to index, and where.
type Options struct {
	Dir      string // directory of the index
	Adapter  adapter.Adapter
	Roots    []adapter.Root
	Now      func() time.Time
	Progress func(Progress) // called from one goroutine at a time, often; may be nil
	Logger   *slog.Logger
	PID      int  // of this process, for messages of other processes
	Rebuild  bool // start with an empty index
	Replace  bool // with Rebuild: readers keep the last generation, if it can be used, until the rebuild is complete
	Yield    bool // leave the update to a live watcher
	Stays    bool // the process lives on: an index of a newer version is left to newer processes

	Archive *keep.Archive // of kept sessions; nil: none
	Rules   keep.Rules    // whose sessions an update keeps, before it indexes them

	Again map[string]bool // paths of files to read again from the start, even if they look unchanged

	// Memory indexes what is pending in memory, if it is small; see Result.InMemory and
	// Result.Commit. Without a reader that can be added to, the index is updated.
	Memory bool

	// Await waits while another process builds the first index, and shows its progress. If
	// that process seems dead, what is pending is indexed in memory, unless it is very much.
	Await bool

	Compact bool // then rewrite the index as one segment without deleted documents
	Store   bool // renew the store for Bleve if it was changed, even if no file was

	Wait    time.Duration // how long to wait for another process to finish writing; 0 to fail at once
	Waiting func(error)   // called once after a second of waiting, with an error that names the process; may be nil

	Workers    int   // goroutines that read files; 0: one per core, at most four
	BatchBytes int   // text per batch; 0: DefaultBatch
	BulkBytes  int64 // bytes read from which an update is a bulk; 0: DefaultBulk

	memory memoryLimit // zero: usualMemory
}

// DefaultBatch is the amount of text per commit. More makes a first build faster and
// costs memory in proportion.
const DefaultBatch = 48 << 20

// DefaultBulk is the number of bytes read from which an update is a bulk, which merges
// nothing: merging in proportion would take as long again.
const DefaultBulk = 128 << 20

// A long run publishes at this interval, or less often if publishing would take more than
// one part in publishShare of its time: it looks for duplicates in the whole index.
const (
	publishEvery = 2 * time.Second
	publishShare = 20
)

// firstBatch is the amount of text in the first commit of each worker of a first
// build. It is small so that something can be searched soon and the time left can be
// estimated.
const firstBatch = 4 << 20

// FileError is a file or directory that could not be used.
type FileError struct {
	Path string
	Err  error
}

type Result struct {
	Reader  *index.Reader // of the newest generation, to be closed by the caller; nil if there is none
	Found   *Found
	Rebuilt string // why the index was rebuilt, for people; "" if it was not

	Changes   map[Change]int
	BytesRead int64 // bytes of session files, without those read for comparing
	Entries   int
	Errors    []FileError

	Lag       Lag      // of Reader
	InMemory  Lag      // what Reader has in memory only
	Unwritten error    // why the index could not be updated, where Reader has all of it in memory instead
	Watcher   *Watcher // the watcher that the update was left to; nil if there was none
	Keeping   Keeping  // of the sessions that are kept
	Crowded   bool     // a bulk left more segments than searches should have to read; see Merge

	memory *uncommitted // nil if nothing is in memory only
}

// Complete reports whether the reader has every complete line of every file.
func (r *Result) Complete() bool { return r.Reader != nil && r.Lag.Files == 0 && len(r.Errors) == 0 }

// updateNow is Update without waiting for another writer.
func updateNow(ctx context.Context, o Options) (*Result, error) {
	r := &Result{Changes: make(map[Change]int)}
	reader, err := r.look(o)
	if !o.Memory { // else after the answer: see Commit
		r.Keeping = o.keep(ctx, r.Found, 0)
	}
	switch {
	case err == nil:
		if r.settled(o, reader) {
			return r, nil
		}
	case errors.Is(err, index.ErrNoIndex):
		r.Lag = Behind(r.Found, nil)
	case o.rebuildable(err):
		r.Rebuilt, o.Rebuild = err.Error(), true
	default:
		if r.Lag = Behind(r.Found, nil); !unwritable(err) || !o.fitsMemory(r) {
			return r, err
		}
		r.Unwritten = err
	}
	if o.fitsMemory(r) {
		unseen := r.Lag.Files == 0
		err := r.indexInMemory(ctx, o)
		switch {
		case o.rebuildable(err):
			r.Rebuilt, o.Rebuild = err.Error(), true
		case !errors.Is(err, errTooMuch):
			return r, err
		}
		if unseen { // by the watcher too
			r.Watcher = nil
		}
		*r = Result{Reader: r.Reader, Found: r.Found, Rebuilt: r.Rebuilt, Changes: make(map[Change]int), Lag: r.Lag, Watcher: r.Watcher, Keeping: r.Keeping}
		r.noteUnusable()
	}
	if r.Watcher != nil {
		return r, nil
	}
	return r, r.indexOnDisk(ctx, o)
}

// look finds the files, while it opens the newest generation.
func (r *Result) look(o Options) (reader *index.Reader, err error) {
	var looking sync.WaitGroup
	looking.Go(func() { r.Found = Discover(o.Adapter, o.Roots, o.Archive) })
	reader, err = index.Open(o.Dir)
	looking.Wait()
	r.noteUnusable()
	if err == nil {
		r.setReader(reader)
	}
	return reader, err
}

// settled reports whether the newest generation needs no update. If it does, settled looks
// for a watcher to leave that to.
func (r *Result) settled(o Options, reader *index.Reader) bool {
	if o.asked() {
		return false
	}
	if r.Lag == (Lag{}) {
		if o.Store && reader.StoreChanged() {
			err := o.write(index.WriterOptions{Reader: reader}, func(w *index.Writer) error { // publishing again does it
				_, err := w.Publish()
				return err
			})
			o.logger().Debug("renew the store for Bleve", "error", err)
		}
		r.Changes[Unchanged] = len(r.Found.Files) - r.Changes[Unreadable]
		return true
	}
	if o.Yield && (!o.Await || Building(o.Dir) == nil) {
		if w, err := WatcherOf(o.Dir, o.Now()); err == nil && w.does(r.Lag, o.Now()) {
			r.Watcher = w
		}
	}
	return false
}

// indexOnDisk updates the index, and rebuilds it if it turns out to be damaged or of another
// version.
func (r *Result) indexOnDisk(ctx context.Context, o Options) error {
	k := keeper{Options: o}
	reader, err := k.updateAll(ctx, r)
	if o.rebuildable(err) && !o.Rebuild {
		if reader != nil {
			reader.Close()
		}
		r.Rebuilt, k.Rebuild = err.Error(), true
		reader, err = k.updateAll(ctx, r)
	}
	if reader != nil {
		r.setReader(reader)
	}
	return err
}

// write opens a writer for something.
func (o Options) write(opt index.WriterOptions, something func(*index.Writer) error) error {
	w, err := o.openWriter(opt)
	if err != nil {
		return err
	}
	return errors.Join(something(w), w.Close())
}

func (o Options) openWriter(opt index.WriterOptions) (*index.Writer, error) {
	opt.Logger, opt.PID = o.Logger, o.PID
	opt.Roots = pathsOf(o.Roots)
	return index.OpenWriter(o.Dir, opt)
}

// asked reports whether the index is to be written even if it has every session file.
func (o Options) asked() bool { return o.Rebuild || len(o.Again) > 0 || o.Compact }

// rebuildable reports whether the index is to be rebuilt because of the error. Two versions
// that both live on would rebuild the index in turn, at every line.
func (o Options) rebuildable(err error) bool {
	return errors.Is(err, index.ErrDamaged) || errors.Is(err, index.ErrVersion) && !(o.Stays && errors.Is(err, index.ErrNewer))
}

// keeper updates one index repeatedly, and keeps its writer open until release.
type keeper struct {
	Options
	writer     *index.Writer // nil if released
	bulk       bool          // the last update was large
	generation index.ID      // the last published one
	skipped    int           // malformed pieces of lines in it
}

// update executes a plan and publishes the result, even if the run failed or was
// interrupted, unless it replaces the index. It returns the steps with their outcome. After a bulk and after a failure
// the writer is released.
func (k *keeper) update(ctx context.Context, r *Result, plan func(*index.Writer) []Step) ([]Step, error) {
	if k.writer == nil {
		writer, err := k.openWriter(index.WriterOptions{Rebuild: k.Rebuild, Reader: r.Reader})
		if err != nil {
			return nil, err
		}
		k.writer = writer
	} else {
		k.merge()
	}
	u := &update{Options: k.Options, target: k.writer, steps: plan(k.writer), res: r}
	u.onlyWhole = k.Rebuild && k.Replace && r.Reader != nil && r.Rebuilt == ""
	u.prepare()
	end := u.announce(k.writer)
	before := r.BytesRead
	err := u.run(ctx)
	k.bulk = r.BytesRead-before >= cmp.Or(k.BulkBytes, DefaultBulk)
	var publishErr error
	if err == nil || !u.onlyWhole {
		var generation index.ID
		if generation, publishErr = k.writer.Publish(); publishErr == nil {
			k.generation, k.skipped = generation, k.writer.Table().Skipped
		}
	}
	end(err == nil && publishErr == nil)
	if k.Compact && err == nil && publishErr == nil {
		err = k.writer.Compact(ctx)
	}
	failed := cmp.Or(err, publishErr)
	if k.bulk || failed != nil && !errors.Is(failed, context.Canceled) {
		// Later updates merge in proportion to their own size.
		k.logger().Debug("release the writer", "error", failed, "closing", k.release())
	}
	return u.steps, failed
}

// updateAll compares all discovered files with the index, updates it, and opens it
// while the writer is being released.
func (k *keeper) updateAll(ctx context.Context, r *Result) (*index.Reader, error) {
	steps, err := k.update(ctx, r, func(ix *index.Writer) []Step {
		steps := plan(r.Found, ix, planOptions{unchanged: len(k.Again) > 0})
		for i := range steps {
			steps[i].again(k.Again)
		}
		return steps
	})
	if errors.Is(err, index.ErrLocked) {
		return nil, err
	}
	r.noteRead(steps)
	released := make(chan error, 1)
	go func() { released <- k.release() }()
	open := func() (*index.Reader, error) { return index.Open(k.Dir) }
	if r.Reader != nil {
		open = r.Reader.Reopen // which shares segments
	}
	reader, openErr := open()
	return reader, cmp.Or(err, <-released, openErr)
}

// release closes the writer, so that other processes can write.
func (k *keeper) release() error {
	if k.writer == nil {
		return nil
	}
	k.merge()
	writer := k.writer
	k.writer = nil
	return writer.Close()
}

// merge merges small segments. An error is only logged: the next merge tries again.
func (k *keeper) merge() {
	if k.bulk {
		return
	}
	if err := k.writer.Merge(); err != nil {
		k.logger().Debug("merge segments", "error", err)
	}
}

// Merge merges the segments that a bulk left, until no reader is Crowded. It takes a third
// of the CPU of indexing the files. Between the steps, other processes can write. If one is
// writing, or the index cannot be written, it does nothing.
func Merge(ctx context.Context, o Options) error {
	for {
		r, err := index.Open(o.Dir)
		if err != nil {
			return err
		}
		crowded := r.Crowded()
		if err := r.Close(); err != nil || !crowded {
			return err
		}
		err = o.write(index.WriterOptions{}, func(w *index.Writer) error { return w.MergeBulk(ctx) })
		switch {
		case unwritable(err):
			return nil
		case err != nil:
			return err
		}
	}
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// noteUnusable records what discovery could not read.
func (r *Result) noteUnusable() {
	r.Errors = append(r.Errors, r.Found.Errors()...)
	if n := len(r.Found.Errors()) - len(r.Found.Unreadable); n > 0 {
		r.Changes[Unreadable] += n
	}
}

// LeftOut lists the files of a generation whose text is not all there: lines that are too long,
// and what could not be decompressed. An answer from it is not complete.
func LeftOut(r *index.Reader, maxLine int64) []FileError {
	var list []FileError
	for i := range r.Table().Len() {
		if c := r.Table().Checkpoint(i); !c.LeavesOut() {
			continue
		}
		if rec, err := r.Record(r.Table().File(i)); err == nil && rec != nil { // else checks report it
			list = append(list, LeftOutOf(rec, maxLine)...)
		}
	}
	return list
}

func LeftOutOf(rec *session.Record, maxLine int64) (list []FileError) {
	if end := adapter.EndOf(&rec.Checkpoint); end != nil {
		list = append(list, FileError{rec.Path, end})
	}
	var tooLong *adapter.TooLongError
	for _, p := range rec.Problems {
		if p.Reason == adapter.TooLong {
			tooLong = tooLong.Add(p.Line, p.Offset, maxLine)
		}
	}
	if tooLong != nil {
		list = append(list, FileError{rec.Path, tooLong})
	}
	return list
}

// noteRead takes over how the files looked when they were read. A file that grew after it
// was found is not behind: all that it had then is indexed.
func (r *Result) noteRead(steps []Step) {
	for i := range steps {
		s := &steps[i]
		if s.Change != Grown && s.Change != New && s.Change != Rewritten && s.Change != Truncated {
			continue
		}
		if at, ok := r.Found.find(s.File.Path); ok {
			r.Found.Files[at] = s.File
		}
	}
}

// setReader replaces the reader, and computes its lag.
func (r *Result) setReader(reader *index.Reader) {
	if r.Reader != nil {
		r.Reader.Close()
	}
	r.Reader, r.Crowded = reader, reader.Crowded()
	r.Lag = Behind(r.Found, reader.Table())
}

// target is what an update adds to: an index.Writer, or memory.
type target interface {
	// RecordToContinue returns the session record of a file as of its checkpoint, with
	// its facts; nil when there is none.
	RecordToContinue(file uint32) (*session.Record, error)
	// NextFile returns a number for a new file.
	NextFile() uint32
	Commit(*index.Batch) error
	Publish() (index.ID, error)
	Empty() bool
}

// update is one run over the files that changed.
type update struct {
	Options
	target target
	steps  []Step
	todo   []*Step // those that change the index
	res    *Result

	onlyWhole bool // nothing is published before everything is indexed

	mu        sync.Mutex // guards res, done and publishAt
	done      Progress
	pace      pace
	publishAt time.Time
}

// prepare must be called before run.
func (u *update) prepare() {
	u.Workers = cmp.Or(u.Workers, min(4, runtime.GOMAXPROCS(0)))
	u.BatchBytes = cmp.Or(u.BatchBytes, DefaultBatch)
	now := u.Now()
	u.done.First = u.target.Empty()
	switch {
	case u.onlyWhole:
		u.publishAt = now.Add(math.MaxInt64)
	case !u.done.First:
		u.publishAt = now.Add(publishEvery)
	}
	u.choose()
	for _, s := range u.todo {
		u.done.FilesTotal++
		u.done.BytesTotal += s.Pending
	}
	u.Workers = min(u.Workers, len(u.todo))
	u.pace = pace{start: now, workers: u.Workers}
}

func (u *update) run(outer context.Context) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(outer)
	for range u.Workers {
		g.Go(func() (err error) {
			var reading string
			defer func() {
				if r := recover(); r != nil { // a panic would end the process and leave the terminal unusable
					u.logger().Debug("panic", "value", r, "stack", string(debug.Stack()))
					err = fmt.Errorf("read %s: internal error: %v", reading, r)
				}
			}()
			w := &worker{update: u, batch: index.NewBatch(), folder: shellcmd.NewFolder(), limit: u.BatchBytes}
			if u.done.First {
				w.limit = min(w.limit, firstBatch)
			}
			for err == nil && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(u.todo) {
					break
				}
				reading = u.todo[i].File.Path
				err = w.step(ctx, u.todo[i])
			}
			// Work finished before an interruption is kept.
			if err == nil || errors.Is(err, ctx.Err()) {
				err = cmp.Or(w.commit(), err)
			}
			u.mu.Lock()
			u.res.Entries += w.entries
			u.mu.Unlock()
			return err
		})
	}
	return cmp.Or(g.Wait(), outer.Err())
}

// choose selects the steps that change the index, and counts the other files.
func (u *update) choose() {
	changed := 0 // of the files that were found
	for i := range u.steps {
		s := &u.steps[i]
		switch s.Change {
		case Unchanged:
		case Unreadable:
			if s.File.Err != nil { // counted by discovery
				changed++
			} else if s.File.Mtime != 0 { // else its directory cannot be read
				changed++
				u.res.Changes[Unreadable]++
				u.res.Errors = append(u.res.Errors, FileError{s.File.Path, s.Err})
			}
		case Gone:
			u.todo = append(u.todo, s)
		default:
			changed++
			u.todo = append(u.todo, s)
		}
	}
	if u.res.Found != nil && len(u.res.Found.Files) > changed { // else the watcher looked at some files only
		u.res.Changes[Unchanged] += len(u.res.Found.Files) - changed
	}
}

// worker reads whole files, and owns the batch with their documents.
type worker struct {
	*update
	batch   *index.Batch
	folder  *shellcmd.Folder
	lines   jsonl.Reader // of small files
	dirty   bool         // the batch is not empty
	bytes   int64        // bytes of session files in the batch
	limit   int          // maximum text of the batch
	entries int

	documents []segment.Document // memory for those of an entry
}

func (w *worker) step(ctx context.Context, s *Step) error {
	w.dirty = true
	switch s.Change {
	case Gone:
		w.batch.DeleteFile(s.Known.File)
	case Touched:
		rec, err := w.target.RecordToContinue(s.Known.File)
		if err != nil {
			return fmt.Errorf("read the session record of %s: %w", s.File.Path, err)
		}
		stamp(&rec.Checkpoint, s.File, rec.Checkpoint.Length, w.Now())
		w.batch.Put(rec, nil)
	default:
		if err := w.readFile(ctx, s); err != nil {
			return err
		}
	}
	w.note(func() {
		w.res.Changes[s.Change]++
		w.done.Files++
	})
	if w.batch.Size() >= w.limit {
		return w.commit()
	}
	return nil
}

// commit commits the batch, and publishes from time to time.
func (w *worker) commit() error {
	if !w.dirty {
		return nil
	}
	began := w.Now()
	w.note(func() { w.pace.commitBegins(began) })
	err := w.target.Commit(w.batch)
	now, due := w.Now(), false
	w.note(func() {
		w.pace.commitEnds(began, now)
		if err != nil {
			return
		}
		w.done.Committed += w.bytes
		if due = !now.Before(w.publishAt); due {
			w.publishAt = now.Add(publishEvery)
		}
	})
	if err != nil {
		return err
	}
	w.batch, w.dirty, w.bytes, w.limit = index.NewBatch(), false, 0, w.BatchBytes
	if !due {
		return nil
	}
	_, err = w.target.Publish()
	took := w.Now().Sub(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.publishAt = now.Add(max(publishEvery, publishShare*took))
	return err
}

func (w *worker) read(bytes int64) {
	w.bytes += bytes
	w.note(func() {
		w.res.BytesRead += bytes
		w.done.Bytes += bytes
	})
}

// more adds to the bytes that have to be read.
func (u *update) more(bytes int64) {
	u.note(func() { u.done.BytesTotal += bytes })
}

// note changes what is counted, and reports the progress.
func (u *update) note(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	if u.Progress != nil {
		u.done.Left = u.pace.left(u.done, u.Now())
		u.Progress(u.done)
	}
}
