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
	Search(context.Context, search.Request) (*search.Response, error)
	Sessions(context.Context, sessions.Request) (*sessions.Response, error)
	Facets(context.Context, search.Request) (*facets.Response, error)
	Values(context.Context, struct{}) (*[]sessions.Facet, error)
	Count(context.Context, search.Request) (*search.Counts, error)
	Grep(context.Context, grep.Request, func(*grep.Match) error) (*Grepped, error)
	Tools(context.Context, audit.Request) (*audit.ToolTable, error)
	Commands(context.Context, audit.Request) (*audit.CommandTable, error)
	Calls(context.Context, audit.Request) (*audit.CallList, error)
	Touched(context.Context, FilesRequest) (*audit.FileTable, error)
	Usage(context.Context, audit.Request) (*audit.UsageTable, error)
	Fix(context.Context, fix.Request) (*fix.Response, error)
	similar.Index
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

// A Participant answers questions together with others.
type Participant interface {
	Answers
	Prepare(context.Context, PrepareRequest) (*Prepared, error)
	// Entries returns the entries of the families of sessions, which are named by their identities.
	Entries(context.Context, []uint64) (*[]sessions.Entries, error)
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
	Warnings []string
	Index    search.IndexState
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
