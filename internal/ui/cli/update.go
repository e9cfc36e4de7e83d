package cli

import (
	"context"
	"errors"
	"time"

	"pigrep/index"
	"pigrep/indexer"
)

// indexing returns the options for indexing the location.
func (a *App) indexing(p *location) indexer.Options {
	return indexer.Options{
		Dir: p.indexDir, Adapter: p.agents, Roots: p.roots, Now: a.Now, Logger: a.logger(),
		PID: a.PID,
	}
}

// update updates the index, unless a watcher is about to.
func (a *App) update(ctx context.Context, p *location, rebuild bool) (*indexer.Result, error) {
	opt := a.indexing(p)
	opt.Rebuild, opt.Yield = rebuild, true
	return a.updateWith(ctx, opt)
}

// updateWith runs the indexer and shows progress on stderr.
func (a *App) updateWith(ctx context.Context, opt indexer.Options) (*indexer.Result, error) {
	progress, end := a.newProgress()
	defer end()
	memory := &updateMemory{}
	defer memory.restore()
	opt.Progress = func(p indexer.Progress) {
		memory.reads(p.BytesTotal)
		if progress != nil {
			progress(p)
		}
	}
	start := a.Now()
	res, err := indexer.Update(ctx, opt)
	a.logger().Debug("index compared and updated", "dir", opt.Dir, "took", a.Now().Sub(start).String(),
		"files", len(res.Found.Files), "bytes", res.BytesRead, "entries", res.Entries)
	return res, err
}

// besideTries and besideWait limit how long an explicit update waits for a watcher to
// finish its own.
const (
	besideTries = 50
	besideWait  = 100 * time.Millisecond
)

// updateBesideWatcher runs the indexer; if a watcher is updating, it waits for it.
func (a *App) updateBesideWatcher(ctx context.Context, opt indexer.Options) (*indexer.Result, error) {
	for try := 1; ; try++ {
		res, err := a.updateWith(ctx, opt)
		if !errors.Is(err, index.ErrLocked) || try == besideTries {
			return res, err
		}
		if w, watchErr := indexer.WatcherOf(opt.Dir, a.Now()); w == nil || watchErr != nil {
			return res, err
		}
		if res.Reader != nil {
			res.Reader.Close()
		}
		select {
		case <-ctx.Done():
			return res, ctx.Err()
		case <-time.After(besideWait):
		}
	}
}
