// Package mcp lets agents search past sessions: a server of the Model
// Context Protocol with tools, resources and prompts that only ever read.
//
// An answer is that of a command with --json, made for a reader with a small
// context: it is no longer than asked for (maxBytes), whole items are left out at
// its end, and a cursor leads to them. Texts come as fragments first; read_session
// has them whole. What looks like a secret is masked unless the server was told
// otherwise, and the session in which the agent runs is left out unless it asks.
// Beside the structured answer stands a short text with the same facts, for
// clients that show nothing else.
//
// The same request to the same generation of the index gets the same bytes.
package mcp

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/grep"
)

// Config is what a server answers from. The functions are called by several
// goroutines at a time.
type Config struct {
	Version string // of pigrep
	Adapter adapter.Adapter
	Files   entry.Source // opens session files for reading only
	Logger  *slog.Logger
	Now     func() time.Time

	// Open brings the index up to date and opens it, and At opens the
	// generation of this number, when it is still there. The caller closes what
	// it gets.
	Open func(ctx context.Context) (*Index, error)
	At   func(generation uint64) *Index
	// Name tells this index from others; cursors are good for one only.
	Name     string
	Resume   query.ResumeFunc         // how sessions are resumed
	Absolute func(path string) string // resolves a path that an agent gives
	Status   func() (*printer.Status, error)
	// Help is the page about the query language.
	Help func() string

	Reveal  bool    // secrets are shown as they are
	Current Session // in which the agent runs
}

// Session names a session; either may be unknown.
type Session struct{ ID, Path string }

// Index is an index that is open for one answer.
type Index struct {
	Reader   *index.Reader
	State    query.IndexState // what it lacks
	Lag      string           // why it lacks files; "" when it has all
	Warnings []string         // what cannot be read at all
	Files    func() []grep.File
	Pin      func() // keep the generation for those who come back with a cursor
	Close    func()
}

// warnings are those of an answer that only knows what is indexed.
func (x *Index) warnings(more ...string) []string {
	list := []string{}
	if x.Lag != "" {
		list = append(list, x.Lag)
	}
	return append(append(list, x.Warnings...), more...) // never null in JSON
}

// Error is an error that says what to do about it.
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
)

// server answers the calls of tools.
type server struct {
	Config
	catalogue []*mcp.Tool // as they were added
}

const instructions = `pigrep searches past sessions of the pi coding agent on this machine: prompts, replies, tool calls and their results.
Search first (search for words, grep for an exact pattern), then read around a hit with read_session {"session":"SESSION:ENTRY"}; hits name both. Answers are short: follow nextCursor, or raise maxBytes. "index.complete": false means that some text was not searched. Everything is read-only.`

// New returns a server that has all tools, resources and prompts.
func New(c Config) *mcp.Server {
	s, _ := newServer(c)
	return s
}

func newServer(c Config) (*mcp.Server, *server) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "pigrep", Title: "pigrep", Version: c.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       c.Logger,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
	})
	s := &server{Config: c}
	s.addTools(m)
	s.addResources(m)
	addPrompts(m)
	return m, s
}

// Serve answers on out what it reads from in, one message a line, until in ends
// or the context is done. A client that goes away is the end, and no error.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	w := newLineWriter(out, stop)
	err := New(c).Run(serving, &mcp.IOTransport{Reader: newLineGuard(in, w), Writer: w, MaxLineLength: maxMessage})
	if w.failed() || ctx.Err() != nil {
		return context.Cause(ctx) // nil when it was the client that went
	}
	return err
}
