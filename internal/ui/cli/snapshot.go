package cli

import (
	"context"
	"errors"
	"io/fs"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/files"
	"pigrep/query"
)

// snapshot is an open generation of the index, the part indexed in memory only, and how
// far both are behind the session files.
type snapshot struct {
	reader  *index.Reader
	agents  *adapter.Registry
	state   query.IndexState // for responses, which fill in the rest
	missing indexer.Lag      // what the reader does not have
	errors  []indexer.FileError
}

func (x *snapshot) Close() error { return x.reader.Close() }

// report completes the state of the index in an answer, and prints the warnings of the
// answer unless it is JSON, which includes them.
func (x *snapshot) report(a *App, answer *query.IndexState, warnings []string) {
	answer.PendingFiles, answer.PendingBytes, answer.Complete = x.state.PendingFiles, x.state.PendingBytes, x.state.Complete
	if a.json {
		return
	}
	for _, w := range warnings {
		a.warn("%s", w)
	}
}

// open updates the index, unless --no-update is given, and opens its newest generation.
func (o *sharedOptions) open(ctx context.Context, a *App, p *location) (*snapshot, error) {
	return o.openWith(ctx, a, p, &speculation{})
}

// ask opens the index like open and runs a question on it. Usually nothing has changed
// since the last run, so the question runs while the files are still being compared; if
// something has changed, it runs again.
func (o *sharedOptions) ask(ctx context.Context, a *App, p *location, question func(context.Context, *index.Reader) error) (*snapshot, error) {
	e := &speculation{question: question}
	x, err := o.openWith(ctx, a, p, e)
	if err != nil {
		return nil, err
	}
	asked, err := e.wait()
	if !asked {
		err = question(ctx, x.reader)
	}
	if err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

func (o *sharedOptions) openWith(ctx context.Context, a *App, p *location, e *speculation) (*snapshot, error) {
	if o.noUpdate {
		return openAsIs(a, p)
	}
	res, err := a.updateToRead(ctx, p, func(r *index.Reader) func() { return e.begin(ctx, r) })
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
		a.advise("run it again in a moment", "%v: the index is behind, %s not in this answer", err, lagText(res.Lag))
	case errors.Is(err, index.ErrLocked):
		return nil, indexProblem(err)
	case res.Reader != nil:
		// The indexed text can still be searched.
		a.advise(indexHint(err), "the index is behind, %s not in this answer: %v", lagText(res.Lag), err)
	default:
		return nil, indexProblem(err)
	}
	if res.Watcher != nil && res.Lag.Files > 0 {
		a.advise("run it again in a moment", "%s not in this answer yet: the watcher (process %d) has not indexed it", lagText(res.Lag), res.Watcher.PID)
	}
	if res.Unwritten != nil {
		a.warnUnwritten(res.Unwritten)
	}
	if res.Rebuilt != "" {
		a.warn("%s: it was rebuilt", res.Rebuilt)
	}
	a.warnUnusable(res.Errors)
	a.warnOutside(res.Found)
	if res.Found.Len() == 0 {
		a.warnNoFiles(p)
	}
	return &snapshot{
		reader:  res.Reader,
		agents:  p.agents,
		missing: res.Lag,
		errors:  res.Errors,
		state: query.IndexState{
			PendingFiles: res.Lag.Files + res.InMemory.Files, PendingBytes: res.Lag.Bytes + res.InMemory.Bytes,
			Complete: err == nil && res.Complete(),
		},
	}, nil
}

// openAsIs opens the index without updating it and counts what is pending.
func openAsIs(a *App, p *location) (*snapshot, error) {
	reader, err := index.Open(p.indexDir)
	if err != nil {
		return nil, indexProblem(err)
	}
	found := indexer.Discover(p.agents, p.roots)
	x := &snapshot{reader: reader, agents: p.agents, errors: append(found.Errors(), indexer.TooLong(reader, found.MaxLine)...)}
	x.missing = indexer.Behind(found, reader.Table())
	x.state.PendingFiles, x.state.PendingBytes = x.missing.Files, x.missing.Bytes
	x.state.Complete = x.missing.Files == 0 && len(x.errors) == 0
	if x.missing.Files > 0 {
		a.advise("run it without --no-update to search them as well", "the index is behind, %s not in this answer", lagText(x.missing))
	}
	a.warnUnusable(x.errors)
	a.warnOutside(found)
	return x, nil
}

// indexProblem adds hints to an error of the index.
func indexProblem(err error) error {
	switch {
	case errors.Is(err, index.ErrNoIndex):
		return &problem{code: codeNoIndex, message: "there is no index yet", hint: "build it: pigrep index"}
	case errors.Is(err, index.ErrLocked):
		return &problem{code: codeLocked, message: err.Error(), hint: "try again in a moment; `pigrep status` shows which process holds it"}
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		return &problem{code: codeDamaged, err: err, hint: "rebuild it: pigrep index --rebuild"}
	}
	return &problem{code: codeIO, message: "open the index", err: err, hint: indexHint(err)}
}

// updateProblem adds hints to an error of updating the index.
func updateProblem(err error) error {
	problem, ok := errors.AsType[*problem](indexProblem(err))
	if ok && problem.code == codeIO {
		problem.message = "update the index"
	}
	return problem
}

// indexHint returns what to do if the index directory cannot be used.
func indexHint(err error) string {
	const another = ", or use another directory: --index-dir DIR"
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "free some space on its disk" + another
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the index directory" + another
	}
	return "check the index directory" + another
}

// stateOf returns the state of the reader's generation.
func stateOf(r *index.Reader) query.IndexState {
	if r == nil {
		return query.IndexState{}
	}
	return query.StateOf(r)
}
