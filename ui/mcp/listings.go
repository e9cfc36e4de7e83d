package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/query/audit"
	"pigrep/query/fix"
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

// CallsInput are the arguments of tool_calls.
type CallsInput struct {
	Query           string `json:"query,omitempty" range:"0,20000" jsonschema:"only calls with these words"`
	Tool            Words  `json:"tool,omitempty" jsonschema:"of these tools; ! is commands typed by the user"`
	Where           `reach:"calls"`
	Failed          bool  `json:"failed,omitempty" jsonschema:"only those that failed"`
	Risky           bool  `json:"risky,omitempty" jsonschema:"only those that match a rule of risk"`
	Rule            Words `json:"rule,omitempty" jsonschema:"only those that match these rules"`
	IncludeSearches bool  `json:"includeSearches,omitempty" jsonschema:"with query: calls of pigrep too"`

	Results bool `json:"results,omitempty" jsonschema:"with the first lines of results"`
	Limit   int  `json:"limit,omitempty" range:"1,1000" jsonschema:"calls a page, default 30"`
	Paging
}

const defaultCalls = 30

// callsAnswer is the answer of tool_calls.
type callsAnswer struct {
	Calls []callRow `json:"calls"`
	Total int       `json:"total"`
	footer
}

// callRow is a call.
type callRow struct {
	place
	Result string   `json:"result,omitempty" jsonschema:"the entry with its result"`
	Time   string   `json:"time,omitempty"`
	Tool   string   `json:"tool"`
	Status string   `json:"status" jsonschema:"ok, error, no match (the exit code only says no), none (no result) or missing (no call)"`
	Exit   int32    `json:"exit,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	Text   string   `json:"text" jsonschema:"arguments, or the command"`
	Lines  []string `json:"lines,omitempty" jsonschema:"of the result"`
}

// UsageInput are the arguments of usage.
type UsageInput struct {
	By    Words `json:"by,omitempty" jsonschema:"default model"`
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"rows a page, default 50"`
	Paging
}

// usageAnswer is the answer of usage.
type usageAnswer struct {
	Total    usageRow   `json:"total"`
	Rows     []usageRow `json:"rows"`
	TimeZone string     `json:"timeZone" jsonschema:"of days, weeks and months"`
	Unpriced []string   `json:"unpricedModels,omitempty" jsonschema:"costs lack these"`
	footer
}

// usageRow is tokens and cost by the dimensions that were asked for.
type usageRow struct {
	Day        string  `json:"day,omitempty"`
	Week       string  `json:"week,omitempty"`
	Month      string  `json:"month,omitempty"`
	Model      *string `json:"model,omitempty"`
	Project    *string `json:"project,omitempty"`
	Session    string  `json:"session,omitempty"`
	Title      string  `json:"title,omitempty"`
	Tokens     int64   `json:"tokens"`
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost" jsonschema:"in dollars; 0 if unknown"`
	Sessions   int     `json:"sessions"`

	unpriced bool // the cost lacks something
}

func (s *server) addAudits(m *mcp.Server) {
	add(m, s, tool[CallsInput]{
		name: "tool_calls", title: "List past tool calls",
		description: "Calls of tools in past sessions, latest first, with their outcome. Use it to see which commands were run, or what failed.",
		output:      open(schemaOf[callsAnswer]()),
		call: list(s, "tool_calls", func(in *CallsInput) listing {
			filters := Filters{Where: in.Where, IncludeSearches: in.IncludeSearches}
			filters.Given["tool"] = in.Tool
			return listing{text: in.Query, filters: filters, limit: in.Limit, rows: defaultCalls, paging: &in.Paging}
		}, s.calls),
	})
	add(m, s, tool[UsageInput]{
		name: "usage", title: "Tokens and cost of past sessions",
		description: "Tokens and cost of past sessions.",
		output:      open(schemaOf[usageAnswer]()),
		call: list(s, "usage", func(in *UsageInput) listing {
			return listing{filters: Filters{Where: in.Where}, limit: in.Limit, rows: defaultLines, paging: &in.Paging}
		}, s.usage),
	})
}

// audit is the question as one about calls and tokens.
func (q *question) audit() audit.Request {
	return audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Location: q.s.Now().Location()}
}

