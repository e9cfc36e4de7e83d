// Package mcp lets agents search past sessions: a Model Context Protocol server
// with read-only tools, resources and prompts.
//
// A tool answers as a command does, for a reader with a small context: its rows have what the next
// call needs, it has at most maxBytes, drops whole items at its end, and has a cursor to them.
// Search returns fragments; read_session has whole texts. Secrets are masked unless the server is
// started with --reveal, and the session that the agent runs in is excluded unless it asks. A short
// text has the same facts, for clients that show only text.
//
// The same request on the same snapshot of the index returns the same bytes.
package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/query/blame"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/printer"
)

// Config is what a server needs. Its functions must be safe for concurrent use.
type Config struct {
	Version string // of pigrep
	Adapter adapter.Adapter
	Logger  *slog.Logger
	Now     func() time.Time

	// Open updates and opens the index, or if others are asked an index of the sessions that are named. At
	// opens a snapshot of it again; nil if that is gone. The caller closes both.
	Open func(ctx context.Context, named []string) (*Index, error)
	At   func(snapshot uint64) *Index
	// Name identifies the index, since a cursor is only valid for one.
	Name     string
	Resume   search.ResumeFunc                         // how sessions are resumed
	Lines    func(file string) (*blame.Request, error) // reads a file, named with or without lines
	Absolute func(path string) string                  // resolves a path that an agent gives
	Status   func() (*printer.Status, error)
	// Help is the page about the query language.
	Help func() string

	// Within is how long a call may take, with updating and opening the index and asking other
	// machines; 0 for AnswerWithin.
	Within time.Duration
	// Budget limits a call; nil for Within.
	Budget func(context.Context) (context.Context, context.CancelFunc)

	Only    []string          // the agents whose sessions are asked if a call names none; nil for all
	Reveal  bool              // do not mask secrets
	Current []adapter.Running // the sessions that the agent runs in, if known
	// Otherwise, if the client has the name of an agent whose sessions are searched, its
	// session is the one of the directory that was written to last, after the start.
	Agents  []string // names of clients
	Dir     string   // where the server was started
	Started time.Time
}

// Index is a snapshot of an index, open for one answer.
type Index struct {
	remote.Answers
	Reader   *index.Reader                // of this machine
	Others   bool                         // other machines answer too
	Several  bool                         // of agents
	Named    func(id, path string) string // what read_session accepts
	Source   entry.Source                 // opens session files for reading only
	Number   uint64                       // of the snapshot
	State    search.IndexState            // what it lacks
	Lag      string                       // why it lacks files; "" if it has all
	Warnings []string                     // about what cannot be read
	Pin      func()                       // keeps the snapshot for later calls with a cursor
	Damaged  func()                       // has the index rebuilt before it is opened again
	Close    func()
}

// warnings returns the warnings of an answer from the index alone.
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
	return e.Message + human.When(e.Hint != "", "\nhint: "+e.Hint)
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

// AnswerWithin is how long a call may take. An agent waits for it, and so do other programs for the
// processor.
const AnswerWithin = 5 * time.Second

const lateHint = "narrow it: rarer or fewer words, patterns and wildcards; a project, session, kind or since; a smaller limit or context"

// late returns the warning of an answer that is cut short.
func (s *server) late() string {
	return fmt.Sprintf("stopped after %s, with what was found by then; %s", s.Within, lateHint)
}

// server answers the calls of tools.
type server struct {
	Config
	mcp    *mcp.Server
	client atomic.Pointer[string] // its name
}

const instructions = `pigrep searches past sessions of coding agents on this machine: prompts, replies, tool calls and their results.
Search first (search for words, grep for an exact pattern), then read around a hit with read_session {"session":"SESSION:ENTRY"}; hits name both. Answers are short: follow nextCursor, or raise limit, perSession or maxBytes (default 24000). Several values of a filter are one string with commas; model, agent, role, branch and exclude are filters too. "complete": false means that some text was not searched. Your own session and calls of pigrep are left out (includeCurrent, includeSearches). Everything is read-only.`

// New returns a server with all tools, resources and prompts.
func New(c Config) *mcp.Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Within = cmp.Or(c.Within, AnswerWithin)
	if c.Budget == nil {
		c.Budget = func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, c.Within)
		}
	}
	s := &server{Config: c}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "pigrep", Title: "pigrep", Version: c.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       c.Logger,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
	})
	s.mcp.AddReceivingMiddleware(briefly)
	s.addTools()
	s.addResources()
	addPrompts(s.mcp)
	return s.mcp
}

