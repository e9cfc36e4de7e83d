package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/internal/near"
	"pigrep/internal/ui/printer"
)

// The exit codes of all commands.
const (
	exitDone        = 0
	exitNothing     = 1
	exitError       = 2
	exitInterrupted = 130
)

// exitCodes is the source of exit codes in help and docs.
var exitCodes = []struct {
	Code    int
	Meaning string
}{
	{exitDone, "something was found, or the work is done; also if the output was closed early (| head)"},
	{exitNothing, "nothing was found, and the search was complete"},
	{exitError, "an error; or nothing was found, but the search was incomplete: the index is behind or damaged, or files cannot be read"},
	{exitInterrupted, "interrupted (Ctrl-C)"},
}

// Outcomes without an error message: everything has been printed.
var (
	errNothingFound = errors.New("nothing found")
	errIncomplete   = errors.New("nothing found, and the search was not complete")
	errLeft         = fmt.Errorf("interrupted by the user: %w", context.Canceled)
)

// exitCode returns the exit code of an outcome. There is no other place that does.
func exitCode(err error) int {
	switch {
	case err == nil, isClosedPipe(err):
		return exitDone
	case errors.Is(err, errNothingFound):
		return exitNothing
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

// Error codes in JSON.
const (
	codeUsage      = "usage"
	codeQuery      = "query"
	codeNoSessions = "no-sessions"
	codeNoIndex    = "no-index"
	codeDamaged    = "index-damaged"
	codeLocked     = "index-locked"
	codeIO         = "io"
	codeInternal   = "internal"
	codeStopped    = "interrupted"
)

// problem is an error for users and programs: what failed, on what, and what to do
// next.
type problem struct {
	code    string
	message string
	hint    string
	err     error

	candidates []string // what the user may have meant
}

func (p *problem) Error() string {
	switch {
	case p.err == nil:
		return p.message
	case p.message == "":
		return p.err.Error()
	}
	return p.message + ": " + p.err.Error()
}

func (p *problem) Unwrap() error { return p.err }

// usagef returns an error of the command line.
func usagef(hint, format string, args ...any) error {
	return &problem{code: codeUsage, message: fmt.Sprintf(format, args...), hint: hint}
}

// withHint adds a hint to errors of the command line that have none.
func withHint(cmd *cobra.Command, err error) error {
	if p, ok := errors.AsType[*problem](err); ok && p.code == codeUsage && p.hint == "" {
		p.hint = fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	}
	return err
}

// report prints the error of a run, as text or JSON.
func (a *App) report(err error) {
	if err == nil || isClosedPipe(err) || errors.Is(err, errNothingFound) || errors.Is(err, errIncomplete) || errors.Is(err, errLeft) {
		return
	}
	f := printer.Failure{Code: codeIO, Message: err.Error()}
	if p, ok := errors.AsType[*problem](err); ok {
		f = printer.Failure{Code: p.code, Message: p.Error(), Hint: p.hint, Candidates: p.candidates}
	} else if errors.Is(err, context.Canceled) {
		f = printer.Failure{Code: codeStopped, Message: "interrupted", Hint: "run it again; the text indexed so far is kept"}
		if a.kept != "" {
			f.Hint = a.kept + "; run it again to go on"
		}
	}
	if f.Hint == "" {
		f.Hint = hintFor(err)
	}
	// There is no way to report an error of reporting.
	_ = f.Write(a.Streams.Err, a.json, a.messageWidth())
}

// hintFor returns a hint for errors that have none.
func hintFor(err error) string {
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "free some disk space, then run it again"
	case errors.Is(err, fs.ErrPermission):
		return "check its permissions: ls -ld PATH"
	}
	return "run it with --verbose for details; `pigrep doctor` checks the index"
}

// flagProblem adds hints to an error of the flag parser.
func flagProblem(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + e.GetSpecifiedName()
		if short := e.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
		}
		var hints []string
		if name == "-v" {
			hints = append(hints, "--verbose prints steps and timings, -V the version")
		}
		if flag := nearestFlag(cmd, name); flag != "" {
			hints = append(hints, "did you mean "+flag+"?")
		}
		if strings.Contains(cmd.Use, "QUERY") {
			path := cmd.CommandPath()
			if cmd.Name() == searchName {
				path = cmd.Root().Name()
			}
			hints = append(hints, fmt.Sprintf("to search for the text %[2]s: %[1]s -- %[2]s", path, name))
		}
		return usagef(strings.Join(append(hints, help), "; "), "unknown flag %s", name)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		switch name := flagName(e.GetFlag()); {
		case errors.Is(err, strconv.ErrSyntax), errors.Is(err, strconv.ErrRange):
			return usagef(help, "%s takes a number, not %q", name, e.GetValue())
		case errors.Is(err, errNegative):
			return usagef(help, "%s takes a number >= 0, not %s", name, e.GetValue())
		case e.GetFlag().Value.Type() == "duration":
			return usagef("forms that work: 500ms, 30s, 2m, 0", "%s takes a time, not %q", name, e.GetValue())
		}
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef(help, "%s needs an argument", flagName(e.GetFlag()))
	}
	return usagef(help, "%v", err)
}

// flagName returns all names of a flag: the user may have typed either.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}

// nearestFlag returns the long flag of the command that is most similar to name, "" if
// there is none.
func nearestFlag(cmd *cobra.Command, name string) string {
	name, long := strings.CutPrefix(name, "--")
	if !long || name == "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name[0] == name[0] { // few mistype the first letter
			names = append(names, f.Name)
		}
	})
	if found := near.Nearest(names, name); len(found) > 0 {
		return "--" + found[0]
	}
	return ""
}

// noArgs returns an error if a command without arguments gets some.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		hint := fmt.Sprintf("`%s --help` lists its subcommands", cmd.CommandPath())
		if found := near.Nearest(names, args[0]); len(found) > 0 {
			hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), found[0])
		}
		return usagef(hint, "%s has no subcommand %q", cmd.Name(), args[0])
	}
	return usagef(fmt.Sprintf("to search for these words: pigrep search %s %s", cmd.Name(), strings.Join(args, " ")),
		"%s takes no arguments, but got %q", cmd.Name(), args[0])
}