func (s *server) calls(ctx context.Context, q *question, in *CallsInput) (*rowPage[callRow], error) {
	req := q.audit()
	req.Failed, req.Risky, req.Rules, req.Results, req.Limit = in.Failed, in.Risky, in.Rule, in.Results, q.at.At+q.limit+1
	list, err := audit.Calls(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[callRow]{line: (*callRow).text}
	seen := 0
	err = list.Each(ctx, func(r *audit.CallRow) error {
		if seen++; seen > q.at.At {
			p.rows = append(p.rows, q.ids.call(r))
		}
		return nil
	})
	p.footer = q.footer(list.Warnings)
	p.render = func(rows []callRow, f footer) (any, string) {
		head := human.Plural(list.Total, "call", "calls") + " in " + human.Plural(list.Coverage.Sessions, "session", "sessions") + "."
		return callsAnswer{rows, list.Total, f}, p.text(head, rows, f)
	}
	return p, err
}

// call converts a tool call to a row of the answer.
func (n *ids) call(r *audit.CallRow) callRow {
	row := callRow{
		place: n.place(r.SessionID, r.SessionPath, r.EntryID), Result: r.ResultEntryID, Time: minute(r.Timestamp), Tool: r.Tool, Status: r.Status,
		Rules: r.Rules, Text: beginning(r.Arguments, 200),
	}
	if r.ExitCode != nil {
		row.Exit = *r.ExitCode
	}
	for _, line := range r.Result {
		row.Lines = append(row.Lines, beginning(line, 200))
	}
	return row
}

func (r *callRow) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s", r.place, r.Time, r.Status, r.Tool)
	if r.Exit != 0 {
		fmt.Fprintf(&b, " exit %d", r.Exit)
	}
	if len(r.Rules) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(r.Rules, ", "))
	}
	b.WriteString(": " + r.Text)
	for _, line := range r.Lines {
		b.WriteString("\n   " + line)
	}
	return b.String()
}

func (s *server) usage(ctx context.Context, q *question, in *UsageInput) (*rowPage[usageRow], error) {
	req := q.audit()
	req.By = in.By.values()
	table, err := audit.Usage(ctx, q.Reader, req)
	if err != nil {
		return nil, err
	}
	total := q.ids.usage(&table.Total)
	var unpriced []string
	for _, model := range table.Unpriced {
		unpriced = append(unpriced, cmp.Or(model, "(no model)"))
	}
	p := &rowPage[usageRow]{rows: rowsFrom(q, table.Rows, q.ids.usage), footer: q.footer(table.Warnings), line: (*usageRow).text}
	p.render = func(rows []usageRow, f footer) (any, string) {
		return usageAnswer{total, rows, table.TimeZone, unpriced, f}, p.text("Total: "+total.text(), rows, f)
	}
	return p, nil
}

// usage returns the row of a use of tokens.
func (n *ids) usage(r *audit.UsageRow) usageRow {
	row := usageRow{
		Day: r.Day, Week: r.Week, Month: r.Month, Model: r.Model, Project: r.Project, Title: beginning(r.SessionName, longestTitle), Tokens: r.Tokens, Input: r.Input,
		Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite, Cost: math.Round(r.Cost*1e4) / 1e4, Sessions: r.Sessions, unpriced: r.Unpriced > 0,
	}
	if r.SessionPath != "" {
		row.Session = n.session(r.SessionID, r.SessionPath)
	}
	return row
}

// text is a row as text.
func (r *usageRow) text() string {
	var key []string
	for _, k := range []string{r.Day, r.Week, r.Month} {
		if k != "" {
			key = append(key, k)
		}
	}
	for _, k := range []*string{r.Model, r.Project} {
		if k != nil {
			key = append(key, *k)
		}
	}
	key = append(key, r.Session, r.Title)
	cost := fmt.Sprintf("cost $%.4f", r.Cost)
	switch {
	case r.Cost == 0:
		cost = "cost unknown"
	case r.unpriced:
		cost = fmt.Sprintf("cost at least $%.4f", r.Cost)
	}
	text := fmt.Sprintf("%d tokens (in %d, out %d, cache read %d, write %d), %s, %s", r.Tokens, r.Input, r.Output, r.CacheRead, r.CacheWrite, cost, human.Plural(r.Sessions, "session", "sessions"))
	if name := strings.TrimSpace(strings.Join(key, " ")); name != "" {
		text = name + ": " + text
	}
	return text
}
