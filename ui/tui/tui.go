// Package tui is the interactive search: an input line for the full query language, the
// sessions found, and the conversation around the selected hit.
//
//	keys, mouse ─► Model.Update ─► commands (search, preview, menus) ─► messages ─┐
//	                   ▲                                                          │
//	                   └──────────── follow: the index changes ◄──────────────────┘
//
// Update does no I/O and never waits: searching, reading and writing are commands, which
// run in goroutines. One search runs at a time. A newer query cancels it and starts once
// it has stopped; answers to older queries are dropped. So typing never waits for an
// answer.
//
// Searching an index, rendering a conversation and resuming a session are functions of a
// Backend. Session text is cleaned before it is drawn: none of its control characters
// reaches the terminal.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
)

// Options configure the TUI.
type Options struct {
	Backend
	Config

	Query   string         // the initial query
	Note    string         // shown until the first key; "" for none
	Request search.Request // the filters of every search; Text, Limit and Now are ignored
	Print   bool           // the caller runs the command: nothing is run here, and suspending is disabled
	Choose  bool           // Enter takes the session, to be resumed
	History string         // path of the file with earlier queries; "" for none
	Home    string         // shown as ~; "" when there is none
	WorkDir string
	Dirs    []string // with the session files
	Here    bool     // begin with the sessions of WorkDir
	Now     func() time.Time

	Formats []string        // of Backend.Export, the usual one first
	Links   *terminal.Links // for paths; nil for none

	In, Out *os.File // the terminal; nil for the process's own
	Environ []string
}

// Backend does the work for the TUI. Its functions may be called concurrently.
type Backend struct {
	// Search answers a request. It fails with index.ErrNoIndex while there is none.
	Search func(context.Context, search.Request) (*search.Response, error)
	// Sessions lists sessions, latest first. It fails as Search does.
	Sessions func(context.Context, sessions.Request) (*sessions.Response, error)
	// Preview renders a part of the conversation of a place.
	Preview func(context.Context, Place, Extent) (*Preview, error)
	// Find counts the matches of a text in the whole session, ignoring case, as pigrep
	// grep does with this scope. It returns the entries with matches, in file order.
	Find func(context.Context, Place, string, scope.Scope) ([]Found, error)
	// Prompts lists the prompts of the branch with a place, in the order of the conversation.
	Prompts func(context.Context, Place) ([]Prompt, error)
	// Text returns the text of an entry, as in the file.
	Text func(context.Context, Place) (string, error)
	// Facets lists the values that filters can have.
	Facets func(context.Context) ([]sessions.Facet, error)
	// Count counts the hits of a request.
	Count func(context.Context, search.Request) (search.Counts, error)
	// Resume returns the command that resumes the session, after checking that it will
	// do what the user expects. The agent must be installed only if the command is run. If the
	// directory of the session does not exist, the error is a *MovedError.
	Resume func(context.Context, Place, How) (*Resume, error)
	// Show and Edit take over the terminal, show the session or open its file at the
	// line, and return when the user is done.
	Show, Edit func(p Place, in io.Reader, out io.Writer) error
	// Export writes the session to a new file of this format, and returns its path.
	Export func(ctx context.Context, p Place, format string) (string, error)
	// Copy copies a text with a program such as xclip, and reports whether there is one.
	// The TUI also asks the terminal to copy it.
	Copy func(context.Context, string) bool
	// Follow keeps the index up to date until the context ends, and reports each
	// change of its state.
	Follow func(ctx context.Context, report func(State))
}

// Place is a session, or an entry of it.
type Place struct {
	Path    string
	ID      string // of the session
	EntryID string // "": the session
	Offset  int64  // of the entry in the file
	Line    int    // of the entry, 1-based; 0: not known
}

// isElsewhere reports whether the session is on another machine.
func (p Place) isElsewhere() bool {
	_, _, there := session.SplitHost(p.Path)
	return there
}

// Extent is which part of a conversation is rendered, and how.
type Extent struct {
	Width  int    // cells
	At     int    // the entry in the middle, by its index in the file, or AtPlace, AtStart, AtEnd
	Around int    // messages on each side; large ones may be fewer
	All    bool   // nothing is folded
	Folds  string // entries that were folded or unfolded one by one; see Unfolded
}

