package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/query/fix"
)

// FixInput are the arguments of find_fix.
type FixInput struct {
	Error string `json:"error" range:"0,65536" jsonschema:"as it was printed, several lines are fine"`
	Where
	Limit int `json:"limit,omitempty" range:"1,100" jsonschema:"sessions a page, default 5"`
	Paging
}

// fixAnswer is the answer of find_fix.
type fixAnswer struct {
	Sessions []fixRow `json:"sessions"`
	Total    int      `json:"total"`
	Inexact  bool     `json:"inexact,omitempty" jsonschema:"there may be more"`
	footer
}

// fixRow is a session with the error, at its last occurrence, and what followed.
type fixRow struct {
	place
	Outcome fix.Outcome `json:"outcome"`
	Title   string      `json:"title,omitempty"`
	CWD     string      `json:"cwd,omitempty"`
	Time    string      `json:"time,omitempty"`
	Error   string      `json:"error"`
	Calls   []fixCall   `json:"calls,omitempty"`
	Reply   *fixReply   `json:"reply,omitempty"`
}

type fixCall struct {
	Entry  string `json:"entry,omitempty"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

type fixReply struct {
	Entry string `json:"entry,omitempty"`
	Text  string `json:"text"`
}

func (s *server) addFix(m *mcp.Server) {
	add(m, s, tool[FixInput]{
		name: "find_fix", title: "Find what fixed an error before",
		description: "Past sessions in which an error occurred, even with other numbers, paths and names, and what was done then until it was gone. Use it when a command fails, before trying. outcome: fixed, gone (not seen again) or unfixed.",
		output:      open(schemaOf[fixAnswer]()),
		call: list(s, "find_fix", func(in *FixInput) listing {
			return listing{text: in.Error, filters: Filters{Where: in.Where}, limit: in.Limit, rows: fix.DefaultLimit, paging: &in.Paging}
		}, s.fix),
	})
}

func (s *server) fix(ctx context.Context, q *question, in *FixInput) (*rowPage[fixRow], error) {
	res, err := fix.Find(ctx, q.Reader, s.Adapter, s.Files, fix.Request{
		Text: in.Error, Spec: q.request.Spec, Env: q.request.Env, Limit: q.at.At + q.limit + 1, Resume: s.Resume, Redact: q.request.Redact,
	})
	if errors.Is(err, fix.ErrNoWords) {
		return nil, &Error{codeQuery, err.Error(), "give the error as it was printed"}
	}
	if err != nil {
		return nil, err
	}
	p := &rowPage[fixRow]{rows: rowsFrom(q, res.Sessions, q.ids.fix), footer: q.footer(res.Warnings), line: (*fixRow).text}
	inexact := !res.TotalIsExact && res.Total > 0
	p.render = func(rows []fixRow, f footer) (any, string) {
		head := atLeast(inexact) + human.Plural(res.Total, "session", "sessions") + " with this error."
		if len(res.Missing) > 0 {
			head = "No session has this error with " + strings.Join(res.Missing, ", ") + ". " + atLeast(inexact) + human.Plural(res.Total, "session", "sessions") + " with an error like it."
		}
		return fixAnswer{rows, res.Total, inexact, f}, p.text(head, rows, f)
	}
	return p, nil
}

// fix returns the row of a session.
func (n *ids) fix(x *fix.Session) fixRow {
	row := fixRow{
		place: n.place(x.SessionID, x.SessionPath, x.Error.EntryID), Outcome: x.Outcome, Title: beginning(x.Title, longestTitle), CWD: x.CWD,
		Time: minute(x.Error.Timestamp), Error: beginning(x.Error.Text, 300),
	}
	for _, c := range x.Calls {
		row.Calls = append(row.Calls, fixCall{c.EntryID, c.Tool, beginning(c.Text, 200), c.Status == "error"})
	}
	if x.Reply != nil {
		row.Reply = &fixReply{x.Reply.EntryID, beginning(x.Reply.Text, 300)}
	}
	return row
}

// text is a session with the error, the calls and the reply, one a line, below an empty one.
func (r *fixRow) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s · %s\n   error: %s", r.place, r.Outcome, joined(" · ", r.Time, r.CWD, r.Title), r.Error)
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "\n   → %s %s", c.Tool, c.Text)
		if c.Failed {
			b.WriteString(" (failed)")
		}
	}
	if r.Reply != nil {
		fmt.Fprintf(&b, "\n   reply: %s", r.Reply.Text)
	}
	return b.String()
}
