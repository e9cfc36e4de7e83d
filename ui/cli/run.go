// Package cli contains the commands of pigrep. It reads arguments, environment and
// settings, calls the packages below, and turns the outcome into an exit code.
//
// Each command has xOptions, runX, a row in the table of commands, and a text with its flags, whose
// values are fields of the options. A command decides what to do; package printer decides how the
// answer looks.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

// Run executes the command named by the arguments, reports its error if there is
// one, and returns the exit code.
func Run(ctx context.Context, a *app.App, args []string) int {
	a.Out = bufio.NewWriterSize(a.Results(), 64<<10)
	a.JSON, a.Version = wantsJSON(args), cmp.Or(release, "dev")
	err := execute(ctx, a, args)
	if errors.Is(err, index.ErrDamaged) && a.MayRebuild && !a.Final && ctx.Err() == nil {
		a.Warn("%v: rebuilding it", err)
		a.Out.Reset(a.Results())
		a.Rebuild = true
		err = execute(ctx, a, args)
	}
	if flushErr := a.Out.Flush(); flushErr != nil && (err == nil || problem.Exit(err) == problem.ExitNothing) {
		err = fmt.Errorf("cannot write the results: %w", flushErr)
	}
	if ctx.Err() != nil && err != nil && !errors.Is(err, context.Canceled) {
		err = ctx.Err()
	}
	printError(a, err)
	workAfterwards(ctx, a)
	return problem.Exit(err)
}

// workAfterwards does the work deferred until after the answer. It closes stdout first, so that
// a program reading the answer from a pipe need not wait.
func workAfterwards(ctx context.Context, a *app.App) {
	if a.Afterwards == nil || ctx.Err() != nil {
		return
	}
	if out, ok := a.Streams.Out.(io.Closer); ok {
		_ = out.Close() // Run has flushed it and reported what failed
	}
	if err := a.Afterwards(ctx); err != nil && ctx.Err() == nil {
		snapshot.WarnUnwritten(a, err)
	}
}

func execute(ctx context.Context, a *app.App, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			a.Logger().Debug("panic", "value", r, "stack", string(debug.Stack()))
			err = &problem.Error{
				Code: problem.CodeInternal, Message: fmt.Sprintf("internal error: %v", r),
				Hint: "this is a bug in pigrep; `pigrep index --rebuild` may work around it",
			}
		}
	}()
	if len(args) == 0 && canShow(a) {
		args = []string{"tui"}
	}
	query := queryIn(args)
	args = commandFirst(a, args)
	const ran = "this ran the command %s; to search for the words: %s"
	if query != "" && (args[0] == "web" || args[0] == "fix" && len(args) > 2) { // they start work that may not have been meant
		a.Explain("", ran, args[0], query)
		query = ""
	}
	keepExclusions(args)
	root := rootFor(a, args)
	if isCompletion(args) {
		describeFlags(root)
	}
	root.SetArgs(args)
	root.SetIn(a.Streams.In)
	root.SetOut(a.Out)
	root.SetErr(a.Streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if query != "" && len(args) > 2 && errors.Is(err, problem.ErrNothingFound) {
		a.Explain("", ran, args[0], query)
	}
	if p, ok := errors.AsType[*problem.Error](err); ok && p.Code == problem.CodeUsage && p.Hint == "" {
		p.Hint = fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	}
	return err
}

// prepare runs before every command.
func prepare(a *app.App, cmd *cobra.Command) error {
	collectFor(cmd)
	if err := snapshot.LimitMemory(a); err != nil && cmd.Flags().Lookup("index-dir") != nil {
		return err
	}
	if err := settings.Apply(a, cmd, func() *cobra.Command { return newRootCommand(a) }); err != nil {
		return err
	}
	// The bare command has neither flag.
	a.Quiet, _ = cmd.Flags().GetBool("quiet")
	a.Reports, _ = cmd.Flags().GetBool("progress")
	a.Log = nil
	if verbose, _ := cmd.Flags().GetBool("verbose"); verbose {
		a.Log = slog.New(slog.NewTextHandler(a.Streams.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return nil
}

func printError(a *app.App, err error) {
	if err == nil || system.IsClosedPipe(err) || errors.Is(err, problem.ErrNothingFound) || errors.Is(err, problem.ErrIncomplete) || errors.Is(err, problem.ErrLeft) {
		return
	}
	f := printer.Message{Code: problem.CodeIO, Message: err.Error()}
	if p, ok := errors.AsType[*problem.Error](err); ok {
		f = printer.Message{Code: p.Code, Message: p.Error(), Hint: p.Hint, Reason: p.Reason, Candidates: p.Candidates}
	} else if errors.Is(err, context.Canceled) {
		f = printer.Message{Code: problem.CodeStopped, Message: "interrupted", Hint: "run it again; the text indexed so far is kept"}
		if a.Kept != "" {
			f.Hint = a.Kept + "; run it again to go on"
		}
	}
	if f.Hint == "" {
		f.Hint = hintFor(err)
	}
	// There is no way to report an error of reporting.
	_ = f.Write(a.Streams.Err, a.JSON, a.MessageWidth())
}

// hintFor returns a hint for errors that have none.
func hintFor(err error) string {
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "free some disk space, then run it again"
	case errors.Is(err, fs.ErrPermission):
		return "check its permissions: ls -ld PATH"
	}
	return "run it with --verbose for details; `pigrep status --check` checks the index"
}
