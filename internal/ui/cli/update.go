package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

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

// updateToRead updates the index for a command that answers from it. If little is pending,
// it is indexed in memory and committed after the answer. If the command then finds the
// index damaged, Run rebuilds it. opened may be nil; see indexer.Options.
func (a *App) updateToRead(ctx context.Context, p *location, opened func(*index.Reader) func()) (*indexer.Result, error) {
	opt := a.indexing(p)
	opt.Yield, opt.Memory = true, true
	later := opt
	opt.Rebuild, opt.Opened = a.rebuild, opened
	opt.Trust = opened != nil // grep needs the list of the files
	res, err := a.updateWith(ctx, opt)
	a.mayRebuild = true
	a.afterwards = func(ctx context.Context) error {
		err := res.Commit(ctx, later)
		if res.Crowded {
			a.mergeInBackground(p)
		}
		return err
	}
	return res, err
}

// updateWith runs the indexer and shows progress on stderr.
func (a *App) updateWith(ctx context.Context, opt indexer.Options) (*indexer.Result, error) {
	progress, end := a.newProgress()
	defer end()
	memory := &updateMemory{}
	defer memory.restore()
	if opt.Compact {
		memory.reads(largeUpdate)
	}
	opt.Progress = func(p indexer.Progress) {
		memory.reads(p.BytesTotal)
		if progress != nil {
			progress(p)
		}
	}
	start := a.Now()
	res, err := indexer.Update(ctx, opt)
	a.logger().Debug("index compared and updated", "dir", opt.Dir, "took", a.Now().Sub(start).String(),
		"files", res.Found.Len(), "bytes", res.BytesRead, "entries", res.Entries)
	if ctx.Err() != nil {
		a.kept = keptText(res)
	}
	return res, err
}

// mergePause is how long the index must have been idle before a merge starts. So a merge
// that fails, because the disk is full or a segment is damaged, is not retried after
// every answer.
const mergePause = time.Minute

// mergeInBackground starts `pigrep index --merge`, and does not wait for it. Merging is
// never needed for an answer: if it cannot be started, a later command tries again.
func (a *App) mergeInBackground(p *location) {
	if a.Background == nil {
		return
	}
	if pid, err := index.WriterPID(p.indexDir); pid != 0 || err != nil {
		return
	}
	if last, err := index.LastWriter(p.indexDir); err != nil || a.Now().Sub(last) < mergePause {
		return
	}
	program, err := a.Executable()
	if err == nil {
		err = a.Background(program, "index", "--merge", "--quiet", "--index-dir", p.indexDir)
	}
	a.logger().Debug("merge segments in the background", "error", err)
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
