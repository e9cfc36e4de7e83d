package remote

import (
	"context"
	"time"

	"pigrep/query/audit"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
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
type Kind[Req, Res any] struct{ Name string }

// The kinds of questions.
var (
	Search   = NewKind[search.Request, search.Response]("search")
	Sessions = NewKind[sessions.Request, sessions.Response]("sessions")
	Facets   = NewKind[search.Request, facets.Response]("facets")
	Values   = NewKind[struct{}, []sessions.Facet]("values")
	Count    = NewKind[search.Request, search.Counts]("count")
	Tools    = NewKind[audit.Request, audit.ToolTable]("tools")
	Commands = NewKind[audit.Request, audit.CommandTable]("commands")
	Calls    = NewKind[audit.Request, audit.CallList]("calls")
	Files    = NewKind[FilesRequest, audit.FileTable]("files")
	Usage    = NewKind[audit.Request, audit.UsageTable]("usage")
	Fix      = NewKind[fix.Request, fix.Response]("fix")
	Weigh    = NewKind[similar.Weighing, similar.Weighed]("weigh")
	Compare  = NewKind[similar.Comparison, similar.Compared]("compare")

	// Of those that answer together with others. Entries asks for the entries of the families of
	// sessions, which are named by their identities.
	Prepare = NewKind[PrepareRequest, Prepared]("prepare")
	Entries = NewKind[[]uint64, []sessions.Entries]("entries")
)

// Kinds are all kinds by their names.
var Kinds = make(map[string]interface{ New() (request, answer any) })

// NewKind returns a kind, which is then one of Kinds.
func NewKind[Req, Res any](name string) Kind[Req, Res] {
	k := Kind[Req, Res]{name}
	Kinds[name] = k
	return k
}

// New returns pointers to an empty request and an empty answer.
func (Kind[Req, Res]) New() (request, answer any) { return new(Req), new(Res) }

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

// Similar is what finding similar sessions asks of whoever answers.
type Similar struct{ Answers }

func (s Similar) Weigh(ctx context.Context, req similar.Weighing) (*similar.Weighed, error) {
	return Weigh.Ask(ctx, s, req)
}

func (s Similar) Compare(ctx context.Context, req similar.Comparison) (*similar.Compared, error) {
	return Compare.Ask(ctx, s, req)
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

// PrepareRequest asks for what several machines must know of each other before they answer a
// request together.
type PrepareRequest struct {
	Search *search.Request `json:",omitempty"` // whose words are counted
	Fix    *fix.Request    `json:",omitempty"` // or whose words are
	Known  uint64          // the number of the sessions that the client knows; 0 for none

	// Found and Listed are answered at once, on statistics that the client expects, or without
	// them on those of this machine.
	Found  *search.Request   `json:",omitempty"`
	Listed *sessions.Request `json:",omitempty"`
}

// Prepared is the answer to it.
type Prepared struct {
	Statistics words.Statistics  // of the words of the request
	Number     uint64            // of Sessions: it changes with them; 0 if that is not known
	Sessions   []search.Identity // nil if they are those of PrepareRequest.Known

	Found  *search.Response   `json:",omitempty"`
	Listed *sessions.Response `json:",omitempty"`
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
