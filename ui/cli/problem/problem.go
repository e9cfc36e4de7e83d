// Package problem has the errors of pigrep: what failed, what to do next, and with which
// code the run ends.
package problem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"pigrep/index"
	"pigrep/internal/files"
	"pigrep/internal/human"
	"pigrep/internal/shellcmd"
	"pigrep/ui/cli/system"
)

// The exit codes of all commands.
const (
	ExitDone        = 0
	ExitNothing     = 1
	ExitError       = 2
	ExitInterrupted = 130
)

// ExitCodes is the source of exit codes in help and docs.
var ExitCodes = []struct {
	Code    int
	Meaning string
}{
	{ExitDone, "something was found, or the work is done; also if the output was closed early (| head)"},
	{ExitNothing, "nothing was found, and the search was complete"},
	{ExitError, "an error; or nothing was found, but the search was incomplete: the index is behind or damaged, or files cannot be read"},
	{ExitInterrupted, "interrupted (Ctrl-C)"},
}

// Outcomes without an error message: everything has been printed.
var (
	ErrNothingFound = errors.New("nothing found")
	ErrIncomplete   = errors.New("nothing found, and the search was not complete")
	ErrLeft         = fmt.Errorf("interrupted by the user: %w", context.Canceled)
)

// ErrTerminated is the cause when SIGTERM ends the run: service managers send it to
// stop a program, so it does not count as an interruption.
var ErrTerminated = errors.New("terminated")

// Exit returns the exit code of an outcome. There is no other place that does.
func Exit(err error) int {
	switch {
	case err == nil, system.IsClosedPipe(err):
		return ExitDone
	case errors.Is(err, ErrNothingFound):
		return ExitNothing
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitError
}

// Error codes in JSON.
const (
	CodeUsage      = "usage"
	CodeQuery      = "query"
	CodeNoSessions = "no-sessions"
	codeNoIndex    = "no-index"
	codeForeign    = "index-foreign"
	CodeDamaged    = "index-damaged"
	CodeLocked     = "index-locked"
	CodeIO         = "io"
	CodeInternal   = "internal"
	CodeStopped    = "interrupted"
)

// Error is an error for users and programs: what failed, on what, and what to do
// next.
type Error struct {
	Code    string
	Message string
	Hint    string
	Err     error

	Reason     string   // why, where programs ask for that alone
	Candidates []string // what the user may have meant
}

func (p *Error) Error() string {
	switch {
	case p.Err == nil:
		return p.Message
	case p.Message == "":
		return p.Err.Error()
	}
	return p.Message + ": " + p.Err.Error()
}

func (p *Error) Unwrap() error { return p.Err }

// Is reports what the code says.
func (p *Error) Is(err error) bool { return p.Code == codeNoIndex && err == index.ErrNoIndex }

// HintText implements tui.Hint.
func (p *Error) HintText() string { return p.Hint }

// OfMemory says that a limit leaves less memory than a program needs.
func OfMemory(m system.Memory, needs int64, program string) error {
	return &Error{
		Code: CodeIO, Message: fmt.Sprintf("%s, and %s needs about %s", LimitText(m), program, human.Bytes(m.Limit-m.Left+needs)),
		Hint: "raise the limit: " + m.From + " unlimited",
	}
}

func LimitText(m system.Memory) string {
	return fmt.Sprintf("the %s is limited to %s (%s)", m.What, human.Bytes(m.Limit), m.From)
}

// Usagef returns an error of the command line.
func Usagef(hint, format string, args ...any) error {
	return &Error{Code: CodeUsage, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// SearchFor returns the command line that searches for words when the first word is the name of a
// command.
func SearchFor(words []string) string {
	return shellcmd.Here.Command("", append([]string{"pigrep", "search"}, words...))
}

// OfIndex adds hints to an error of the index.
func OfIndex(err error) error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	switch {
	case errors.Is(err, index.ErrNoIndex):
		return &Error{Code: codeNoIndex, Message: "there is no index yet", Hint: "build it: pigrep index"}
	case errors.Is(err, index.ErrForeign):
		return &Error{Code: codeForeign, Message: err.Error(), Hint: "name a directory that is empty or missing: --index-dir DIR, $PIGREP_INDEX_DIR or the setting index-dir"}
	case errors.Is(err, index.ErrInTheWay):
		return &Error{Code: codeForeign, Message: err.Error(), Hint: IndexHint(err)}
	case errors.Is(err, index.ErrLocked):
		return &Error{Code: CodeLocked, Message: err.Error(), Hint: "try again in a moment; `pigrep status` shows which process holds it"}
	case errors.Is(err, index.ErrNewer):
		return &Error{Code: CodeDamaged, Message: "a newer pigrep has taken the index", Err: err, Hint: "restart this one if pigrep was updated; to go back to this version: pigrep index --rebuild"}
	case errors.Is(err, index.ErrDamaged), errors.Is(err, index.ErrVersion):
		return &Error{Code: CodeDamaged, Err: err, Hint: "rebuild it: pigrep index --rebuild"}
	}
	return &Error{Code: CodeIO, Message: "cannot open the index", Err: err, Hint: IndexHint(err)}
}

func OfUpdate(err error) error {
	problem, ok := errors.AsType[*Error](OfIndex(err))
	if ok && problem.Code == CodeIO && problem.Err != nil {
		problem.Message = "cannot update the index"
	}
	return problem
}

// WithSessions returns the error of an index directory in a directory of sessions, or around one.
func WithSessions(dir, relation, root string) error {
	return &Error{Code: codeForeign, Message: fmt.Sprintf("the index cannot be in %s: %s the session directory %s", dir, relation, root),
		Hint: "name a directory outside of it: --index-dir DIR"}
}

// IndexHint returns what to do if the index directory cannot be used.
func IndexHint(err error) string {
	const another = ", or use another directory: --index-dir DIR"
	switch {
	case files.NoSpace(err), errors.Is(err, index.ErrFull):
		return "free some space on its disk" + another
	case errors.Is(err, index.ErrInTheWay):
		return "move it away" + another
	case errors.Is(err, syscall.ENOMEM):
		return "raise the limit of the address space: ulimit -v unlimited"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the index directory" + another
	}
	return "check the index directory" + another
}
