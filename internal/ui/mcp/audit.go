package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/internal/ui/printer"
	"pigrep/query/audit"
)

// CallsInput are the arguments of tool_calls.
type CallsInput struct {
	Query string `json:"query,omitempty" range:"0,20000" jsonschema:"only calls with all these words"`
	Tool  Words  `json:"tool,omitempty" jsonschema:"only calls of these tools; ! means commands typed by the user"`
	CallFilters
	Failed  bool  `json:"failed,omitempty" jsonschema:"only calls that failed"`
	Risky   bool  `json:"risky,omitempty" jsonschema:"only calls that match a rule of risk"`
	Rule    Words `json:"rule,omitempty" jsonschema:"only calls that match these rules"`
	Results bool  `json:"results,omitempty" jsonschema:"with the first lines of each result"`
	Limit   int   `json:"limit,omitempty" range:"1,1000" jsonschema:"calls on a page, default 30"`
	Paging
}

const defaultCalls = 30

// callsAnswer is the answer of the tools calls command, with paging.
type callsAnswer struct {
	head
	Calls    *int            `json:"calls,omitempty" jsonschema:"number of calls"`
	Rows     []audit.CallRow `json:"rows"`
	Coverage *audit.Coverage `json:"coverage"`
	tail
}

// UsageInput are the arguments of usage.
type UsageInput struct {
	By Words `json:"by,omitempty" jsonschema:"dimensions to group by, default model"`
	CallFilters
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"rows on a page, default 50"`
	Paging
}

// usageAnswer is the answer of the usage command, with paging.
type usageAnswer struct {
	head
	TimeZone string            `json:"timeZone"`
	Sources  []audit.SourceRow `json:"sources"`
	Unpriced []string          `json:"unpricedModels"`
	Repeated int               `json:"repeatedResults"`
	Rows     []audit.UsageRow  `json:"rows"`
	Total    *audit.UsageRow   `json:"total"`
	Coverage *audit.Coverage   `json:"coverage"`
	tail
}

func (s *server) addAudits(m *mcp.Server) {
	add(m, s, tool[CallsInput]{
		name: "tool_calls", title: "List past tool calls",
		description: "Calls of tools in past sessions, latest first: tool, arguments or command as typed, outcome. Use it to see which commands were run, what failed, or what touched a system.",
		output:      open(schemaOf[callsAnswer]()), call: s.calls,
	})
	add(m, s, tool[UsageInput]{
		name: "usage", title: "Tokens and cost of past sessions",
		description: "Tokens and cost of past sessions, by day, week, month, model, project or session.",
		output:      open(schemaOf[usageAnswer]()), call: s.usage,
	})
}

func (s *server) calls(ctx context.Context, in *CallsInput) (*mcp.CallToolResult, error) {
	filters := in.filters()
	filters.Tool = in.Tool
	q, err := s.ask(ctx, in, listing{tool: "tool_calls", text: in.Query, filters: filters, limit: in.Limit, rows: defaultCalls, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	req := audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Limit: q.request.Limit, Location: s.Now().Location(), Failed: in.Failed, Risky: in.Risky, Rules: in.Rule, Results: in.Results}
	req.Limit = q.at.At + q.limit + 1
	list, err := audit.Calls(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, q.failed(err)
	}
	var rows []audit.CallRow
	seen := 0
	err = list.Each(ctx, func(r *audit.CallRow) error {
		if seen++; seen > q.at.At {
			for i, line := range r.Result {
				r.Result[i], _, _ = cutLine(line, nil)
			}
			rows = append(rows, *r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	answer := callsAnswer{head: head{printer.SchemaVersion, "tools calls"}, Coverage: &list.Coverage}
	if list.Total >= 0 {
		answer.Calls = &list.Total
	}
	return pageOf(q, rows, rowPage[audit.CallRow]{
		tail: q.tail(list.Warnings, list.Index),
		line: func(r *audit.CallRow) string { return callText(r, q.short) },
		say: func(rows []audit.CallRow, t tail) (any, string) {
			a := answer
			a.Rows, a.tail = rows, t
			return a, callsText(&a, q.short)
		},
	})
}

func callsText(a *callsAnswer, short func(string) string) string {
	var b strings.Builder
	if a.Calls != nil {
		fmt.Fprintf(&b, "%s in %s.\n", human.Plural(*a.Calls, "call", "calls"), human.Plural(a.Coverage.Sessions, "session", "sessions"))
	}
	for i := range a.Rows {
		b.WriteString(callText(&a.Rows[i], short) + "\n")
	}
	a.tail.write(&b)
	return b.String()
}

func callText(r *audit.CallRow, short func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s", reference(short, r.SessionID, r.SessionPath, r.EntryID), dayOf(r.Timestamp), r.Status, r.Tool)
	if r.ExitCode != nil && *r.ExitCode != 0 {
		fmt.Fprintf(&b, " exit %d", *r.ExitCode)
	}
	if len(r.Rules) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(r.Rules, ", "))
	}
	b.WriteString(": " + beginning(r.Arguments, 200))
	for _, line := range r.Result {
		b.WriteString("\n   " + beginning(line, 200))
	}
	return b.String()
}

func (s *server) usage(ctx context.Context, in *UsageInput) (*mcp.CallToolResult, error) {
	q, err := s.ask(ctx, in, listing{tool: "usage", filters: in.filters(), limit: in.Limit, rows: defaultLines, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	table, err := audit.Usage(ctx, q.Reader, audit.Request{Text: q.request.Text, Spec: q.request.Spec, Env: q.request.Env, Redact: q.request.Redact, Limit: q.request.Limit, Location: s.Now().Location(), By: in.By})
	if err != nil {
		return nil, q.failed(err)
	}
	answer := usageAnswer{
		head: head{printer.SchemaVersion, "usage"}, TimeZone: table.TimeZone, Sources: append([]audit.SourceRow{}, table.Sources...),
		Unpriced: append([]string{}, table.Unpriced...), Repeated: table.Repeated,
		Total: &table.Total, Coverage: &table.Coverage,
	}
	return pageOf(q, table.Rows[min(q.at.At, len(table.Rows)):], rowPage[audit.UsageRow]{
		tail: q.tail(table.Warnings, table.Index),
		line: func(r *audit.UsageRow) string { return usageText(r, q.short) },
		say: func(rows []audit.UsageRow, t tail) (any, string) {
			a := answer
			a.Rows, a.tail = rows, t
			return a, usageAnswerText(&a, q.short)
		},
	})
}

func usageAnswerText(a *usageAnswer, short func(string) string) string {
	var b strings.Builder
	b.WriteString("Total: " + usageText(a.Total, short) + "\n")
	for i := range a.Rows {
		b.WriteString(usageText(&a.Rows[i], short) + "\n")
	}
	a.tail.write(&b)
	return b.String()
}

// usageCost is the cost of a row, with what it lacks.
func usageCost(r *audit.UsageRow) string {
	switch {
	case !r.HasCost():
		return "cost unknown"
	case r.Unpriced > 0:
		return fmt.Sprintf("cost at least $%.4f", r.Cost)
	}
	return fmt.Sprintf("cost $%.4f", r.Cost)
}

// usageText is a row as text.
func usageText(r *audit.UsageRow, short func(string) string) string {
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
	text := fmt.Sprintf("%d tokens (in %d, out %d, cache read %d, write %d), %s, %s", r.Tokens, r.Input, r.Output, r.CacheRead, r.CacheWrite, usageCost(r), human.Plural(r.Sessions, "session", "sessions"))
	if len(key) > 0 {
		text = strings.TrimSpace(strings.Join(key, " ")) + ": " + text
	}
	return text
}
