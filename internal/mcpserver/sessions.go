package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/query"
)

// SessionsInput are the arguments of list_sessions.
type SessionsInput struct {
	Query string `json:"query,omitempty" jsonschema:"only sessions with such text, the best match first"`
	Filters
	Named bool `json:"named,omitempty" jsonschema:"only sessions with a name"`
	Forks bool `json:"forks,omitempty" jsonschema:"only forks and what they were forked from, families together"`
	Limit int  `json:"limit,omitempty" jsonschema:"sessions on a page, default 20"`
	Paging
}

// sessionsAnswer is that of the sessions command, with what belongs to pages.
type sessionsAnswer struct {
	head
	Query        string             `json:"query,omitempty"`
	Sessions     []query.SessionRow `json:"sessions"`
	Total        int                `json:"total"`
	TotalIsExact bool               `json:"totalIsExact"`
	tail
}

func (s *server) addSessions(m *mcp.Server) {
	add(m, s, tool[SessionsInput]{
		name: "list_sessions", title: "List past sessions",
		description: "Past sessions, the latest activity first: name or first prompt, directory, when, how long. With a query those that match, best first. Use it to see what was worked on in a project or a week.",
		output:      open(schemaOf[sessionsAnswer]()), call: s.sessions,
	})
}

func (s *server) sessions(ctx context.Context, in *SessionsInput) (*mcp.CallToolResult, error) {
	paging, err := in.take()
	if err != nil {
		return nil, err
	}
	switch {
	case len(in.Query) > longestText:
		return nil, tooLong("query", len(in.Query))
	case in.Limit < 0 || in.Limit > mostLines:
		return nil, &Error{codeInput, fmt.Sprintf("limit is a number from 1 to %d", mostLines), "follow nextCursor for more"}
	}
	x, at, err := s.indexed(ctx, "list_sessions", in, paging)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	base, out, err := s.request(in.Filters, in.Query, x, at)
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit == 0 {
		limit = query.DefaultSessions
	}
	base.Limit = at.At + limit + 1
	list, err := query.Sessions(ctx, x.Reader, s.Adapter, s.Files, query.SessionsRequest{Request: base, Named: in.Named, Forks: in.Forks})
	if err != nil {
		return nil, searchError(err)
	}
	more := len(list.Sessions) > at.At+limit
	found := list.Sessions[min(at.At, len(list.Sessions)):min(at.At+limit, len(list.Sessions))]
	rows := make([]query.SessionRow, len(found))
	for i := range found {
		rows[i] = found[i].Row(base.Text != "")
	}
	answer := sessionsAnswer{
		head: head{schemaVersion, "sessions"}, Query: in.Query, Total: list.Total, TotalIsExact: list.TotalIsExact,
		tail: tail{Warnings: x.warnings(list.Warnings...), LeftOut: out, Index: indexState(list.Index, x)},
	}
	short := query.ShortIDs(x.Reader.Summaries())
	p := page{max: paging.MaxBytes, items: len(rows)}
	p.size = func(i int) int { return encodedLen(&rows[i]) + len(sessionText(&rows[i].SessionHit, short)) + 4 }
	p.result = func(n int) (any, string) {
		a := answer
		a.Sessions = append([]query.SessionRow{}, rows[:n]...)
		a.Dropped = len(rows) - n
		if n < len(rows) || more {
			a.NextCursor = s.next(x, at, func(c *cursor) { c.At = at.At + n })
		}
		return a, sessionsText(&a, short)
	}
	return p.cut()
}

func sessionsText(a *sessionsAnswer, short func(string) string) string {
	var b strings.Builder
	more := ""
	if !a.TotalIsExact {
		more = "at least "
	}
	fmt.Fprintf(&b, "%s%s.\n", more, count(a.Total, "session"))
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
