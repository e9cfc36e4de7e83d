// Package tui is search as you type: an input line that takes the whole query
// language, the sessions that it finds, and beside them the conversation around
// the selected hit.
//
//	keys, mouse ─► Model.Update ─► commands (search, preview, menus) ─► messages ─┐
//	                   ▲                                                          │
//	                   └──────────── follow: the index changes ◄──────────────────┘
//
// Nothing in Update reads or waits: searching, reading and writing are commands,
// which run in goroutines of their own. There is one search at a time. A newer
// query cancels it and begins when it has ended, and what comes from an older
// query is dropped, so that the echo of a key never waits for an answer.
//
// What the program around it does (search an index, render a conversation,
// resume a session) comes in as the functions of a Backend. Text of sessions is
// made harmless before it enters a screen: no control character of it reaches
// the terminal.
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

// Options say how the interface begins, and what it works with.
type Options struct {
	Backend

	Query   string        // the text it begins with
	Request query.Request // what every search has beside the text; Text, Limit and Now are not used
	Print   bool          // it stands in for a command line: nothing is run, and it cannot be suspended
	History string        // path of the file with earlier queries; "" keeps none
	Home    string        // shown as ~; "" when there is none
	Now     func() time.Time

	In, Out *os.File // the terminal; nil: the one that the process runs in
	Environ []string
}

// Backend is what the interface is given by the program around it. The functions
// may be called by several goroutines.
type Backend struct {
	// Search answers a request. Without an index it fails with ErrNoIndex.
	Search func(context.Context, query.Request) (*query.Response, error)
	// Sessions lists sessions, the latest first. It fails as Search does.
	Sessions func(context.Context, sessions.Request) (*sessions.Response, error)
	// Preview renders the conversation around a place.
	Preview func(context.Context, Place, Extent) (*Preview, error)
	// Facets lists what filters can be set to.
	Facets func(context.Context) ([]sessions.Facet, error)
	// Resume makes the command that resumes the session, after checking that it
	// would do what is meant.
	Resume func(context.Context, Place) (*Resume, error)
	// Show and Edit take the terminal, show the session or open its file at the
	// line, and come back when the person is done.
	Show, Edit func(p Place, in io.Reader, out io.Writer) error
	// Follow keeps the index up to date until the context ends, and tells how it
	// stands whenever that changes.
	Follow func(ctx context.Context, tell func(State))
}

// ErrNoIndex says that there is nothing to search yet.
var ErrNoIndex = errors.New("there is no index yet")

// Place is a session, or an entry of it.
type Place struct {
	Path    string
	EntryID string // "": the session
	Offset  int64  // of the entry in the file
	Line    int    // of the entry, 1-based; 0: not known
}

// Extent says how much of a conversation is rendered, and how.
type Extent struct {
	Width  int // cells
	Around int // entries of the talk on each side
}

// Preview is a piece of a conversation.
type Preview struct {
	Lines         []string // at most as wide as asked for; harmless, but for colours
	Focus         int      // the line at which the entry begins
	Text          string   // of the entry, as it stands in the file
	Before, After bool     // there is more
}

// Resume is a command that resumes a session.
type Resume struct {
	Dir      string // "": where the person is
	Argv     []string
	Command  string   // both, for the person's shell
	Warnings []string // what a person would not expect
}

// State is how the index stands; a message to the model when that changes.
type State struct {
	Generation uint64 // the newest one, 0 when there is none
	Indexing   bool
	Ready      bool    // it was brought up to date once
	First      bool    // nothing was indexed before
	Share      float64 // how much of the work is done, from 0 to 1
	Left       time.Duration
	Problem    string // why the index is behind; "" when it is not
}

// A Hint is an error that says what to do next.
type Hint interface {
	error
	Hint() string
}