// Special values of Extent.At.
const (
	AtPlace = -1 - iota // the entry of the place, or the last one
	AtStart
	AtEnd
)

// Preview is a part of a conversation.
type Preview struct {
	Lines         []Line
	Entries       []Entry // that Lines show, in the order of the conversation
	Anchor        int     // the entry in the middle
	Focus         int     // the line at which it begins
	Total         int     // entries of the conversation
	Before, After bool    // there is more in that direction
}

// Line is a line of a conversation.
type Line struct {
	Text  string // at most Width wide; cleaned, with colours
	Entry int    // the index in the file of its entry; -1 for none
}

// Entry is an entry of a conversation.
type Entry struct {
	Place
	Index  int       // in the file
	Number int       // in the conversation, from 1; a step has the number of the entry before it
	Steps  bool      // a step of the machine, or a line that stands for several
	Time   time.Time // zero if it is not known
	Result bool      // it answers a call of the last entry before it that is not a result
	Open   bool      // nothing of it is folded
	Large  int64     // its size, if it is too large to be unfolded
}

// Prompt is what the user said at a place.
type Prompt struct {
	Place
	Text string // cleaned, on one line
	Time time.Time
}

// Found is an entry with matches of a text.
type Found struct {
	Entry   int // its index in the file
	Matches int
}

// How is how a session is resumed.
type How struct {
	Dir string // a fork of it continues in this directory; "" for itself, in its own
	Run bool   // the command is run at once
}

// A MovedError means that the directory of a session does not exist.
type MovedError struct {
	Dir  string   // the one that is gone
	Dirs []string // where the session could continue, the most likely first
}

func (e *MovedError) Error() string { return "the session's directory is gone: " + e.Dir }

// Resume is a command that resumes a session.
type Resume struct {
	Dir      string // "" for the current directory
	Argv     []string
	Command  string   // both, quoted for the user's shell
	Warnings []string // surprises for the user
}

// State is the state of the index.
type State struct {
	Generation uint64 // identifies the newest one, 0 when there is none
	Indexing   bool
	Ready      bool    // it has been up to date once
	First      bool    // nothing was indexed before
	Share      float64 // of the work that is done, from 0 to 1
	Left       time.Duration
	Problem    string // why the index is behind; "" when it is not
	Lag        string // what answers lack if this process does not follow the files; "" for nothing, or if that is not known
	Hint       string // what to do about it

	Archive string    // what is asked in place of the index; "" if nothing is
	Pushed  time.Time // when the last push to it ended; zero if that is not known
}

// A Hint is an error that says what to do next.
type Hint interface {
	error
	HintText() string
}

// ErrNoTerminal is returned when there is no terminal.
var ErrNoTerminal = errors.New("there is no terminal")

// leaveTime is how long Run waits at the end for a running index update: enough for a
// small one. A long update keeps what it has published, and the next run does the rest.
const leaveTime = 100 * time.Millisecond

// Run runs the TUI until the user quits or the context ends. It restores the terminal
// before it returns, and before it re-raises a panic.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.In == nil || o.Out == nil {
		in, out, err := tea.OpenTTY()
		if err != nil {
			return Outcome{}, fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		defer out.Close()
		defer in.Close()
		o.In, o.Out = in, out
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	m := New(inner, o)
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())

	m.quit = program.Quit
	m.post = func(after time.Duration, do then) { time.AfterFunc(after, func() { program.Send(do) }) }
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer func() {
			if r := recover(); r != nil {
				program.Send(crashing(r))
			}
		}()
		o.Follow(inner, func(s State) { program.Send(s) })
	}()
	_, err := program.Run()
	stop()
	m.exports.Lock() // a cancelled export removes its partial file
	defer m.exports.Unlock()
	select {
	case <-followed:
	case <-time.After(leaveTime):
	}
	switch {
	case m.crash != nil:
		panic(m.crash)
	case ctx.Err() != nil:
		return m.done, ctx.Err()
	}
	return m.done, err
}
