package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/query"
)

// CallsInput are the arguments of tool_calls.
type CallsInput struct {
	Query string `json:"query,omitempty" jsonschema:"only calls with all these words"`
	Tool  Words  `json:"tool,omitempty" jsonschema:"only calls of these tools; ! is a command of the person"`
	CallFilters
	Failed  bool  `json:"failed,omitempty" jsonschema:"only calls that failed"`
	Risky   bool  `json:"risky,omitempty" jsonschema:"only calls that a reviewer wants to see first"`
	Rule    Words `json:"rule,omitempty" jsonschema:"only calls that match these rules of risk"`
	Results bool  `json:"results,omitempty" jsonschema:"with the first lines of each result"`
	Limit   int   `json:"limit,omitempty" jsonschema:"calls on a page, default 30"`
	Paging
}

const defaultCalls = 30

// callsAnswer is that of the tools calls command, with what belongs to pages.
type callsAnswer struct {
	head
	Calls    *int            `json:"calls,omitempty" jsonschema:"how many there are"`
	Rows     []query.CallRow `json:"rows"`
	Coverage *query.Coverage `json:"coverage"`
	tail
}

// UsageInput are the arguments of usage.
type UsageInput struct {
	By Words `json:"by,omitempty" jsonschema:"what rows are made of, default model"`
	CallFilters
	Limit int `json:"limit,omitempty" jsonschema:"rows on a page, default 50"`
	Paging
}

// usageAnswer is that of the usage command, with what belongs to pages.
type usageAnswer struct {
	head
	TimeZone string            `json:"timeZone"`
	Sources  []query.SourceRow `json:"sources"`
	Rows     []query.UsageRow  `json:"rows"`
	Total    *query.UsageRow   `json:"total"`
	Coverage *query.Coverage   `json:"coverage"`
	tail
}

func (s *server) addAudits(m *mcp.Server) {
	add(m, s, tool[CallsInput]{
		name: "tool_calls", title: "List past tool calls",
		description: "Calls of tools in past sessions, latest first: tool, arguments or command as typed, how it ended. Use it to see which commands were run, what failed, or what touched a system.",
		output:      open(schemaOf[callsAnswer]()), call: s.calls,
	})
	add(m, s, tool[UsageInput]{
		name: "usage", title: "Tokens and cost of past sessions",
		description: "Tokens and cost of past sessions, by day, week, month, model, project or session.",
		output:      open(schemaOf[usageAnswer]()), call: s.usage,
	})
}