// Serve reads messages from in and answers on out, a message a line, until in ends
// or the context is done. It is not an error if the client goes away.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	w := &lineWriter{w: out, serving: serving, gone: stop, wrote: make(chan struct{}, 1)}
	reader, passed := io.Pipe()
	go guard(in, passed, w) // until the input ends: nothing interrupts reading from it
	err := New(c).Run(serving, &mcp.IOTransport{Reader: reader, Writer: w, MaxLineLength: maxMessage})
	if serving.Err() != nil {
		return context.Cause(ctx) // nil if the client went away
	}
	return err
}

// toolTexts has the name, the title and the description of each tool, as agents see them.
//
//go:embed tools.txt
var toolTexts string

// addList adds a tool that lists: with the index open, find returns the rows from the cursor on.
func addList[Answer, In, Row any](s *server, name string, asked func(*In) listing, find func(context.Context, *question, *In) (*rowPage[Row], error)) {
	add(s, name, open(schemaOf[Answer]()), func(ctx context.Context, in *In) (*mcp.CallToolResult, error) {
		q, err := s.ask(ctx, name, in, asked(in))
		if err != nil {
			return nil, err
		}
		defer q.Close()
		page, err := find(ctx, q, in)
		if err != nil {
			return nil, q.failed(err)
		}
		return page.cut(q)
	})
}

// add adds a tool: call makes a result of its arguments, which it may change, within the time for an answer.
func add[In any](s *server, name string, output *jsonschema.Schema, call func(context.Context, *In) (*mcp.CallToolResult, error)) {
	input := inputSchema[In]()
	_, text, _ := strings.Cut("\n"+toolTexts, "\n"+name+" | ")
	title, text, _ := strings.Cut(text, " | ")
	description, _, _ := strings.Cut(text, "\n")
	no := false
	described := &mcp.Tool{
		Name: name, Title: title, Description: description, InputSchema: brief[In](input), OutputSchema: output,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
	s.mcp.AddTool(described, func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.Logger.Error("panic", "tool", name, "value", r)
				result, err = failure(fmt.Errorf("internal error: %v", r)), nil
			}
		}()
		if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
			s.client.Store(&p.ClientInfo.Name)
		}
		asking, cancel := s.Budget(ctx)
		defer cancel()
		answer := func() (*mcp.CallToolResult, error) {
			var in In
			if err := decode(req.Params.Arguments, input, &in); err != nil {
				return nil, err
			}
			return call(asking, &in)
		}
		if result, err = answer(); errors.Is(err, index.ErrDamaged) { // opening the index again rebuilds it
			result, err = answer()
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // the client does not wait any more
		case errors.Is(err, context.DeadlineExceeded):
			return failure(&Error{codeLate, fmt.Sprintf("not answered within %s", s.Within), lateHint}), nil
		case err != nil:
			s.Logger.Debug("refused", "tool", name, "error", err)
			return failure(err), nil
		}
		return result, nil
	})
}

// briefly shortens errors of the protocol, which repeat the names and addresses in requests.
func briefly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok && len(e.Message)+len(e.Data) > longestWarning {
			err = &jsonrpc.Error{Code: e.Code, Message: beginning(e.Message, longestWarning)}
		} else if !ok && err != nil && len(err.Error()) > longestWarning {
			err = errors.New(beginning(err.Error(), longestWarning))
		}
		if err == nil {
			clean(result)
		}
		return result, err
	}
}

// failure returns the result of a tool that failed, for the agent to read. It does not repeat long
// input. It has no structured part: clients check that against the schema of answers, and some
// reject the whole result.
func failure(err error) *mcp.CallToolResult {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Code: "internal", Message: err.Error()}
	}
	said := &Error{Message: beginning(e.Message, 500), Hint: beginning(e.Hint, 2000)}
	return &mcp.CallToolResult{IsError: true, Meta: mcp.Meta{codeKey: e.Code}, Content: []mcp.Content{&mcp.TextContent{Text: said.Error()}}}
}

// codeKey is where the metadata of a failed call has the code of the error.
const codeKey = "pigrep/code"

