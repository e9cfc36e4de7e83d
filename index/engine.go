package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	engineapi "github.com/blevesearch/bleve_index_api"
	zapapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/segment"
	"pigrep/internal/files"
)

// Names of the engine's files.
const (
	rootFile   = "root.bolt"
	segmentExt = ".zap"
)

// tableKey is the engine's internal key of the table of summaries.
var tableKey = []byte("files")

// lockWait bounds how long the engine waits for its own file lock. Nobody else
// holds it, so that waiting means a bug, and must not last for ever.
const lockWait = "2s"

// The engine finds its callbacks by name in a table that is not meant for
// concurrent changes: one callback serves all writers, by path.
const callbackName = "pigrep"

var liveEngines sync.Map // path of the engine's directory → *liveEngine

func init() {
	scorch.RegistryAsyncErrorCallbacks[callbackName] = func(err error, path string) {
		if e, ok := liveEngines.Load(path); ok {
			e.(*liveEngine).report(err)
		}
	}
}

// liveEngine is the engine opened for writing.
type liveEngine struct {
	*scorch.Scorch
	path    string
	queue   *engineapi.AnalysisQueue
	failing chan struct{} // closed at the first failure in the background
	dead    chan struct{} // closed when a part of the engine has died
	closing chan struct{}

	mu   sync.Mutex
	err  error // the first failure in the background
	died bool
}

// retryPause slows the engine down while it tries again and again to write to a
// full disk.
const retryPause = 20 * time.Millisecond

// neverMerge is a plan of merging that an index of any size does not reach: what
// the engine begins in the background most writers do not live long enough to
// see the end of.
var neverMerge = map[string]any{
	"MaxSegmentsPerTier": 100_000, "MaxSegmentSize": 5_000_000, "TierGrowth": 10, "SegmentsPerMergeTask": 10, "FloorSegmentSize": 1,
}

// openLive opens the engine for writing, and makes it when the directory is
// empty.
func openLive(path string) (e *liveEngine, err error) {
	defer contain("open the engine", &err)()
	e = &liveEngine{path: path, failing: make(chan struct{}), dead: make(chan struct{}), closing: make(chan struct{})}
	e.queue = engineapi.NewAnalysisQueue(1) // documents come analyzed
	config := map[string]any{
		"path":                   path,
		"bolt_timeout":           lockWait,
		"asyncErrorCallbackName": callbackName,
		"scorchMergePlanOptions": neverMerge,
	}
	idx, err := scorch.NewScorch(scorch.Name, config, e.queue)
	if err != nil {
		e.queue.Close()
		return nil, damaged("open the engine: %v", err)
	}
	e.Scorch = idx.(*scorch.Scorch)
	liveEngines.Store(path, e)
	if err := e.Scorch.Open(); err != nil {
		liveEngines.Delete(path)
		e.queue.Close()
		return nil, openError(path, err)
	}
	return e, nil
}

// openError tells failures of the system from damage.
func openError(path string, err error) error {
	var sys *os.PathError
	if errors.As(err, &sys) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return damaged("open %s: %v", path, err)
}

// report takes a failure in the background. It runs on the goroutine of the
// engine that failed.
func (e *liveEngine) report(err error) {
	if errors.Is(err, scorch.ErrCleanup) {
		return // old files stay a while longer
	}
	died := errors.Is(err, scorch.ErrAsyncPanic)
	e.mu.Lock()
	if e.err == nil {
		e.err = err
		close(e.failing)
	}
	if died && !e.died {
		e.died = true
		close(e.dead)
	}
	e.mu.Unlock()
	if died {
		return
	}
	select {
	case <-e.closing:
	case <-time.After(retryPause):
	}
}

// failure returns the first failure in the background.
func (e *liveEngine) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// apply runs a batch. When a goroutine of the engine has died the batch would
// wait for it for ever, so that it is left behind.
func (e *liveEngine) apply(b *engineapi.Batch) error {
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer contain("write a batch", &err)()
		err = e.Batch(b)
	}()
	select {
	case err := <-done:
		return err
	case <-e.dead:
		return damaged("%v", e.failure())
	}
}

// close ends the engine and all its goroutines. When one of them has died the
// others may wait for it for ever: then they are left behind, and do nothing
// any more.
func (e *liveEngine) close() error {
	close(e.closing)
	defer e.queue.Close()
	defer liveEngines.Delete(e.path)
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		defer contain("close the engine", &err)()
		err = e.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-e.dead:
	}
	select {
	case <-done:
	case <-time.After(closeWait):
	}
	return damaged("%v", e.failure())
}

// closeWait is how long an engine may take to end after a part of it has died.
const closeWait = time.Second

// explain finds out what a failure of the engine means. Its errors are texts:
// what they are about is looked up on the disk.
func (e *liveEngine) explain(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	if files.NoSpace(err) {
		return ErrFull
	}
	segments, err2 := segmentFiles(e.path)
	if err2 == nil {
		err2 = checkRoot(filepath.Join(e.path, rootFile))
	}
	for _, name := range segments {
		if err2 == nil {
			err2 = verifySegment(context.Background(), filepath.Join(e.path, name))
		}
	}
	if errors.Is(err2, ErrDamaged) {
		return fmt.Errorf("%w (%v)", err2, err)
	}
	return err
}

// snapshot returns the current state, which the caller closes.
func (e *liveEngine) snapshot() (*scorch.IndexSnapshot, error) {
	r, err := e.Reader()
	if err != nil {
		return nil, err
	}
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok || s == nil {
		return nil, ErrClosed
	}
	return s, nil
}

// The following work on segments of either kind, in memory and on disk.

// stored returns what is stored under an id, nil when there is nothing.
func stored(s *scorch.IndexSnapshot, id string) (b []byte, err error) {
	defer contain("read a session record", &err)()
	ids := []string{id}
	for _, seg := range s.Segments() {
		docs, err := seg.DocNumbers(ids)
		if err != nil {
			return nil, damaged("find a session record: %v", err)
		}
		if docs.IsEmpty() {
			continue // what was looked at for that is little, and looked at again for the next
		}
		defer trim(seg)
		err = seg.Segment().VisitStoredFields(uint64(docs.Minimum()), func(name string, _ byte, value []byte, _ []uint64) bool {
			if name == string(fieldRecord) {
				b = append([]byte(nil), value...)
				return false
			}
			return true
		})
		if err != nil {
			return nil, damaged("read a session record: %v", err)
		}
		return b, nil
	}
	return nil, nil
}

// trim is Segment.Trim for a segment of the engine.
func trim(s *scorch.SegmentSnapshot) {
	if z, ok := s.Segment().(*zap.Segment); ok {
		segment.Spare(z.Data())
	}
}

// idsOf returns the engine's ids of a file's documents from an offset on,
// deleted ones included.
func idsOf(s *scorch.IndexSnapshot, file uint32, from int64) (ids []string, err error) {
	defer contain("list the documents of a file", &err)()
	start, end := idRange(file, from)
	for _, seg := range s.Segments() {
		dict, err := seg.Segment().Dictionary(string(fieldID))
		if err != nil {
			return nil, damaged("list the documents of a file: %v", err)
		}
		it := termIterator(dict, start, end)
		for {
			entry, err := it.Next()
			if err != nil {
				return nil, damaged("list the documents of a file: %v", err)
			}
			if entry == nil {
				break
			}
			ids = append(ids, entry.Term)
		}
	}
	return ids, nil
}

func termIterator(dict zapapi.TermDictionary, start, end []byte) zapapi.DictionaryIterator {
	return dict.AutomatonIterator(nil, start, end)
}
