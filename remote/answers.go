package remote

import (
	"context"
	"fmt"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/query/audit"
	"pigrep/query/blame"
	"pigrep/query/engine/entry"
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
	// Answer answers a request of a kind, given by its name; Kind.Ask calls it. It may change the request.
	Answer(ctx context.Context, kind string, request any) (answer any, err error)
	Grep(context.Context, grep.Request, func(*grep.Match) error) (*Grepped, error)
}

// Kind is a kind of question that has one answer.
type Kind[Req, Res any] struct {
	Name string
	run  run[Req, Res] // nil: it takes more than an index to answer
}

// run answers a request from an index, given the agents and the files of its sessions.
type run[Req, Res any] func(context.Context, *index.Reader, adapter.Adapter, entry.Source, Req) (*Res, error)

// The kinds of questions.
var (
	Search   = NewKind("search", search.Run)
	Sessions = NewKind("sessions", func(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req sessions.Request) (*sessions.Response, error) {
		req.Costs = audit.Costs
		return sessions.List(ctx, r, a, src, req)
	})
	Facets = NewKind("facets", facets.Of)
	Values = NewKind("values", func(_ context.Context, r *index.Reader, _ adapter.Adapter, _ entry.Source, _ struct{}) (*[]sessions.Facet, error) {
		list, err := sessions.Facets(r)
		return &list, err
	})
	Count    = NewKind("count", search.Count)
	Tools    = NewKind("tools", audit.Tools)
	Commands = NewKind("commands", audit.Commands)
	Calls    = NewKind("calls", audit.Calls)
	Files    = NewKind("files", func(ctx context.Context, r *index.Reader, _ adapter.Adapter, _ entry.Source, req FilesRequest) (*audit.FileTable, error) {
		return audit.Files(ctx, r, req.Request, req.Name)
	})
	Usage = NewKind("usage", func(ctx context.Context, r *index.Reader, _ adapter.Adapter, _ entry.Source, req audit.Request) (*audit.UsageTable, error) {
		return audit.Usage(ctx, r, req)
	})
	Fix     = NewKind("fix", fix.Find)
	Similar = NewKind("similar", similar.Find)
	Blame   = NewKind("blame", blame.Run)
	Commits = NewKind("commits", blame.Commits)
	Recap   = NewKind("recap", recap.Run)
	Lessons = NewKind("lessons", recap.Learn)
)

// Kinds are all kinds by their names.
var Kinds = make(map[string]interface {
	New() (request, answer any)
	FromIndex(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, request any) (answer any, err error)
})

// NewKind returns a kind, which is then one of Kinds.
func NewKind[Req, Res any](name string, of run[Req, Res]) Kind[Req, Res] {
	k := Kind[Req, Res]{name, of}
	Kinds[name] = k
	return k
}

// New returns pointers to an empty request and an empty answer.
func (Kind[Req, Res]) New() (request, answer any) { return new(Req), new(Res) }

// FromIndex answers a request, given by a pointer, from an index.
func (k Kind[Req, Res]) FromIndex(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, request any) (answer any, err error) {
	if k.run == nil {
		return nil, fmt.Errorf("an index does not answer %q", k.Name)
	}
	return k.run(ctx, r, a, src, *request.(*Req))
}

// Ask asks a question of this kind.
func (k Kind[Req, Res]) Ask(ctx context.Context, of Answers, req Req) (*Res, error) {
	answer, err := of.Answer(ctx, k.Name, &req)
	res, _ := answer.(*Res)
	return res, err
}

// Of is Ask of one who answers.
func (k Kind[Req, Res]) Of(from Answers) func(context.Context, Req) (*Res, error) {
	return func(ctx context.Context, req Req) (*Res, error) { return k.Ask(ctx, from, req) }
}

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
