package rank

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
)

// A Worker reads the entries of candidates, and keeps the buffers for that. It is used
// by one goroutine at a time.
type Worker struct {
	*entry.Reader
	Finder *match.Finder // of the words of the query

	file             *file
	json             match.JSONFolder
	folder, commands analysis.Folder
}

// readers is the pool of Workers of a search.
type readers struct {
	in   Input
	mu   sync.Mutex
	idle []*Worker
}

// Worker returns an idle Worker. The caller must return it with Done.
func (r *readers) Worker() *Worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return w
	}
	return &Worker{Reader: entry.NewReader(r.in.Files, r.in.Adapter), Finder: match.NewFinder(r.in.Plan.Targets())}
}

// Done returns a Worker to the pool.
func (r *readers) Done(w *Worker) {
	w.file = nil
	w.Use(nil)
	w.Limit, w.Facts = 0, false
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, w)
}

// each calls work with each number below n, on all cores. Each goroutine has a Worker of
// its own.
func (r *readers) each(ctx context.Context, n int, work func(w *Worker, k int)) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			w := r.Worker()
			defer r.Done(w)
			for {
				k := int(next.Add(1)) - 1
				if k >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				work(w, k)
			}
		})
	}
	return g.Wait()
}

// use makes a Worker read the entries of a file from now on.
func (w *Worker) use(s *snapshot, at int32) {
	w.file = &s.files[at]
	w.Use(s.summary(at))
}

// ref returns where the entry of a resolved candidate is, and what it must be. It
// needs no session record: an entry ends where its line does, about guess bytes
// from its offset.
func (w *Worker) ref(c *Candidate, guess int64) (entry.Ref, entry.Identity, error) {
	ref := entry.Ref{Offset: c.offset, Guess: guess}
	id := entry.Identity{Copy: c.copy, Parts: int(c.part) + 1}
	if o := w.file.outline; o != nil {
		e, ok := o.At(c.offset)
		if !ok {
			return ref, id, entry.ErrChanged
		}
		ref, id.ID = entry.RefOf(&e.Node, e.Context), e.ID
	}
	return ref, id, nil
}

// entry reads the entry of a resolved candidate. It fails with entry.ErrChanged when the
// file has another one.
func (w *Worker) entry(c *Candidate, guess int64, use func(*session.Entry)) error {
	ref, id, err := w.ref(c, guess)
	if err != nil {
		return err
	}
	return w.Read(ref, id, use)
}
