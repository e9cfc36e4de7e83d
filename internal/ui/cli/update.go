package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/files"
	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query"
)

// answerer is an index that is open for answering, and how far behind the files
// it is.
type answerer struct {
	reader  *index.Reader
	agents  *adapter.Registry
	state   query.IndexState // of a response, without what the response itself knows
	errors  []indexer.FileError
	rebuilt string
}

func (x *answerer) Close() error { return x.reader.Close() }

// open brings the index of the place up to date, unless that was not wanted, and
// opens its newest generation.
func (o *sharedOptions) open(ctx context.Context, a *App, p *place) (*answerer, error) {
	return o.openWith(ctx, a, p, &early{})
}

// ask is open, and asks the generation that was opened. Most times nothing has
// changed since the last run: it is asked while the files are still being
// compared with it, and once more when something had.
func (o *sharedOptions) ask(ctx context.Context, a *App, p *place, question func(context.Context, *index.Reader) error) (*answerer, error) {
	e := &early{question: question}
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

// early is a question that is asked before it is known whether the answer
// counts, and again when it does not.
type early struct {
	question func(context.Context, *index.Reader) error // nil for none

	cancel   context.CancelFunc // nil before it is asked
	done     chan struct{}
	err      error
	panicked any
	stopped  bool // the answer does not count
}

// begin asks a generation; stop must be called before that is closed.
func (e *early) begin(ctx context.Context, r *index.Reader) (stop func()) {
	if e.question == nil {
		return e.stop
	}
	ctx, e.cancel = context.WithCancel(ctx)
	e.done, e.stopped, e.panicked = make(chan struct{}), false, nil
	go func() {
		defer close(e.done)
		defer func() { e.panicked = recover() }() // for the goroutine that waits
		e.err = e.question(ctx, r)
	}()
	return e.stop
}

// stop waits until nothing of the generation is in use.
func (e *early) stop() {
	if e.cancel != nil && !e.stopped {
		e.stopped = true
		e.cancel()
		<-e.done
	}
}

// wait waits for the answer and reports whether there is one that counts.
func (e *early) wait() (asked bool, err error) {
	if e.cancel == nil || e.stopped {
		return false, nil
	}
	<-e.done
	e.cancel()
	if e.panicked != nil {
		panic(e.panicked)
	}
	return true, e.err
}

func (o *sharedOptions) openWith(ctx context.Context, a *App, p *place, e *early) (*answerer, error) {
	if o.noUpdate {
		return openAsIs(a, p)
	}
	opt := a.indexing(p)
	opt.Yield = true
	opt.Opened = func(r *index.Reader) func() { return e.begin(ctx, r) }
	res, err := a.updateWith(ctx, opt)
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
		a.advise("ask again in a moment", "%v: this answer is from before, %s not in it", err, lagText(res.Lag))
	case errors.Is(err, index.ErrLocked):
		return nil, indexProblem(err)
	case res.Reader != nil:
		// What is indexed can still be searched.
		a.advise(indexHint(err), "the index is behind, %s not in this answer: %v", lagText(res.Lag), err)
	default:
		return nil, indexProblem(err)
	}
	if res.Watcher != nil && res.Lag.Files > 0 {
		a.advise("ask again in a moment", "%s not in this answer yet: process %d, which watches, is about to index it", lagText(res.Lag), res.Watcher.PID)
	}
	if res.Rebuilt != "" {
		a.warn("%s: it was built anew", res.Rebuilt)
	}
	a.warnUnusable(res.Errors)
	if len(res.Found.Files) == 0 {
		a.warnNoFiles(p)
	}
	return &answerer{
		reader:  res.Reader,
		agents:  p.agents,
		errors:  res.Errors,
		rebuilt: res.Rebuilt,
		state: query.IndexState{
			PendingFiles: res.Lag.Files, PendingBytes: res.Lag.Bytes, Complete: err == nil && res.Complete(),
		},
	}, nil
}

// indexing returns the options for indexing the place.
func (a *App) indexing(p *place) indexer.Options {
	return indexer.Options{
		Dir: p.indexDir, Adapter: p.agents, Roots: p.roots, Now: a.Now, Logger: a.logger(),
		PID: a.PID,
	}
}

// update brings the index up to date, unless a watcher is about to.
func (a *App) update(ctx context.Context, p *place, rebuild bool) (*indexer.Result, error) {
	opt := a.indexing(p)
	opt.Rebuild, opt.Yield = rebuild, true
	return a.updateWith(ctx, opt)
}

// updateWith runs the indexer, with its progress on stderr.
func (a *App) updateWith(ctx context.Context, opt indexer.Options) (*indexer.Result, error) {
	tell, end := a.newProgress()
	defer end()
	memory := &updateMemory{}
	defer memory.restore()
	opt.Progress = func(p indexer.Progress) {
		memory.reads(p.BytesTotal)
		if tell != nil {
			tell(p)
		}
	}
	start := a.Now()
	res, err := indexer.Update(ctx, opt)
	a.logger().Debug("index compared and updated", "dir", opt.Dir, "took", a.Now().Sub(start).String(),
		"files", len(res.Found.Files), "bytes", res.BytesRead, "entries", res.Entries)
	return res, err
}

