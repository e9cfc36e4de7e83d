package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query/fix"
)

// FixInput are the arguments of find_fix.
type FixInput struct {
	Error   string `json:"error" range:"0,65536" jsonschema:"the error as it was printed; several lines are fine"`
	Session Words  `json:"session,omitempty" jsonschema:"only these sessions: id, beginning of an id, or path"`
	CWD     string `json:"cwd,omitempty" jsonschema:"only sessions of this directory or below"`
	Project Words  `json:"project,omitempty" jsonschema:"only sessions of these projects: a path or its last element"`
	Since   string `json:"since,omitempty" jsonschema:"only from this time on: 2026-01-31, 36h, 2w, yesterday"`
	Until   string `json:"until,omitempty" jsonschema:"only up to this time"`
	Exclude Words  `json:"exclude,omitempty" jsonschema:"exclude sessions whose path matches this glob"`

	IncludeCurrent bool `json:"includeCurrent,omitempty" jsonschema:"count the session you are running in too"`

	Limit int `json:"limit,omitempty" range:"1,100" jsonschema:"sessions on a page, default 5"`
	Paging
}

// filters are those of CallFilters without the model: results and prompts have none.
func (f *FixInput) filters() Filters {
	return Filters{Session: f.Session, CWD: f.CWD, Project: f.Project, Since: f.Since, Until: f.Until, Exclude: f.Exclude, IncludeCurrent: f.IncludeCurrent}
}

// fixAnswer is the answer of the fix command, with paging.
type fixAnswer struct {
	head
	Query        string        `json:"query"`
	Sessions     []fix.Session `json:"sessions"`
	Total        int           `json:"total"`
	TotalIsExact bool          `json:"totalIsExact"`
	tail
}

func (s *server) addFix(m *mcp.Server) {
	add(m, s, tool[FixInput]{
		name: "find_fix", title: "Find what fixed an error before",
		description: "Past sessions in which an error occurred, even with different numbers, paths and names, and in each the calls after its last occurrence and the model's closing reply. Use it when a command fails, before trying. outcome: fixed, gone (not seen again) or unfixed.",
		output:      open(schemaOf[fixAnswer]()), call: s.fix,
	})
}

func (s *server) fix(ctx context.Context, in *FixInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "find_fix", text: in.Error, filters: in.filters(), limit: in.Limit, rows: fix.DefaultLimit, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	res, err := fix.Find(ctx, q.Reader, s.Adapter, s.Files, fix.Request{
		Text: in.Error, Spec: q.request.Spec, Env: q.request.Env, Limit: q.at.At + q.limit + 1, Resume: s.Resume, Redact: q.request.Redact,
	})
	if errors.Is(err, fix.ErrNoWords) {
		return nil, &Error{codeQuery, err.Error(), "give the error as it was printed"}
	}
	if err != nil {
		return nil, q.failed(err)
	}
	answer := fixAnswer{head: head{printer.SchemaVersion, "fix"}, Query: res.Text, Total: res.Total, TotalIsExact: res.TotalIsExact}
	return pageOf(q, res.Sessions[min(q.at.At, len(res.Sessions)):], rowPage[fix.Session]{
		tail: q.tail(res.Warnings, res.Index),
		line: func(r *fix.Session) string { return fixText(r, q.short) },
		say: func(rows []fix.Session, t tail) (any, string) {
			a := answer
			a.Sessions, a.tail = rows, t
			var b strings.Builder
			if !a.TotalIsExact && a.Total > 0 {
				b.WriteString("at least ")
			}
			fmt.Fprintf(&b, "%s with this error.\n", human.Plural(a.Total, "session", "sessions"))
			for i := range rows {
				b.WriteString("\n" + fixText(&rows[i], q.short))
			}
			a.tail.write(&b)
			return a, b.String()
		},
	})
}

// fixText is a session with the error, the calls and the reply, one a line.
func fixText(x *fix.Session, short func(string) string) string {
	var b strings.Builder
	title := beginning(x.Title, 80)
	fmt.Fprintf(&b, "%s %s · %s · %s · %s\n", reference(short, x.SessionID, x.SessionPath, x.Error.EntryID), x.Outcome, dayOf(x.Error.Timestamp), x.CWD, title)
	fmt.Fprintf(&b, "   error: %s\n", beginning(x.Error.Text, 300))
	for _, c := range x.Calls {
		fmt.Fprintf(&b, "   → %s %s", c.Tool, beginning(c.Text, 200))
		if c.Status == "error" {
			b.WriteString(" (failed)")
		}
		b.WriteString("\n")
	}
	if x.Reply != nil {
		fmt.Fprintf(&b, "   reply: %s\n", beginning(x.Reply.Text, 300))
	}
	return b.String()
}
