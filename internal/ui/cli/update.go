package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

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

// defaultWait is how long a command that was asked to write waits for another writer.
const defaultWait = time.Minute

// addWait adds the flag --wait.
func addWait(flags *pflag.FlagSet, wait *time.Duration) {
	*wait = defaultWait
	addFlag(flags, "wait", "", "TIME", "how long to wait for another process to finish writing; 0 to fail at once (default 1m)", wait)
}

// waitFor makes an update wait for another writer. On a terminal it shows who that is.
func (a *App) waitFor(opt *indexer.Options, wait time.Duration) {
	opt.Wait = wait
	if a.Streams.ErrTTY && !a.quiet {
		opt.Waiting = func(err error) { a.warn("waiting: %v", err) }
	}
}