// encodedLen returns the length of a value on the wire, where the protocol escapes JSON
// for HTML.
func encodedLen(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// StatusInput is the arguments of status: none.
type StatusInput struct{}

type statusAnswer struct {
	Damage   string    `json:"damage,omitempty" jsonschema:"why the index cannot be read"`
	Sessions int       `json:"sessions"`
	Entries  int       `json:"entries,omitempty"`
	Newest   string    `json:"newest,omitempty" jsonschema:"time of the newest entry"`
	Roots    []rootRow `json:"roots,omitempty"`
	Pending  int       `json:"notIndexed,omitempty" jsonschema:"session files"`
	Skipped  int       `json:"skippedLines,omitempty"`
	Outside  []string  `json:"notFollowed,omitempty" jsonschema:"links that lead out of the session directories"`
}

// rootRow is a directory with session files.
type rootRow struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
}

func (s *server) status(context.Context, *StatusInput) (*mcp.CallToolResult, error) {
	f, err := s.Status()
	if err != nil {
		return nil, err
	}
	var lines []string
	switch {
	case f.Damage != "":
		lines = append(lines, "The index is damaged: "+f.Damage)
	case !f.Built:
		lines = append(lines, "There is no index yet; the first search builds it.")
	default:
		lines = append(lines, fmt.Sprintf("%s, %s, the newest of %s.", human.Plural(f.Sessions, "session", "sessions"), human.Plural(f.Entries, "entry", "entries"), minute(f.Newest)))
	}
	for _, r := range f.Roots {
		lines = append(lines, r.Path+": "+human.Plural(r.Files, "session file", "session files"))
	}
	lines = append(lines, human.When(f.State.PendingFiles > 0, human.Plural(f.State.PendingFiles, "session file is", "session files are")+" not indexed yet."))
	for _, path := range f.Outside {
		lines = append(lines, path+" is not followed: the link leads out of the session directories.")
	}
	lines = append(lines, human.When(f.State.SkippedLines > 0, human.Plural(f.State.SkippedLines, "line is", "lines are")+" left out as malformed."))
	a := statusAnswer{Damage: f.Damage, Sessions: f.Sessions, Entries: f.Entries, Newest: minute(f.Newest), Pending: f.State.PendingFiles, Skipped: f.State.SkippedLines, Outside: f.Outside}
	a.Roots = lists.Map(f.Roots, func(r printer.Root) rootRow { return rootRow{r.Path, r.Files} })
	return resultOf(a, human.Joined("\n", lines...))
}

// The URIs of resources. SESSION and ENTRY are the same as in read_session.
const (
	helpURI    = "pigrep://help/query"
	sessionURI = "pigrep://session/"
)

// resourceBytes bounds a resource, since all of it gets into the context.
const resourceBytes = 64_000

func (s *server) addResources() {
	s.mcp.AddResource(&mcp.Resource{
		URI: helpURI, Name: "query-language", Title: "The query language", MIMEType: "text/plain",
		Description: "How to phrase a query of search: fields, phrases, alternatives, what each does.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return textResource(req.Params.URI, s.Help()), nil
	})
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: sessionURI + "{session}", Name: "session", Title: "A past session", MIMEType: "text/plain",
		Description: "The transcript of a session from its beginning, long results cut. read_session reads on.",
	}, s.sessionResource)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: sessionURI + "{session}/{entry}", Name: "entry", Title: "An entry of a past session", MIMEType: "text/plain",
		Description: "One entry of a session, its texts whole.",
	}, s.sessionResource)
}

func textResource(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func (s *server) sessionResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	name, entry, one := strings.Cut(strings.TrimPrefix(uri, sessionURI), "/")
	var err error
	if name, err = url.PathUnescape(name); err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if entry, err = url.PathUnescape(entry); err != nil || name == "" || one && entry == "" {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	in := &ReadInput{Session: name, Entry: entry, Full: one, Transcript: true, Paging: Paging{MaxBytes: 2 * resourceBytes}}
	if one {
		in.Around = new(int)
	}
	ctx, cancel := s.Budget(ctx)
	defer cancel()
	result, err := s.read(ctx, in)
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == codeNotFound || e.Code == codeAmbiguous) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return textResource(uri, result.Content[0].(*mcp.TextContent).Text), nil
}

// promptTexts has the text of each prompt, by its name.
//
//go:embed prompts
var promptTexts embed.FS

// promptRow is a prompt about a topic.
type promptRow struct{ name, title, description, argument, about string }

