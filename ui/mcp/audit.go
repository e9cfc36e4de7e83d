package mcp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/query/audit"
)

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
	tail
}

// callRow is a call.
type callRow struct {
	place
	Result string   `json:"result,omitempty" jsonschema:"the entry with its result"`
	Time   string   `json:"time,omitempty"`
	Tool   string   `json:"tool"`
	Status string   `json:"status" jsonschema:"ok, error, none (no result) or missing (no call)"`
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
	tail
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
		output:      open(schemaOf[callsAnswer]()), call: s.calls,
	})
	add(m, s, tool[UsageInput]{
		name: "usage", title: "Tokens and cost of past sessions",
		description: "Tokens and cost of past sessions.",
		output:      open(schemaOf[usageAnswer]()), call: s.usage,
	})
}

func (s *server) calls(ctx context.Context, in *CallsInput) (*mcp.CallToolResult, error) {
	filters := Filters{Where: in.Where, IncludeSearches: in.IncludeSearches}
	filters.Given["tool"] = in.Tool
	q, err := s.ask(ctx, in, listing{tool: "tool_calls", text: in.Query, filters: filters, limit: in.Limit, rows: defaultCalls, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ctx, cancel := s.Budget(ctx)
	defer cancel()
	req := audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Limit: q.request.Limit, Location: s.Now().Location(), Failed: in.Failed, Risky: in.Risky, Rules: in.Rule, Results: in.Results}
	req.Limit = q.at.At + q.limit + 1
	list, err := audit.Calls(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, q.failed(err)
	}
	var rows []callRow
	seen := 0
	err = list.Each(ctx, func(r *audit.CallRow) error {
		if seen++; seen > q.at.At {
			rows = append(rows, q.names.call(r))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	answer := callsAnswer{Total: list.Total}
	return pageOf(q, rows, rowPage[callRow]{
		tail: q.tail(list.Warnings),
		line: (*callRow).text,
		say: func(rows []callRow, t tail) (any, string) {
			a := answer
			a.Calls, a.tail = rows, t
			var b strings.Builder
			fmt.Fprintf(&b, "%s in %s.\n", human.Plural(a.Total, "call", "calls"), human.Plural(list.Coverage.Sessions, "session", "sessions"))
			for i := range rows {
				b.WriteString(rows[i].text() + "\n")
			}
			a.tail.write(&b)
			return a, b.String()
		},
	})
}

// call converts a tool call to a row of the answer.
func (n *namer) call(r *audit.CallRow) callRow {
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

func (s *server) usage(ctx context.Context, in *UsageInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "usage", filters: Filters{Where: in.Where}, limit: in.Limit, rows: defaultLines, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ctx, cancel := s.Budget(ctx)
	defer cancel()
	table, err := audit.Usage(ctx, q.Reader, audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Limit: q.request.Limit, Location: s.Now().Location(), By: in.By.values()})
	if err != nil {
		return nil, q.failed(err)
	}
	rows := []usageRow{}
	for i := min(q.at.At, len(table.Rows)); i < len(table.Rows); i++ {
		rows = append(rows, q.names.usage(&table.Rows[i]))
	}
	answer := usageAnswer{Total: q.names.usage(&table.Total), TimeZone: table.TimeZone}
	for _, model := range table.Unpriced {
		answer.Unpriced = append(answer.Unpriced, cmp.Or(model, "(no model)"))
	}
	return pageOf(q, rows, rowPage[usageRow]{
		tail: q.tail(table.Warnings),
		line: (*usageRow).text,
		say: func(rows []usageRow, t tail) (any, string) {
			a := answer
			a.Rows, a.tail = rows, t
			var b strings.Builder
			b.WriteString("Total: " + a.Total.text() + "\n")
			for i := range rows {
				b.WriteString(rows[i].text() + "\n")
			}
			a.tail.write(&b)
			return a, b.String()
		},
	})
}

// usage returns the row of a use of tokens.
func (n *namer) usage(r *audit.UsageRow) usageRow {
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
