package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/query/sessions"
)

// SessionsInput are the arguments of list_sessions.
type SessionsInput struct {
	Query string `json:"query,omitempty" range:"0,20000" jsonschema:"as of search; best match first"`
	Filters
	Named bool `json:"named,omitempty" jsonschema:"only those with a name"`
	Forks bool `json:"forks,omitempty" jsonschema:"only forks and their parents"`
	Limit int  `json:"limit,omitempty" range:"1,1000" jsonschema:"sessions a page, default 20"`
	Paging
}

// sessionsAnswer is the answer of list_sessions.
type sessionsAnswer struct {
	Sessions []listedSession `json:"sessions"`
	Total    int             `json:"total"`
	Inexact  bool            `json:"inexact,omitempty" jsonschema:"there are more"`
	tail
}

// listedSession is a session of a list.
type listedSession struct {
	sessionRow
	Named  bool     `json:"named,omitempty" jsonschema:"the title is a name"`
	Labels []string `json:"labels,omitempty"`
	Depth  int      `json:"depth,omitempty" jsonschema:"with forks: a fork of the last one above with a smaller depth"`
	Entry  string   `json:"entry,omitempty" jsonschema:"of the best hit"`
}

func (s *server) addSessions(m *mcp.Server) {
	add(m, s, tool[SessionsInput]{
		name: "list_sessions", title: "List past sessions",
		description: "Past sessions, latest first, or with a query those that match. Use it to see what was worked on in a project or a week.",
		output:      open(schemaOf[sessionsAnswer]()), call: s.sessions,
	})
}

func (s *server) sessions(ctx context.Context, in *SessionsInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "list_sessions", text: in.Query, filters: in.Filters, limit: in.Limit, rows: sessions.DefaultSessions, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ctx, cancel := s.Budget(ctx)
	defer cancel()
	req := sessions.FromSearch(q.request)
	req.Named, req.Forks = in.Named, in.Forks
	req.NoSearches = req.NoSearches && req.Text != "" // a session is more than its searches
	req.Limit = q.at.At + q.limit + 1
	list, err := sessions.List(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, q.failed(err)
	}
	found := list.Sessions[min(q.at.At, len(list.Sessions)):]
	rows := make([]listedSession, len(found))
	for i := range found {
		x := &found[i]
		rows[i] = listedSession{sessionRow: q.names.row(&x.SessionHit), Named: x.Name != "", Labels: x.Labels, Depth: x.Depth}
		if x.Hit != nil {
			rows[i].Entry = x.Hit.EntryID
		}
	}
	answer := sessionsAnswer{Total: list.Total, Inexact: !list.TotalIsExact}
	return pageOf(q, rows, rowPage[listedSession]{
		tail: q.tail(list.Warnings),
		line: (*listedSession).text,
		say: func(rows []listedSession, t tail) (any, string) {
			a := answer
			a.Sessions, a.tail = rows, t
			return a, a.text()
		},
	})
}

func (a *sessionsAnswer) text() string {
	var b strings.Builder
	more := ""
	if a.Inexact {
		more = "at least "
	}
	fmt.Fprintf(&b, "%s%s.\n", more, human.Plural(a.Total, "session", "sessions"))
	for i := range a.Sessions {
		b.WriteString(a.Sessions[i].text() + "\n")
	}
	a.tail.write(&b)
	return b.String()
}

func (r *listedSession) text() string {
	text := strings.Repeat("  ", r.Depth) + r.sessionRow.text()
	if r.Entry != "" {
		text += " · best at " + r.Entry
	}
	return text
}
