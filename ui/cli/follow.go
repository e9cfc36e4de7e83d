package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/tui"
)

const (
	// pollEvery is the interval between checks for generations of other processes.
	pollEvery = time.Second
	// tellEvery is the interval between reports of progress.
	tellEvery = 100 * time.Millisecond
)

// follow keeps the index up to date, as `pigrep watch` does, and reports its state. With
// --no-update, or if there is a watcher, it only looks for generations of other
// processes.
func (b *backend) follow(ctx context.Context, report func(tui.State)) {
	var mu sync.Mutex
	var state tui.State
	change := func(with func(*tui.State)) {
		mu.Lock()
		defer mu.Unlock()
		before := state
		if with(&state); state != before {
			report(state)
		}
	}
	look := func() {
		n, lag, err := b.newest(ctx)
		if err != nil {
			return
		}
		change(func(s *tui.State) {
			s.Generation, s.Lag = n, lag
			if n == 0 { // the index was removed; the watcher rebuilds it
				s.Ready = false
			}
		})
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	if b.NoUpdate {
		look()
		change(func(s *tui.State) { s.Problem = "as it was indexed" })
	} else {
		look()
		watching.Go(func() { b.watch(ctx, change) })
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			look()
		}
	}
}

// newest identifies the generation or snapshot that a search would use, 0 for none, and says
// what it lacks as far as that is known.
func (b *backend) newest(ctx context.Context) (id uint64, lag string, err error) {
	if !b.behind.Load() {
		id, err := index.Newest(b.IndexDir)
		return id.Hash, "", err
	}
	x, err := b.index.Snapshot(ctx)
	if err != nil {
		return 0, "", err
	}
	defer x.Close()
	return x.Number, x.Lag(), nil
}

// watch keeps the index up to date until the context ends or an update fails.
func (b *backend) watch(ctx context.Context, change func(func(*tui.State))) {
	a := b.App
	opt := indexer.WatchOptions{Options: snapshot.Options(b.Location)}
	var told time.Time
	opt.Progress = func(at indexer.Progress) {
		now := a.Now()
		if now.Sub(told).Abs() < tellEvery {
			return
		}
		told = now
		change(func(s *tui.State) {
			if !s.Ready { // later updates are too short to show progress
				s.Indexing, s.First, s.Share, s.Left = true, at.First, at.Share(), at.Left.Round(time.Second)
			}
		})
	}
	opt.Tell = func(e indexer.WatchEvent) {
		change(func(s *tui.State) {
			switch e.Kind {
			case indexer.WatchReady, indexer.WatchUpdated:
				b.behind.Store(false)
				*s = tui.State{Generation: e.Generation.Hash, Ready: true}
				if !e.Complete {
					s.Problem, s.Hint = "not all files can be read", "pigrep status lists them"
				}
			case indexer.WatchWaiting:
				b.behind.Store(true)
				s.Indexing, s.Problem, s.Hint = false, "another process writes the index", ""
			case indexer.WatchFailed:
				b.behind.Store(true)
				s.Indexing = false
				s.Problem, s.Hint = b.updateProblem(e.Err)
			}
		})
	}
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil { // the TUI can still search
				err = fmt.Errorf("internal error: %v", r)
			}
		}()
		return indexer.Watch(ctx, opt)
	}()
	b.behind.Store(true)
	change(func(s *tui.State) {
		s.Indexing = false
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, indexer.ErrWatched):
			s.Ready, s.Problem, s.Hint = true, "", ""
		default:
			s.Problem, s.Hint = b.updateProblem(err)
		}
	})
}

// updateProblem says why the index cannot be updated, and what to do about it.
func (b *backend) updateProblem(err error) (message, hint string) {
	where := human.Path(b.IndexDir, b.App.Home)
	return "cannot update the index in " + where + ": " + snapshot.Reason(err), problem.IndexHint(err)
}
