package remote

import (
	"context"
	"encoding/json"
	"time"

	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// Answers answers questions, wherever the sessions are that these are about: the index of this
// machine, another machine, or several together. Requests name no functions, so that they can
// be sent: who answers says how sessions are resumed.
type Answers interface {
	Search(context.Context, search.Request) (*search.Response, error)
	Count(context.Context, search.Request) (*search.Tally, error)
	Facets(context.Context, search.Request) (*facets.Response, error)
	Sessions(context.Context, sessions.Request) (*sessions.Response, error)
	Values(context.Context, struct{}) (*[]sessions.Facet, error)
	Grep(context.Context, grep.Request, func(*grep.Match) error) (*Grepped, error)

	Tools(context.Context, audit.Request) (*audit.ToolTable, error)
	Commands(context.Context, audit.Request) (*audit.CommandTable, error)
	Calls(context.Context, audit.Request) (*audit.CallList, error)
	Files(context.Context, FilesRequest) (*audit.FileTable, error)
	Usage(context.Context, audit.Request) (*audit.UsageTable, error)

	Fix(context.Context, fix.Request) (*fix.Response, error)
	Similar(context.Context, similar.Request) (*similar.Response, error)
	Blame(context.Context, blame.Request) (*blame.Response, error)
	Commits(context.Context, blame.CommitRequest) (*blame.CommitResponse, error)
	Recap(context.Context, recap.Request) (*recap.Response, error)
	Lessons(context.Context, recap.Request) (*recap.Lessons, error)
}

// Kind is a kind of question that has one answer, with the name that machines call it by.
type Kind[Req, Res any] struct {
	Name string
	ask  func(Answers, context.Context, Req) (*Res, error)
}

// The kinds of questions.
var (
	Search   = newKind("search", Answers.Search)
	Count    = newKind("count", Answers.Count)
	Facets   = newKind("facets", Answers.Facets)
	Sessions = newKind("sessions", Answers.Sessions)
	Values   = newKind("values", Answers.Values)
	Tools    = newKind("tools", Answers.Tools)
	Commands = newKind("commands", Answers.Commands)
	Calls    = newKind("calls", Answers.Calls)
	Files    = newKind("files", Answers.Files)
	Usage    = newKind("usage", Answers.Usage)
	Fix      = newKind("fix", Answers.Fix)
	Similar  = newKind("similar", Answers.Similar)
	Blame    = newKind("blame", Answers.Blame)
	Commits  = newKind("commits", Answers.Commits)
	Recap    = newKind("recap", Answers.Recap)
	Lessons  = newKind("lessons", Answers.Lessons)
)

// Kinds are all kinds by their names, for questions that come from elsewhere.
var Kinds = make(map[string]interface {
	NewAnswer() any
	AskEncoded(ctx context.Context, of Answers, request []byte) (answer any, err error)
})

func newKind[Req, Res any](name string, ask func(Answers, context.Context, Req) (*Res, error)) Kind[Req, Res] {
	k := Kind[Req, Res]{name, ask}
	Kinds[name] = k
	return k
}

// Ask asks a question of this kind.
func (k Kind[Req, Res]) Ask(ctx context.Context, of Answers, req Req) (*Res, error) {
	return k.ask(of, ctx, req)
}

// AskEncoded asks a question whose request is JSON.
func (k Kind[Req, Res]) AskEncoded(ctx context.Context, of Answers, request []byte) (answer any, err error) {
	var req Req
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, err
	}
	return k.ask(of, ctx, req)
}

// NewAnswer returns a pointer to an empty answer.
func (Kind[Req, Res]) NewAnswer() any { return new(Res) }

// WithEarly returns a context for a question. If several machines answer that, show is called with
// what has come so far, as an answer that is not complete, from one goroutine at a time and until the
// question is answered.
func WithEarly(ctx context.Context, show func(answer any)) context.Context {
	return context.WithValue(ctx, earlyKey{}, show)
}

type earlyKey struct{}

// Early returns what a question shows early answers with; nil if it wants none.
func Early(ctx context.Context) func(answer any) {
	show, _ := ctx.Value(earlyKey{}).(func(any))
	return show
}

// FilesRequest asks for the files that tools touched, or for the history of one.
type FilesRequest struct {
	audit.Request
	Name string
}

// Grepped is what is known of a grep when its matches have been visited.
type Grepped struct {
	grep.Summary
	search.About
}

// Status is what a machine says of itself.
type Status struct {
	Agents   map[string]int // sessions by agent, as of session.ShortAgent
	Sessions int
	Bytes    int64     // of its index
	Indexed  time.Time // when that was written
}

// Error is an error of a question, as the machine that could not answer it puts it.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (e *Error) Error() string { return e.Message }
