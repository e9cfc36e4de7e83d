// Package mcp lets agents search past sessions: a Model Context Protocol server
// with read-only tools, resources and prompts.
//
// An answer is that of a command, for a reader with a small context: its rows have what
// the next call needs, it has at most maxBytes, drops whole items at its end, and has a
// cursor to them. Search returns fragments; read_session has whole texts. Secrets are masked unless
// the server is started with --reveal, and the session in which the agent runs is
// excluded unless it asks. A short text has the same facts, for clients that show
// only text.
//
// The same request on the same snapshot of the index returns the same bytes.
package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/query/engine/entry"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/ui/printer"
)

// Config is what a server needs. Its functions must be safe for concurrent use.
type Config struct {
	Version string // of pigrep
	Adapter adapter.Adapter
	Files   entry.Source // opens session files for reading only
	Logger  *slog.Logger
	Now     func() time.Time

	// Open updates and opens the index. At opens a snapshot of it again; nil if that is
	// gone. The caller closes both.
	Open func(ctx context.Context) (*Index, error)
	At   func(snapshot uint64) *Index
	// Name identifies the index, since a cursor is only valid for one.
	Name     string
	Resume   search.ResumeFunc        // how sessions are resumed
	Absolute func(path string) string // resolves a path that an agent gives
	Status   func() (*printer.Status, error)
	// Help is the page about the query language.
	Help func() string

	// Budget limits the work of a call with the index open; nil for answerWithin.
	Budget func(context.Context) (context.Context, context.CancelFunc)

	Reveal  bool    // do not mask secrets
	Current Session // the session in which the agent runs, if known
	// Otherwise, if the client has the name of an agent whose sessions are searched, its
	// session is the one of the directory that was written to last, after the start.
	Agents  []string // names of clients
	Dir     string   // in which the server was started
	Started time.Time
}

// Session identifies a session; either field may be empty.
type Session struct{ ID, Path string }

// Index is a snapshot of an index, open for one answer.
type Index struct {
	Reader   *index.Reader
	Number   uint64            // of the snapshot
	State    search.IndexState // what it lacks
	Lag      string            // why it lacks files; "" if it has all
	Warnings []string          // about what cannot be read
	Files    func() []grep.File
	Pin      func() // keeps the snapshot for later calls with a cursor
	Damaged  func() // has the index rebuilt before it is opened again
	Close    func()
}

// warnings are the warnings of an answer from the index alone.
func (x *Index) warnings(more ...string) []string {
	list := []string{}
	if x.Lag != "" {
		list = append(list, x.Lag)
	}
	return append(append(list, x.Warnings...), more...) // never null in JSON
}

// Error is an error with a hint.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "\nhint: " + e.Hint
}

// The codes of the errors of the server itself.
const (
	codeInput         = "usage"
	codeQuery         = "query"
	codeNotFound      = "not-found"
	codeAmbiguous     = "ambiguous"
	codeCursor        = "cursor"
	codeCursorExpired = "cursor-expired"
	codeBudget        = "max-bytes"
	codeLate          = "deadline"
)

// answerWithin is how long a call may work on its answer. An agent waits for it, and so do
// other programs for the processor.
const answerWithin = 5 * time.Second

// lateHint is the hint for a call that reached the deadline.
const lateHint = "narrow it: rarer or fewer words, patterns and wildcards; a project, session, kind or since; a smaller limit or context"

// late is the warning of an answer that is cut short.
var late = fmt.Sprintf("stopped after %s, with what was found by then; %s", answerWithin, lateHint)

// server answers the calls of tools.
type server struct {
	Config
	catalogue []*mcp.Tool            // in the order in which they were added
	client    atomic.Pointer[string] // its name
}

const instructions = `pigrep searches past sessions of the pi coding agent on this machine: prompts, replies, tool calls and their results.
Search first (search for words, grep for an exact pattern), then read around a hit with read_session {"session":"SESSION:ENTRY"}; hits name both. Answers are short: follow nextCursor, or raise maxBytes. "complete": false means that some text was not searched. Everything is read-only.`

// New returns a server with all tools, resources and prompts.
func New(c Config) *mcp.Server {
	s, _ := newServer(c)
	return s
}

func newServer(c Config) (*mcp.Server, *server) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Budget == nil {
		c.Budget = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, answerWithin)
		}
	}
	s := &server{Config: c}
	m := mcp.NewServer(&mcp.Implementation{Name: "pigrep", Title: "pigrep", Version: c.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       c.Logger,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
	})
	m.AddReceivingMiddleware(briefly)
	s.addTools(m)
	s.addResources(m)
	addPrompts(m)
	return m, s
}

// Serve reads messages from in and answers on out, a message a line, until in ends
// or the context is done. It is no error if the client goes away.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	w := newLineWriter(out, stop)
	err := New(c).Run(serving, &mcp.IOTransport{Reader: newLineGuard(in, w), Writer: w, MaxLineLength: maxMessage})
	if w.failed() || ctx.Err() != nil {
		return context.Cause(ctx) // nil if the client went away
	}
	return err
}
