package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	engineapi "github.com/blevesearch/bleve_index_api"

	"pigrep/internal/files"
)

// Compact writes the index anew as one segment and publishes it as the only
// generation. What was deleted is in no file of the index afterwards. Readers
// that have an older generation open keep it; on systems where it cannot be
// removed then, the next publishing removes it.
func (w *Writer) Compact(ctx context.Context) error {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if err := w.compact(ctx); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}

func (w *Writer) compact(ctx context.Context) error {
	if err := w.mergeAll(ctx); err != nil {
		if w.engine.failure() != nil {
			return w.fail(err)
		}
		return err
	}
	if err := w.publish(); err != nil {
		return err
	}
	// The engine's state file keeps old values in its free pages, and its old
	// segments go when it finds the time. A copy has neither.
	live := w.engine.path
	err := w.engine.copyTo(live + tempExt)
	err = errors.Join(err, w.engine.close())
	if err == nil {
		err = replaceDir(live+tempExt, live)
	}
	if err == nil {
		err = w.openLive(live)
	}
	if err != nil {
		w.mu.Lock()
		w.engine, w.failed = nil, fmt.Errorf("%w after an error: %v", ErrClosed, err)
		w.mu.Unlock()
		return err
	}
	w.prune(1)
	return nil
}

// mergeTries bounds how often segments are merged again because the engine was
// just merging some by itself.
const mergeTries = 10

// mergeAll merges all segments into one without deleted documents.
func (w *Writer) mergeAll(ctx context.Context) error {
	for range mergeTries {
		segments, deleted, err := w.segmentCounts()
		if err != nil || segments == 0 || segments == 1 && !deleted {
			return err
		}
		if segments == 1 {
			// The engine merges two at least: a record that is written again
			// makes a second one.
			if err := w.rewriteOne(); err != nil {
				return err
			}
		}
		if err := w.mergeOnce(ctx); err != nil {
			return err
		}
	}
	if err := w.engine.failure(); err != nil {
		return err
	}
	return errors.New("segments are left")
}

// mergeOnce merges all segments.
func (w *Writer) mergeOnce(ctx context.Context) error {
	options := mergeplan.SingleSegmentMergePlanOptions
	options.SegmentsPerMergeTask = 1 << 20
	options.ScoreSegments = func(list []mergeplan.Segment, _ *mergeplan.MergePlanOptions) float64 {
		return -float64(len(list)) // all of them at once is best
	}
	return w.mergeBy(ctx, &options)
}

func (w *Writer) mergeBy(ctx context.Context, options *mergeplan.MergePlanOptions) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer contain("merge segments", &err)()
		err = w.engine.ForceMerge(ctx, options)
	}()
	select {
	case err := <-done:
		return cmp.Or(err, ctx.Err())
	case <-w.engine.failing: // it would try again for ever
		return w.engine.failure()
	}
}

func (w *Writer) segmentCounts() (segments int, deleted bool, err error) {
	snapshot, err := w.engine.snapshot()
	if err != nil {
		return 0, false, err
	}
	defer snapshot.Close()
	for _, s := range snapshot.Segments() {
		segments++
		deleted = deleted || s.Deleted() != nil && !s.Deleted().IsEmpty()
	}
	return segments, deleted, nil
}

// rewriteOne commits the record of some file again.
func (w *Writer) rewriteOne() error {
	snapshot, err := w.engine.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	for i := range w.table.rows {
		file := w.table.rows[i].File
		record, err := stored(snapshot, recordID(file))
		if err != nil {
			return err
		}
		if record == nil {
			continue
		}
		b := &stockBuilder{}
		b.put(recordID(file), record)
		batch := engineapi.NewBatch()
		for _, d := range b.docs {
			batch.Update(d)
		}
		return w.engine.apply(batch)
	}
	return nil
}

// copyTo makes a copy of the live state, its segments further names of the same
// files.
func (e *liveEngine) copyTo(dir string) (err error) {
	defer contain("copy the live state", &err)()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := makeDirs(dir); err != nil {
		return err
	}
	r := e.CopyReader() // until it is closed the engine removes no segments
	err = r.CopyTo(&copyTarget{from: e.path, to: dir})
	if err = errors.Join(err, r.CloseCopyReader()); err != nil {
		return err
	}
	return errors.Join(tighten(dir), files.SyncDir(dir))
}

// copyTarget is the engine's view of the directory it copies a state to.
type copyTarget struct{ from, to string }

// GetWriter implements the engine's Directory. For a segment it makes the copy
// itself and returns no writer, by which the engine knows that it need not.
func (t *copyTarget) GetWriter(path string) (io.WriteCloser, error) {
	name := filepath.Base(path)
	if strings.HasSuffix(name, segmentExt) {
		return nil, files.LinkOrCopy(filepath.Join(t.from, name), filepath.Join(t.to, name), fileMode)
	}
	return os.OpenFile(filepath.Join(t.to, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
}

// leftovers removes what a crash in the middle of replacing the live state has
// left, or puts it in its place: the new state is complete when the old one has
// gone.
func (w *Writer) leftovers() {
	live := filepath.Join(w.dir, liveName)
	if _, err := os.Stat(live); errors.Is(err, fs.ErrNotExist) {
		if err := files.Rename(live+tempExt, live); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.logger.Debug("take the new state", "error", err)
		}
	}
	for _, ext := range []string{tempExt, oldExt} {
		path := filepath.Join(w.dir, liveName+ext)
		if err := os.RemoveAll(path); err != nil {
			w.logger.Debug("remove an old state", "path", path, "error", err)
		}
	}
}
