package mcp

import (
	"context"
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
	footer
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
		output:      open(schemaOf[sessionsAnswer]()),
		call: list(s, "list_sessions", func(in *SessionsInput) listing {
			return listing{text: in.Query, filters: in.Filters, limit: in.Limit, rows: sessions.DefaultSessions, paging: &in.Paging}
		}, s.sessions),
	})
}

func (s *server) sessions(ctx context.Context, q *question, in *SessionsInput) (*rowPage[listedSession], error) {
	req := sessions.FromSearch(q.request)
	req.Named, req.Forks = in.Named, in.Forks
	req.NoSearches = req.NoSearches && req.Text != "" // a session is more than its searches
	req.Limit = q.at.At + q.limit + 1
	list, err := sessions.List(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[listedSession]{footer: q.footer(list.Warnings), line: (*listedSession).text}
	p.rows = rowsFrom(q, list.Sessions, func(x *sessions.Session) listedSession {
		row := listedSession{sessionRow: q.ids.row(&x.SessionHit), Named: x.Name != "", Labels: x.Labels, Depth: x.Depth}
		if x.Hit != nil {
			row.Entry = x.Hit.EntryID
		}
		return row
	})
	p.render = func(rows []listedSession, f footer) (any, string) {
		head := atLeast(!list.TotalIsExact) + human.Plural(list.Total, "session", "sessions") + "."
		return sessionsAnswer{rows, list.Total, !list.TotalIsExact, f}, p.text(head, rows, f)
	}
	return p, nil
}

func (r *listedSession) text() string {
	text := strings.Repeat("  ", r.Depth) + r.sessionRow.text()
	if r.Entry != "" {
		text += " · best at " + r.Entry
	}
	return text
}
