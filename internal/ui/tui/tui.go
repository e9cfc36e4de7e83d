// Package tui is the interactive search: an input line that takes the whole query
// language, the sessions it finds, and the conversation around the selected hit.
//
//	keys, mouse ─► Model.Update ─► commands (search, preview, menus) ─► messages ─┐
//	                   ▲                                                          │
//	                   └──────────── follow: the index changes ◄──────────────────┘
//
// Update does no I/O and never waits: searching, reading and writing are commands,
// which run in goroutines. One search runs at a time. A newer query cancels it and
// starts when it has ended; answers to older queries are dropped. So the echo of a
// key never waits for an answer.
//
// Searching an index, rendering a conversation and resuming a session come in as
// the functions of a Backend. Session text is cleaned before it is drawn: none of its
// control characters reaches the terminal.
package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"pigrep/query"
	"pigrep/query/sessions"
)

// Options configure the TUI.
type Options struct {
	Backend

	Query   string        // the initial query
	Request query.Request // the filters of every search; Text, Limit and Now are ignored
	Print   bool          // the caller runs the command: nothing is run here, and suspending is disabled
	History string        // path of the file with earlier queries; "" for none
	Home    string        // shown as ~; "" when there is none
	WorkDir string
	Here    bool // begin with the sessions of WorkDir
	Now     func() time.Time

	In, Out *os.File // the terminal; nil for the process's own
	Environ []string
}

// Backend does the work for the TUI. Its functions may be called concurrently.
type Backend struct {
	// Search answers a request. It returns ErrNoIndex when there is no index.
	Search func(context.Context, query.Request) (*query.Response, error)
	// Sessions lists sessions, latest first. It fails as Search does.
	Sessions func(context.Context, sessions.Request) (*sessions.Response, error)
	// Preview renders the conversation around a place.
	Preview func(context.Context, Place, Extent) (*Preview, error)
	// Facets lists the values that filters can have.
	Facets func(context.Context) ([]sessions.Facet, error)
	// Resume returns the command that resumes the session, after checking that it
	// would do what the user expects.
	Resume func(context.Context, Place) (*Resume, error)
	// Show and Edit take over the terminal, show the session or open its file at the
	// line, and return when the user is done.
	Show, Edit func(p Place, in io.Reader, out io.Writer) error
	// Follow keeps the index up to date until the context ends, and reports each
	// change of its state.
	Follow func(ctx context.Context, report func(State))
}

// ErrNoIndex is returned while there is nothing to search yet.
var ErrNoIndex = errors.New("there is no index yet")

// Place is a session, or an entry of it.
type Place struct {
	Path    string
	EntryID string // "": the session
	Offset  int64  // of the entry in the file
	Line    int    // of the entry, 1-based; 0: not known
}

// Extent is how much of a conversation is rendered, and how wide.
type Extent struct {
	Width  int // cells
	Around int // entries on each side
}

// Preview is a piece of a conversation.
type Preview struct {
	Lines         []string // at most Width wide; cleaned, with colours
	Focus         int      // the line at which the entry begins
	Text          string   // of the entry, as in the file
	Before, After bool     // there is more in that direction
}

// Resume is a command that resumes a session.
type Resume struct {
	Dir      string // "" for the current directory
	Argv     []string
	Command  string   // both, quoted for the user's shell
	Warnings []string // what the user may not expect
}

// State is the state of the index.
type State struct {
	Generation uint64 // the newest one, 0 when there is none
	Indexing   bool
	Ready      bool    // it has been up to date once
	First      bool    // nothing was indexed before
	Share      float64 // of the work that is done, from 0 to 1
	Left       time.Duration
	Problem    string // why the index is behind; "" when it is not
	Hint       string // what to do about it
}

// A Hint is an error with a hint on what to do next.
type Hint interface {
	error
	Hint() string
}
