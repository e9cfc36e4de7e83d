// Package cli holds the commands of pigrep: it reads arguments, environment and
// settings, calls the packages below, and turns their outcome into an exit code.
//
// Each command is one file with newXCommand, xOptions, addFlags and runX. A
// command decides what to do; package printer decides how it looks.
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
	"pigrep/internal/terminal"
	"pigrep/internal/ui/printer"
)

// App is what a run of pigrep takes from its surroundings. Commands reach the
// clock, the environment and the streams only through it.
type App struct {
	Streams *terminal.Streams
	Getenv  func(name string) string
	Environ func() []string
	PID     int

	// Directories of the user, "" where there is none.
	Home, ConfigDir, CacheDir string
	WorkDir                   string // absolute

	Now  func() time.Time
	Zone func() *time.Location // in which days begin; with its name where it has one

	Executable func() (string, error) // this program
	LookPath   func(program string) (string, error)
	Replace    func(dir string, argv []string) error // runs a program in place of this one; does not return when it succeeds

	Agents []adapter.Agent

	out     *bufio.Writer // results; flushed at the end of the run
	verbose bool
	quiet   bool
	json    bool // what goes to stderr is JSON too
}

// Run executes the command that the arguments name and returns the exit code.
// What went wrong has been reported by then.
func (a *App) Run(ctx context.Context, args []string) int {
	a.out = bufio.NewWriterSize(a.Streams.Out, 64<<10)
	a.json = wantsJSON(args)
	err := a.execute(ctx, args)
	if flushErr := a.out.Flush(); flushErr != nil && (err == nil || exitCode(err) == exitNothing) {
		err = fmt.Errorf("write the results: %w", flushErr)
	}
	if ctx.Err() != nil && err != nil && !errors.Is(err, context.Canceled) {
		err = ctx.Err()
	}
	a.report(err)
	return exitCode(err)
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
	root := newRootCommand(a)
	if isCompletion(args) {
		describeFlags(root)
	}
	root.SetArgs(commandFirst(root, args))
	root.SetIn(a.Streams.In)
	root.SetOut(a.out)
	root.SetErr(a.Streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return withHint(cmd, err)
}

func newRootCommand(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:           "pigrep QUERY... | COMMAND",
		Short:         "Find any text of any past pi conversation",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.canShow() {
				return runTUI(cmd.Context(), a, &tuiOptions{})
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) }
	root.SetFlagErrorFunc(flagProblem)
	root.SetHelpFunc(a.help)
	root.AddCommand(
		newSearchCommand(a),
		newGrepCommand(a),
		newSessionsCommand(a),
		newShowCommand(a),
		newResumeCommand(a),
		newExportCommand(a),
		newToolsCommand(a),
		newUsageCommand(a),
		newIndexCommand(a),
		newWatchCommand(a),
		newStatusCommand(a),
		newDoctorCommand(a),
		newMCPCommand(a),
		newSkillCommand(a),
		newTUICommand(a),
		newInitCommand(a),
		newConfigCommand(a),
		newCompletionCommand(a),
		newVersionCommand(a),
	)
	root.SetHelpCommand(newHelpCommand(a))
	a.addCompletions(root)
	return root
}

// prepare does what is the same for every command before it runs.
func (a *App) prepare(cmd *cobra.Command) error {
	collectFor(cmd)
	if err := a.applySettings(cmd); err != nil {
		return err
	}
	// The bare command has no flags: there is nothing to take over.
	a.quiet, _ = cmd.Flags().GetBool("quiet")
	a.verbose, _ = cmd.Flags().GetBool("verbose")
	return nil
}

// logger returns the log of this run: nothing unless --verbose is given.
func (a *App) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.Streams.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// warn says something that is no result, on stderr.
func (a *App) warn(format string, args ...any) { a.advise("", format, args...) }

// advise is warn about what a person can do something about: the hint says what.
func (a *App) advise(hint, format string, args ...any) {
	if a.quiet {
		return
	}
	// A warning that cannot be written is no reason to stop.
	_ = printer.Warning{Message: fmt.Sprintf(format, args...), Hint: hint}.Write(a.Streams.Err, a.json)
}

// isClosedPipe reports whether the reader of our output went away.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isSystemClosedPipe(err)
}