var prompts = []promptRow{
	{
		"find_where_we_solved", "Find where we solved…", "Find the past session in which a problem was solved, and how.",
		"problem", "the problem: an error message, a symptom, a task",
	},
	{
		"summarise_what_was_tried", "Summarise what was tried about…", "Tell what past sessions tried about a topic, what worked and what did not.",
		"topic", "the topic: a feature, a bug, a tool",
	},
}

func addPrompts(m *mcp.Server) {
	for _, p := range prompts {
		text, err := promptTexts.ReadFile("prompts/" + p.name + ".txt")
		if err != nil {
			panic(err) // each prompt has a file
		}
		described := &mcp.Prompt{
			Name: p.name, Title: p.title, Description: p.description,
			Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about, Required: true}},
		}
		m.AddPrompt(described, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			about := req.Params.Arguments[p.argument]
			if about == "" {
				return nil, fmt.Errorf("the argument %q is missing: %s", p.argument, p.about)
			}
			return &mcp.GetPromptResult{
				Description: p.description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(string(text), about)}}},
			}, nil
		})
	}
}

const maxMessage = 16 << 20

// grace is how long pending answers may take after the end of the input.
const grace = 3 * time.Second

// guard passes on lines that are JSON-RPC messages and refuses the others itself: without it one
// bad line would end the server. At the end of the input it waits for pending answers, which the
// server would abandon.
func guard(in io.Reader, passed *io.PipeWriter, out *lineWriter) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(lines)
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			bad, asks := check(line, tooLong)
			if asks {
				out.pending.Add(1)
			}
			var failed error
			if bad != nil {
				failed = out.refuse(bad)
			} else {
				_, failed = passed.Write(append(line, '\n'))
			}
			err = cmp.Or(failed, err)
		}
		if err != nil {
			out.finish()
			passed.CloseWithError(err)
			return
		}
	}
}

// readLine reads a line; it keeps nothing of one that is too long.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > maxMessage {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// refusal is the answer to a line that is not a message.
type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil is null
	Error   jsonrpc.Error   `json:"error"`
}

func refuse(id json.RawMessage, code int64, message string) *refusal {
	return &refusal{"2.0", id, jsonrpc.Error{Code: code, Message: message}}
}

// check returns why a line is not a message, or nil, and whether it expects an
// answer.
func check(line []byte, tooLong bool) (bad *refusal, asks bool) {
	if tooLong {
		return refuse(nil, jsonrpc.CodeInvalidRequest, "the message is longer than 16 MiB"), false
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(line, &m)
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		return refuse(nil, jsonrpc.CodeParseError, "not JSON: "+err.Error()), false
	}
	id := m.ID
	if len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f') {
		return refuse(nil, jsonrpc.CodeInvalidRequest, "the id of a request is a string or a number"), false
	}
	switch {
	case err != nil:
		return refuse(nil, jsonrpc.CodeInvalidRequest, "not a message of JSON-RPC 2.0, which is one object"), false
	case m.Version != "2.0":
		return refuse(id, jsonrpc.CodeInvalidRequest, `not a message of JSON-RPC 2.0: "jsonrpc" is not "2.0"`), false
	case m.Method == nil && m.Result == nil && m.Error == nil:
		return refuse(id, jsonrpc.CodeInvalidRequest, "not a message of JSON-RPC 2.0: it has no method"), false
	}
	return nil, m.Method != nil && len(id) > 0
}

// lineWriter writes whole messages and counts the requests without an answer. If
// writing fails, the client is gone.
type lineWriter struct {
	serving context.Context
	gone    context.CancelFunc // ends serving

	mu      sync.Mutex
	w       io.Writer
	pending atomic.Int64  // requests without an answer
	wrote   chan struct{} // has room for one: that an answer was written
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.w.Write(p)
	if err != nil {
		w.gone()
	}
	// Requests of the server have a method near their beginning; answers have none.
	if !bytes.Contains(p[:min(len(p), 200)], []byte(`"method":`)) {
		w.pending.Add(-1)
		select {
		case w.wrote <- struct{}{}:
		default:
		}
	}
	return n, err
}

func (*lineWriter) Close() error { return nil }

// finish waits until all requests are answered, but not for long.
func (w *lineWriter) finish() {
	for late := time.After(grace); w.pending.Load() > 0; {
		select {
		case <-w.wrote:
		case <-w.serving.Done():
			return
		case <-late:
			return
		}
	}
}

func (w *lineWriter) refuse(r *refusal) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	w.pending.Add(1)
	_, err = w.Write(append(data, '\n'))
	return err
}
