package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query/sessions"
)

// SessionsInput are the arguments of list_sessions.
type SessionsInput struct {
	Query string `json:"query,omitempty" range:"0,20000" jsonschema:"only sessions with this text, best match first"`
	Filters
	Named bool `json:"named,omitempty" jsonschema:"only sessions with a name"`
	Forks bool `json:"forks,omitempty" jsonschema:"only forks and their parents, grouped"`
	Limit int  `json:"limit,omitempty" range:"1,1000" jsonschema:"sessions on a page, default 20"`
	Paging
}

// sessionsAnswer is the answer of the sessions command, with paging.
type sessionsAnswer struct {
	head
	Query        string         `json:"query,omitempty"`
	Sessions     []sessions.Row `json:"sessions"`
	Total        int            `json:"total"`
	TotalIsExact bool           `json:"totalIsExact"`
	tail
}

func (s *server) addSessions(m *mcp.Server) {
	add(m, s, tool[SessionsInput]{
		name: "list_sessions", title: "List past sessions",
		description: "Past sessions, latest activity first: name or first prompt, directory, time, length. With a query those that match, best first. Use it to see what was worked on in a project or a week.",
		output:      open(schemaOf[sessionsAnswer]()), call: s.sessions,
	})
}

func (s *server) sessions(ctx context.Context, in *SessionsInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "list_sessions", text: in.Query, filters: in.Filters, limit: in.Limit, rows: sessions.DefaultSessions, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	req := sessions.FromSearch(q.request)
	req.Named, req.Forks = in.Named, in.Forks
	req.Limit = q.at.At + q.limit + 1
	list, err := sessions.List(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, q.failed(err)
	}
	found := list.Sessions[min(q.at.At, len(list.Sessions)):]
	rows := make([]sessions.Row, len(found))
	for i := range found {
		rows[i] = found[i].Row(req.Text != "")
	}
	answer := sessionsAnswer{head: head{printer.SchemaVersion, "sessions"}, Query: in.Query, Total: list.Total, TotalIsExact: list.TotalIsExact}
	return pageOf(q, rows, rowPage[sessions.Row]{
		tail: q.tail(list.Warnings, list.Index),
		line: func(r *sessions.Row) string { return sessionText(&r.SessionHit, q.short) },
		say: func(rows []sessions.Row, t tail) (any, string) {
			a := answer
			a.Sessions, a.tail = rows, t
			return a, sessionsText(&a, q.short)
		},
	})
}

func sessionsText(a *sessionsAnswer, short func(string) string) string {
	var b strings.Builder
	more := ""
	if !a.TotalIsExact {
		more = "at least "
	}
	fmt.Fprintf(&b, "%s%s.\n", more, human.Plural(a.Total, "session", "sessions"))
	for i := range a.Sessions {
		r := &a.Sessions[i]
		b.WriteString(strings.Repeat("  ", r.Depth) + sessionText(&r.SessionHit, short))
		if r.Best != "" {
			fmt.Fprintf(&b, " · best at %s", r.Best)
		}
		b.WriteString("\n")
	}
	a.tail.write(&b)
	return b.String()
}
