// Package app has what a run of pigrep takes from its process, and how it speaks to its
// user.
package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/internal/files"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/printer"
)

// App is everything that a run of pigrep takes from its process. Commands access
// the clock, the environment and the streams only through it.
type App struct {
	Process
	User
	Run
	Speech
	Agents []adapter.Agent
}

// Process is what the operating system gives to a run.
type Process struct {
	Getenv  func(name string) string
	Environ func() []string
	Now     func() time.Time
	PID     int
	Memory  system.Memory // what limits leave to the process

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
}

type User struct {
	Home, ConfigDir, CacheDir string                // "" if unknown
	DataDir                   string                // "" if unknown
	WorkDir                   string                // absolute
	TempDir                   string                // of the system
	Zone                      func() *time.Location // the local time zone, with its IANA name if known
}

// Run is what changes during a run.
type Run struct {
	Version    string                      // of this program
	Out        *bufio.Writer               // results; flushed at the end of the run
	Styles     bool                        // results have styles
	Links      bool                        // and hyperlinks
	Final      bool                        // the command cannot run again: it has written results or read stdin
	MayRebuild bool                        // the command opened the index to read it, and may rebuild it
	Rebuild    bool                        // the command runs again, because it found the index damaged
	Kept       string                      // what an interrupted update has indexed; "" if none was interrupted
	Afterwards func(context.Context) error // work on the index that the answer must not wait for; may be nil
}

// Speech is how a run speaks to its user.
type Speech struct {
	Streams *terminal.Streams
	Log     *slog.Logger // of this run, for all goroutines; nil without --verbose
	Quiet   bool
	JSON    bool // warnings and errors are JSON
	Reports bool // the progress of indexing too
}

// results writes to stdout, after which the command cannot run again.
type results struct{ app *App }

func (r results) Write(b []byte) (int, error) {
	r.app.Final = true
	return r.app.Streams.Out.Write(b)
}

// Guarded returns a writer of results to a terminal, or to a pager on it. Only pigrep's own control
// codes pass.
func (a *App) Guarded(w io.Writer) io.Writer {
	if !a.Streams.OutTTY {
		return w
	}
	return &guarded{a, terminal.Guard{Out: w}}
}

type guarded struct {
	app *App
	terminal.Guard
}

func (g *guarded) Write(b []byte) (int, error) {
	g.Styles, g.Links = g.app.Styles, g.app.Links // the command may have set them after Guarded
	return g.Guard.Write(b)
}

// Confirm asks whether to do something, and says what follows from it, unless the user has
// confirmed it already. Anything but yes is a no. Without a terminal it fails.
func (s *Speech) Confirm(confirmed bool, action, consequence string) error {
	switch {
	case confirmed:
		return nil
	case s.JSON || !s.Streams.InTTY || !s.Streams.ErrTTY:
		return problem.Usagef("use --yes to confirm", "cannot ask for confirmation without a terminal: %s", human.Joined("; ", action, consequence))
	}
	fmt.Fprint(s.Streams.Err, human.Joined(" ", action+"?", consequence, "[y/N] "))
	answer, err := bufio.NewReader(s.Streams.In).ReadString('\n')
	if err != nil {
		fmt.Fprintln(s.Streams.Err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return problem.ErrNothingFound
	}
	return nil
}

// Logger returns the log of this run. It is empty without --verbose.
func (s *Speech) Logger() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

func (s *Speech) Warn(format string, args ...any) { s.Advise("", format, args...) }

// WarnAll prints a warning for each of these texts.
func (s *Speech) WarnAll(texts []string) {
	for _, text := range texts {
		s.Advise("", "%s", text)
	}
}

// Advise is warn with a hint.
func (s *Speech) Advise(hint, format string, args ...any) {
	if s.Quiet {
		return
	}
	// A warning that cannot be written does not stop the run.
	_ = printer.Message{Message: fmt.Sprintf(format, args...), Hint: hint}.Write(s.Streams.Err, s.JSON, s.MessageWidth())
}

// Explain is Advise for a user who looks at an empty answer: programs see that it is empty.
func (s *Speech) Explain(hint, format string, args ...any) {
	if s.Streams.ErrTTY && !s.JSON {
		s.Advise(hint, format, args...)
	}
}

// MessageWidth returns the width that messages are wrapped to; 0 where no terminal shows them.
func (s *Speech) MessageWidth() int {
	if !s.Streams.ErrTTY {
		return 0
	}
	return s.Streams.Width
}

// Results is stdout, for out.
func (a *App) Results() io.Writer { return a.Guarded(results{a}) }

// environment returns what adapters can see of the machine.
func (a *App) environment() adapter.Environment {
	return adapter.Environment{Home: a.Home, WorkDir: a.WorkDir, Getenv: a.Getenv, ReadFile: files.ReadSettings, RealPath: files.RealPath, DirsIn: files.DirsIn}
}

// Absolute resolves a path from the command line: relative to the working directory, with ~ for
// the home directory.
func (a *App) Absolute(path string) string { return adapter.Absolute(path, a.environment()) }

// AgentNames lists the agents that pigrep knows, as of session.ShortAgent.
func (a *App) AgentNames() (names []string) {
	for _, agent := range a.Agents {
		if name := session.ShortAgent(agent.Name()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Registry returns the registry of agents. Before In sets the roots, it assigns every
// file to the first agent.
func (a *App) Registry() *adapter.Registry {
	return adapter.NewRegistry(a.environment(), a.Agents...)
}
