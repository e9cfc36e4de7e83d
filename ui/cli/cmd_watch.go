package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

type watchOptions struct {
	flags.Shared
}

func (o *watchOptions) addFlags(cmd *cobra.Command) {
	o.Add(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput}, "no-update")
}

func runWatch(ctx context.Context, a *app.App, o *watchOptions, _ []string) error {
	if _, err := o.Printer(a); err != nil {
		return err
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	v := &watchView{app: a, options: o, stop: stop}
	if out, ok := a.Streams.Out.(*os.File); ok && !a.Quiet {
		go system.WhenReaderGoes(watching, out, func() { stop(io.ErrClosedPipe) })
	}
	progress, end := snapshot.Progress(a)
	v.endProgress = end
	opt := indexer.WatchOptions{Options: snapshot.Options(p), Tell: v.event}
	opt.Progress = func(at indexer.Progress) {
		// Only the first update has a progress bar; later ones print lines.
		if progress != nil && !v.begun {
			progress(at)
		}
	}
	err = indexer.Watch(watching, opt)
	v.begin()
	switch {
	case system.IsClosedPipe(context.Cause(watching)):
		return nil // as with `| head`
	case v.err != nil:
		return v.err
	case errors.Is(err, indexer.ErrWatched):
		return &problem.Error{Code: problem.CodeLocked, Message: err.Error(), Hint: "one watcher is enough; `pigrep status` shows its state"}
	case err != nil:
		return problem.OfIndex(err)
	}
	if err := v.summary(); err != nil {
		return err
	}
	if ctx.Err() != nil && context.Cause(ctx) != problem.ErrTerminated {
		return problem.ErrLeft
	}
	return nil
}

// watchView prints the events of a watch.
type watchView struct {
	app         *app.App
	options     *watchOptions
	stop        context.CancelCauseFunc // ends the watch when output fails
	endProgress func()
	begun       bool
	err         error

	last    printer.WatchEvent
	updates int
	bytes   int64
	entries int
}

// begin ends the progress of the first update.
func (v *watchView) begin() {
	if !v.begun {
		v.begun = true
		v.endProgress()
	}
}

func (v *watchView) event(e indexer.WatchEvent) {
	x := printer.WatchEvent{
		Event: e.Kind.String(), Time: session.Time{Time: e.Time}, Changes: changeCounts(e.Changes), Bytes: e.BytesRead, Entries: e.Entries,
		Directories: e.Dirs, Errors: fileErrors(e.Errors), Rebuilt: e.Rebuilt, State: v.last.State,
	}
	for _, s := range e.Steps {
		x.Steps = append(x.Steps, printer.Step{Change: s.Change.String(), Path: s.File.Path, Reason: s.Reason, Bytes: s.Pending})
	}
	switch e.Kind {
	case indexer.WatchReady, indexer.WatchUpdated:
		v.begin()
		x.State = search.IndexState{Generation: e.Generation.Number, Files: e.Files, SkippedLines: e.Skipped, Complete: e.Complete}
		v.updates, v.bytes, v.entries = v.updates+1, v.bytes+e.BytesRead, v.entries+e.Entries
		if e.Kind == indexer.WatchReady {
			v.updates--   // the first update is not counted
			x.Steps = nil // it may list every file
		}
	case indexer.WatchPolling:
		x.Message = "looking at all files every " + e.Every.Round(time.Second).String() + ": " + e.Err.Error()
	default:
		v.begin()
		x.Message, x.State.Complete = e.Err.Error(), false
	}
	v.last = x
	v.show(&x)
}

// show prints an event immediately. Without --jsonl, problems go to stderr.
func (v *watchView) show(e *printer.WatchEvent) {
	a := v.app
	if !v.options.JSONL {
		switch e.Event {
		case "polling", "waiting", "failed":
			a.Warn("%s: %s", e.Event, e.Message)
			return
		}
	}
	if a.Quiet || v.err != nil {
		return
	}
	// The width of a terminal may have changed.
	out, err := v.options.Printer(a)
	if err == nil {
		err = out.Print(e)
	}
	if err == nil {
		err = a.Out.Flush()
	}
	if err != nil {
		v.err = err
		v.stop(err)
	}
}

// summary prints the summary at the end of a watch.
func (v *watchView) summary() error {
	e := &printer.WatchEvent{
		Event: "summary", Time: session.Time{Time: v.app.Now()}, Updates: new(v.updates), Bytes: v.bytes, Entries: v.entries,
		Directories: v.last.Directories, State: v.last.State,
	}
	v.show(e)
	if system.IsClosedPipe(v.err) {
		return nil
	}
	return v.err
}