// lagText says how much an answer lacks, with its verb.
func lagText(lag indexer.Lag) string {
	size := human.Bytes(lag.Bytes)
	return human.Plural(lag.Files, "file ("+size+") is", "files ("+size+") are")
}

// openAsIs opens the index without changing it, and counts what it lacks.
func openAsIs(a *App, p *place) (*answerer, error) {
	reader, err := index.Open(p.indexDir)
	if err != nil {
		return nil, indexProblem(err)
	}
	found := indexer.Discover(p.agents, p.roots)
	x := &answerer{reader: reader, agents: p.agents, errors: unusable(found)}
	lag := indexer.Behind(found, reader.Summaries())
	x.state.PendingFiles, x.state.PendingBytes = lag.Files, lag.Bytes
	x.state.Complete = x.state.PendingFiles == 0 && len(x.errors) == 0
	if x.state.PendingFiles > 0 {
		a.advise("without --no-update they are indexed first", "the index is behind, %s not in this answer", lagText(lag))
	}
	a.warnUnusable(x.errors)
	return x, nil
}

// unusable lists the files and directories that cannot be read.
func unusable(found *indexer.Found) []indexer.FileError {
	var list []indexer.FileError
	for _, d := range found.Unreadable {
		list = append(list, indexer.FileError{Path: d.Dir, Err: d.Err})
	}
	for _, f := range found.Files {
		if f.Err != nil {
			list = append(list, indexer.FileError{Path: f.Path, Err: f.Err})
		}
	}
	return list
}

// indexProblem explains an error of the index.
func indexProblem(err error) error {
	switch {
	case errors.Is(err, index.ErrNoIndex):
		return &problem{code: codeNoIndex, message: "there is no index yet", hint: "build it: pigrep index"}
	case errors.Is(err, index.ErrLocked):
		return &problem{code: codeLocked, message: err.Error(), hint: "try again in a moment; `pigrep status` says who is at work"}
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		return &problem{code: codeDamaged, message: err.Error(), hint: "build it anew: pigrep index --rebuild"}
	}
	return &problem{code: codeIO, message: "the index cannot be used", err: err, hint: indexHint(err)}
}

// indexHint says what to do when the index directory cannot be used.
func indexHint(err error) string {
	const another = ", or use another directory: --index-dir DIR"
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "make room on its disk" + another
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the index directory" + another
	}
	return "check the index directory" + another
}

// maxNamed is how many files a warning names one by one.
const maxNamed = 3

// warnUnusable names the files and directories that could not be read.
func (a *App) warnUnusable(list []indexer.FileError) {
	for i, e := range list {
		hint := ""
		switch {
		case i < len(list)-1: // one for all
		case errors.Is(e.Err, fs.ErrPermission):
			hint = "make it readable: chmod u+r PATH"
		default:
			hint = "`pigrep status` lists what cannot be read"
		}
		if i == maxNamed {
			a.advise("`pigrep status` lists them", "%s cannot be read", human.Plural(len(list)-i, "more file or directory", "more files or directories"))
			return
		}
		a.advise(hint, "skipped %s: %s", e.Path, reason(e.Err))
	}
}

// warnNoFiles says that there is nothing to search.
func (a *App) warnNoFiles(p *place) {
	a.advise("`pigrep status` says where they are looked for", "no session files below %s", p.roots[0].Path)
}

// warnIncomplete says that nothing was found in what could be searched.
func (a *App) warnIncomplete(pending, unreadable int) {
	var parts []string
	if pending > 0 {
		parts = append(parts, human.Plural(pending, "file is not indexed", "files are not indexed"))
	}
	if unreadable > 0 {
		parts = append(parts, human.Plural(unreadable, "file or directory cannot be read", "files or directories cannot be read"))
	}
	a.advise("`pigrep status` says what is missing", "nothing found, but not all could be searched: %s", strings.Join(parts, ", "))
}

// reason is the cause of a file's error, without the path that it repeats.
func reason(err error) string {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func fileErrors(list []indexer.FileError) []printer.FileError {
	var all []printer.FileError
	for _, e := range list {
		all = append(all, printer.FileError{Path: e.Path, Reason: reason(e.Err)})
	}
	return all
}

// changeCounts lists the changes in their own order, those that happened.
func changeCounts(counts map[indexer.Change]int) []printer.ChangeCount {
	var all []printer.ChangeCount
	for _, c := range indexer.Changes() {
		if n := counts[c]; n > 0 {
			all = append(all, printer.ChangeCount{Change: c.String(), Files: n})
		}
	}
	return all
}

// disk opens session files for package query.
type disk struct{}
