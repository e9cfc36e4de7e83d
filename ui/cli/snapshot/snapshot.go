// Package snapshot opens the index for an answer, up to date if it can be, and knows what
// it lacks.
package snapshot

import (
	"context"
	"errors"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/update"
)

// Snapshot is an open generation of the index, the part indexed in memory only, and how
// far both are behind the session files.
type Snapshot struct {
	Reader  *index.Reader
	Agents  *adapter.Registry
	State   search.IndexState // for responses, which fill in the rest
	Missing indexer.Lag       // what the reader does not have
	Errors  []indexer.FileError
}

func (x *Snapshot) Close() error { return x.Reader.Close() }

// Report completes the state of the index in an answer, and prints the warnings of the
// answer unless it is JSON, which includes them.
func (x *Snapshot) Report(a *app.App, answer *search.IndexState, warnings []string) {
	answer.PendingFiles, answer.PendingBytes, answer.Complete = x.State.PendingFiles, x.State.PendingBytes, x.State.Complete
	if a.JSON {
		return
	}
	for _, w := range warnings {
		a.Warn("%s", w)
	}
}

// Open updates the index, unless --no-update is given, and opens its newest generation.
func Open(ctx context.Context, o *flags.Shared, a *app.App, p *location.Location) (*Snapshot, error) {
	return openWith(ctx, o, a, p, &speculation{})
}

// Ask opens the index like Open and runs a question on it. Usually nothing has changed
// since the last run, so the question runs while the files are still being compared; if
// something has changed, it runs again.
func Ask(ctx context.Context, o *flags.Shared, a *app.App, p *location.Location, question func(context.Context, *index.Reader) error) (*Snapshot, error) {
	e := &speculation{question: question}
	x, err := openWith(ctx, o, a, p, e)
	if err != nil {
		return nil, err
	}
	asked, err := e.wait()
	if !asked {
		err = question(ctx, x.Reader)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

func openWith(ctx context.Context, o *flags.Shared, a *app.App, p *location.Location, e *speculation) (*Snapshot, error) {
	if o.NoUpdate {
		return openAsIs(a, p)
	}
	res, err := update.ToRead(ctx, a, p, func(r *index.Reader) func() { return e.begin(ctx, r) })
	if err != nil {
		e.stop()
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		if res.Reader != nil {
			res.Reader.Close()
		}
		return nil, ctx.Err()
	case errors.Is(err, index.ErrLocked) && res.Reader != nil:
		a.Advise("run it again in a moment", "%v: the index is behind, %s not in this answer", err, update.LagText(res.Lag))
	case errors.Is(err, index.ErrLocked):
		return nil, problem.OfIndex(err)
	case res.Reader != nil:
		// The indexed text can still be searched.
		a.Advise(problem.IndexHint(err), "the index is behind, %s not in this answer: %v", update.LagText(res.Lag), err)
	default:
		return nil, problem.OfIndex(err)
	}
	if res.Watcher != nil && res.Lag.Files > 0 {
		a.Advise("run it again in a moment", "%s not in this answer yet: the watcher (process %d) has not indexed it", update.LagText(res.Lag), res.Watcher.PID)
	}
	if res.Unwritten != nil {
		update.WarnUnwritten(a, res.Unwritten)
	}
	if res.Rebuilt != "" {
		a.Warn("%s: it was rebuilt", res.Rebuilt)
	}
	update.WarnUnusable(a, res.Errors)
	update.WarnOutside(a, res.Found)
	if res.Found.Len() == 0 {
		update.WarnNoFiles(a, p)
	}
	return &Snapshot{
		Reader:  res.Reader,
		Agents:  p.Agents,
		Missing: res.Lag,
		Errors:  res.Errors,
		State: search.IndexState{
			PendingFiles: res.Lag.Files + res.InMemory.Files, PendingBytes: res.Lag.Bytes + res.InMemory.Bytes,
			Complete: err == nil && res.Complete(),
		},
	}, nil
}

// openAsIs opens the index without updating it and counts what is pending.
func openAsIs(a *app.App, p *location.Location) (*Snapshot, error) {
	reader, err := index.Open(p.IndexDir)
	if err != nil {
		return nil, problem.OfIndex(err)
	}
	found := indexer.Discover(p.Agents, p.Roots)
	x := &Snapshot{Reader: reader, Agents: p.Agents, Errors: append(found.Errors(), indexer.TooLong(reader, found.MaxLine)...)}
	x.Missing = indexer.Behind(found, reader.Table())
	x.State.PendingFiles, x.State.PendingBytes = x.Missing.Files, x.Missing.Bytes
	x.State.Complete = x.Missing.Files == 0 && len(x.Errors) == 0
	if x.Missing.Files > 0 {
		a.Advise("run it without --no-update to search them as well", "the index is behind, %s not in this answer", update.LagText(x.Missing))
	}
	update.WarnUnusable(a, x.Errors)
	update.WarnOutside(a, found)
	return x, nil
}

// StateOf returns the state of the reader's generation.
func StateOf(r *index.Reader) search.IndexState {
	if r == nil {
		return search.IndexState{}
	}
	return search.StateOf(r)
}