func (s *server) calls(ctx context.Context, in *CallsInput) (*mcp.CallToolResult, error) {
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
	x, at, err := s.indexed(ctx, "tool_calls", in, paging)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	filters := in.filters()
	filters.Tool = in.Tool
	base, out, err := s.request(filters, in.Query, x, at)
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultCalls
	}
	base.Limit = at.At + limit + 1
	req := query.AuditRequest{Request: base, Location: s.Now().Location(), Failed: in.Failed, Risky: in.Risky, Rules: in.Rule}
	list, err := query.Calls(ctx, x.Reader, s.Adapter, s.Files, req, in.Results)
	if err != nil {
		return nil, searchError(err)
	}
	var rows []query.CallRow
	seen := 0
	err = list.Each(func(r *query.CallRow) error {
		if seen++; seen > at.At {
			rows = append(rows, *r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	answer := callsAnswer{
		head: head{schemaVersion, "tools calls"}, Coverage: &list.Coverage,
		tail: tail{Warnings: x.warnings(list.Warnings...), LeftOut: out, Index: indexState(list.Index, x)},
	}
	if list.Total >= 0 {
		answer.Calls = &list.Total
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	short := query.ShortIDs(x.Reader.Summaries())
	p := page{max: paging.MaxBytes, items: len(rows)}
	p.size = func(i int) int { return encodedLen(&rows[i]) + encodedLen(callText(&rows[i], short)) }
	p.result = func(n int) (any, string) {
		a := answer
		a.Rows = append([]query.CallRow{}, rows[:n]...)
		a.Dropped = len(rows) - n
		if n < len(rows) || more {
			a.NextCursor = s.next(x, at, func(c *cursor) { c.At = at.At + n })
		}
		return a, callsText(&a, short)
	}
	return p.cut()
}

func callsText(a *callsAnswer, short func(string) string) string {
	var b strings.Builder
	if a.Calls != nil {
		fmt.Fprintf(&b, "%s in %s.\n", count(*a.Calls, "call"), count(a.Coverage.Sessions, "session"))
	}
	for i := range a.Rows {
		b.WriteString(callText(&a.Rows[i], short) + "\n")
	}
	a.tail.write(&b)
	return b.String()
}

func callText(r *query.CallRow, short func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s", reference(short, r.SessionID, r.SessionPath, r.EntryID), dayOf(r.Timestamp), r.Status, r.Tool)
	if r.ExitCode != nil && *r.ExitCode != 0 {
		fmt.Fprintf(&b, " exit %d", *r.ExitCode)
	}
	if len(r.Rules) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(r.Rules, ", "))
	}
	b.WriteString(": " + oneLine(r.Arguments, 200))
	for _, line := range r.Result {
		b.WriteString("\n   " + oneLine(line, 200))
	}
	return b.String()
}

func (s *server) usage(ctx context.Context, in *UsageInput) (*mcp.CallToolResult, error) {
	paging, err := in.take()
	if err != nil {
		return nil, err
	}
	if in.Limit < 0 || in.Limit > mostLines {
		return nil, &Error{codeInput, fmt.Sprintf("limit is a number from 1 to %d", mostLines), "follow nextCursor for more"}
	}
	x, at, err := s.indexed(ctx, "usage", in, paging)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	base, out, err := s.request(in.filters(), "", x, at)
	if err != nil {
		return nil, err
	}
	table, err := query.Usage(ctx, x.Reader, query.AuditRequest{Request: base, Location: s.Now().Location(), By: in.By})
	if err != nil {
		return nil, searchError(err)
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultLines
	}
	rows := table.Rows[min(at.At, len(table.Rows)):]
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	answer := usageAnswer{
		head: head{schemaVersion, "usage"}, TimeZone: table.TimeZone, Sources: append([]query.SourceRow{}, table.Sources...),
		Total: &table.Total, Coverage: &table.Coverage,
		tail: tail{Warnings: x.warnings(table.Warnings...), LeftOut: out, Index: indexState(table.Index, x)},
	}
	short := query.ShortIDs(x.Reader.Summaries())
	p := page{max: paging.MaxBytes, items: len(rows)}
	p.size = func(i int) int { return encodedLen(&rows[i]) + len(usageText(&rows[i], short)) + 2 }
	p.result = func(n int) (any, string) {
		a := answer
		a.Rows = append([]query.UsageRow{}, rows[:n]...)
		a.Dropped = len(rows) - n
		if n < len(rows) || more {
			a.NextCursor = s.next(x, at, func(c *cursor) { c.At = at.At + n })
		}
		var b strings.Builder
		b.WriteString("Total: " + usageText(a.Total, short) + "\n")
		for i := range a.Rows {
			b.WriteString(usageText(&a.Rows[i], short) + "\n")
		}
		a.tail.write(&b)
		return a, b.String()
	}
	return p.cut()
}

// usageText is a row on one line.
func usageText(r *query.UsageRow, short func(string) string) string {
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
	if r.SessionPath != "" {
		key = append(key, reference(short, r.SessionID, r.SessionPath, ""), r.SessionName)
	}
	text := fmt.Sprintf("%d tokens (in %d, out %d, cache read %d, write %d), cost %.4f, %s", r.Tokens, r.Input, r.Output, r.CacheRead, r.CacheWrite, r.Cost, count(r.Sessions, "session"))
	if len(key) > 0 {
		text = strings.TrimSpace(strings.Join(key, " ")) + ": " + text
	}
	return text
}
