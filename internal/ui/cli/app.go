// Package cli contains the commands of pigrep. It reads arguments, environment and
// settings, calls the packages below, and turns the outcome into an exit code.
//
// Each command has a file with newXCommand, xOptions, addFlags and runX. A command
// decides what to do; package printer decides how the answer looks.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/terminal"
	"pigrep/internal/ui/printer"
)

// App is everything that a run of pigrep takes from its process. Commands access
// the clock, the environment and the streams only through it.
type App struct {
	Streams *terminal.Streams
	Getenv  func(name string) string
	Environ func() []string
	PID     int

	// Directories of the user, "" if unknown.
	Home, ConfigDir, CacheDir string
	WorkDir                   string // absolute
	TempDir                   string

	Now  func() time.Time
	Zone func() *time.Location // the local time zone, with its IANA name if known

	Executable func() (string, error) // this program
	LookPath   func(program string) (string, error)
	Hostname   func() (string, error)
	Replace    func(dir string, argv []string) error // replaces this process by a program; returns only on failure

	// Open opens a file in the program that the desktop has for it.
	Open func(path string) error

	// LeaveInterrupts leaves Ctrl-C to a program that has the terminal, until back is
	// called; nil: this process never handles it.
	LeaveInterrupts func() (back func())

	// Background starts a program that outlives this process; nil: none may be started.
	Background func(program string, args ...string) error

	Agents []adapter.Agent

	out        *bufio.Writer               // results; flushed at the end of the run
	final      bool                        // the command cannot run again: it has written results or read stdin
	mayRebuild bool                        // the command opened the index to read it, and may rebuild it
	rebuild    bool                        // the command runs again, because it found the index damaged
	kept       string                      // what an interrupted update has indexed; "" if none was interrupted
	afterwards func(context.Context) error // work on the index that the answer must not wait for; may be nil

	log   *slog.Logger // of this run, for all goroutines; nil without --verbose
	quiet bool
	json  bool // warnings and errors are JSON

	reports bool // the progress of indexing too
}

// Run executes the command named by the arguments, reports its error if there is
// one, and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	a.out = bufio.NewWriterSize(results{a}, 64<<10)
	a.json = wantsJSON(args)
	err := a.execute(ctx, args)
	if errors.Is(err, index.ErrDamaged) && a.mayRebuild && !a.final && ctx.Err() == nil {
		a.warn("%v: rebuilding it", err)
		a.out.Reset(results{a})
		a.rebuild = true
		err = a.execute(ctx, args)
	}
	if flushErr := a.out.Flush(); flushErr != nil && (err == nil || exitCode(err) == exitNothing) {
		err = fmt.Errorf("write the results: %w", flushErr)
	}
	if ctx.Err() != nil && err != nil && !errors.Is(err, context.Canceled) {
		err = ctx.Err()
	}
	a.report(err)
	a.finish(ctx)
	return exitCode(err)
}

// results writes to stdout, after which the command cannot run again.
type results struct{ app *App }

func (r results) Write(b []byte) (int, error) {
	r.app.final = true
	return r.app.Streams.Out.Write(b)
}

// finish does the work deferred until after the answer. It closes stdout first, so that
// a program reading the answer from a pipe need not wait.
func (a *App) finish(ctx context.Context) {
	if a.afterwards == nil || ctx.Err() != nil {
		return
	}
	if out, ok := a.Streams.Out.(io.Closer); ok {
		_ = out.Close() // Run has flushed it and reported what failed
	}
	if err := a.afterwards(ctx); err != nil && ctx.Err() == nil {
		a.warnUnwritten(err)
	}
}

func (a *App) execute(ctx context.Context, args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			a.logger().Debug("panic", "value", r, "stack", string(debug.Stack()))
			err = &problem{
				code: codeInternal, message: fmt.Sprintf("internal error: %v", r),
				hint: "this is a bug in pigrep; `pigrep index --rebuild` may work around it",
			}
		}
	}()
	if len(args) == 0 && a.canShow() {
		args = []string{"tui"}
	}
	args = commandFirst(a, args)
	root := rootFor(a, args)
	if isCompletion(args) {
		describeFlags(root)
	}
	root.SetArgs(args)
	root.SetIn(a.Streams.In)
	root.SetOut(a.out)
	root.SetErr(a.Streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return withHint(cmd, err)
}

// prepare runs before every command.
func (a *App) prepare(cmd *cobra.Command) error {
	collectFor(cmd)
	if err := a.applySettings(cmd); err != nil {
		return err
	}
	// The bare command has neither flag.
	a.quiet, _ = cmd.Flags().GetBool("quiet")
	a.reports, _ = cmd.Flags().GetBool("progress")
	a.log = nil
	if verbose, _ := cmd.Flags().GetBool("verbose"); verbose {
		a.log = slog.New(slog.NewTextHandler(a.Streams.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return nil
}

// logger returns the log of this run. It is empty without --verbose.
func (a *App) logger() *slog.Logger {
	if a.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.log
}

// warn prints a warning on stderr.
func (a *App) warn(format string, args ...any) { a.advise("", format, args...) }

// advise is warn with a hint.
func (a *App) advise(hint, format string, args ...any) {
	if a.quiet {
		return
	}
	// A warning that cannot be written does not stop the run.
	_ = printer.Warning{Message: fmt.Sprintf(format, args...), Hint: hint}.Write(a.Streams.Err, a.json, a.messageWidth())
}

// messageWidth is the width that messages are wrapped to; 0 where no terminal shows them.
func (a *App) messageWidth() int {
	if !a.Streams.ErrTTY {
		return 0
	}
	return a.Streams.Width
}

// isClosedPipe reports whether an error means that the reader of our output is gone.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isSystemClosedPipe(err)
}
