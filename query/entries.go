package query

import (
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/match"
)

// A worker reads the entries of candidates again, with the memory that looking at
// them takes. It is used by one goroutine at a time.
type worker struct {
	*entry.Reader
	file             *file
	json             match.JSONFolder
	folder, commands analysis.Folder
	finder           *match.Finder
}

// worker returns a worker that no goroutine uses. The caller gives it back with
// done.
func (s *searcher) worker() *worker {
	s.idle.Lock()
	defer s.idle.Unlock()
	if n := len(s.workers); n > 0 {
		w := s.workers[n-1]
		s.workers = s.workers[:n-1]
		return w
	}
	return &worker{Reader: entry.NewReader(s.src, s.a), finder: match.NewFinder(targets(s.plans))}
}

// done takes back a worker.
func (s *searcher) done(w *worker) {
	w.use(nil)
	w.Limit = 0
	s.idle.Lock()
	defer s.idle.Unlock()
	s.workers = append(s.workers, w)
}

// use makes a worker read the entries of a file from now on.
func (w *worker) use(f *file) {
	w.file = f
	if f == nil {
		w.Use(nil)
	} else {
		w.Use(f.Summary)
	}
}

// ref returns where the entry of a resolved candidate is, and what it must be. It
// needs no session record: an entry ends where its line does, about guess bytes
// from its offset.
func (w *worker) ref(c *candidate, guess int64) (entry.Ref, entry.Identity, error) {
	ref := entry.Ref{Offset: c.offset, Guess: guess}
	id := entry.Identity{Copy: c.copy, Parts: int(c.part) + 1}
	if o := w.file.outline; o != nil {
		e, ok := o.At(c.offset)
		if !ok {
			return ref, id, entry.ErrChanged
		}
		ref, id.ID = entry.RefOf(&e.Node), e.ID
	}
	return ref, id, nil
}

// entry hands over the entry of a resolved candidate, or fails with
// entry.ErrChanged.
func (w *worker) entry(c *candidate, guess int64, use func(*session.Entry)) error {
	ref, id, err := w.ref(c, guess)
	if err != nil {
		return err
	}
	return w.Read(ref, id, use)
}

// eachWorker calls work with the numbers below n, on all cores, each with a worker.
// Those of one call share it.
func (s *searcher) eachWorker(n int, work func(w *worker, k int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(s.ctx)
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			w := s.worker()
			defer s.done(w)
			for {
				k := int(next.Add(1)) - 1
				if k >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(w, k); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// lose counts a hit that is left out because its entry cannot be read: the session
// file has changed, or the system refuses it. It reports whether err is such a
// reason.
func (s *searcher) lose(err error) bool {
	if err == nil || s.ctx.Err() != nil {
		return false
	}
	if errors.Is(err, entry.ErrChanged) {
		s.changed.Add(1)
		return true
	}
	s.unreadable.Add(1)
	s.unreadableErr.CompareAndSwap(nil, &err)
	return true
}

// lengthOf guesses how long the line of a resolved candidate is: not longer than
// up to the next entry with documents. It returns 0 when it knows of none.
func (s *searcher) lengthOf(c *candidate) int64 {
	seg := s.segs[c.segment]
	s.touch(seg)
	for doc := c.doc + 1; int(doc) < seg.Len() && doc < c.doc+8 && seg.files.Of(doc) == s.files[c.file].File; doc++ {
		if id, ok := seg.ID(doc); ok && id.Offset != c.offset {
			return id.Offset - c.offset
		}
	}
	return 0
}
