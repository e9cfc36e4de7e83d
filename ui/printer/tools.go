package printer

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/sessions"
	"pigrep/ui/chart"
)

// NewToolsAudit returns the answer of "tools". A limit of 0 means no limit. days is the same
// table grouped by day first, for Layout.TakesTrend; it may be nil.
func NewToolsAudit(t, days *audit.ToolTable, limit int, layout Layout) *Audit {
	type row = audit.ToolRow
	key := func(r *row) *audit.Key { return &r.Key }
	var byDay *trend
	if days != nil {
		byDay = newTrend(len(days.Rows), func(i int) (*audit.Key, float64) { return &days.Rows[i].Key, float64(days.Rows[i].Calls) })
	}
	columns := append(keyColumns(layout, t.By, &t.Total, key), []sheetColumn[row]{
		{column{Name: "calls", Title: "CALLS", Right: true, Share: true}, func(r *row) cell { return countCell(r.Calls) }},
		{column{Name: "errors", Title: "FAILED", Right: true}, func(r *row) cell { return countCell(r.Errors) }},
		{column{Name: "error rate", Title: "RATE", Right: true}, func(r *row) cell {
			return cell{Text: cmp.Or(human.When(r.Errors > 0, human.Percent(r.ErrorRate)), human.None), Plain: strconv.FormatFloat(r.ErrorRate, 'g', 6, 64)}
		}},
		{column{Title: human.When(t.Total.Rejected > 0, "REJECTED"), Right: true}, func(r *row) cell { return countCell(r.Rejected) }},
		{column{Name: "sessions", Title: sessionsTitle(t.By), Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		{column{Name: "p50 ms", Title: "P50", Right: true}, func(r *row) cell { return waitCell(r, r.P50) }},
		{column{Name: "p95 ms", Title: "P95", Right: true}, func(r *row) cell { return waitCell(r, r.P95) }},
		{column{Name: "output bytes", Title: "OUTPUT", Right: true}, func(r *row) cell { return bytesCell(r.Bytes) }},
		{column{Name: "last used", Title: "LAST USED"}, func(r *row) cell { return layout.lastCell(r.Last.Time) }},
		trendColumn(byDay, &t.Total, key),
		{column{Name: "without result"}, func(r *row) cell { return countCell(r.NoResult) }},
		{column{Name: "result without call"}, func(r *row) cell { return countCell(r.NoCall) }},
		{column{Name: "nested"}, func(r *row) cell { return countCell(r.Nested) }},
		{column{Name: "timed"}, func(r *row) cell { return countCell(r.Timed) }},
		{column{Name: "rejected"}, func(r *row) cell { return countCell(r.Rejected) }},
	}...)
	a := &Audit{
		command: "tools", table: &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit)), total: &t.Total}, sum: &t.Total,
		Covered: &t.Covered,
		Chart: func() *chart.Chart {
			drawn := *t
			drawn.Rows = limited(t.Rows, limit)
			return chart.Tools(&drawn, layout.Home)
		},
		LastUse: func() (time.Time, error) { return t.Total.Last.Time, nil },
	}
	if slices.Equal(t.By, []string{"tool"}) {
		a.Picture = chart.Failures(t, layout.Home)
	}
	a.closing = func(rows int) string {
		return human.Joined(" · ",
			human.When(rows < len(t.Rows), shownOf(rows, len(t.Rows), "row", "rows")),
			human.When(a.Verbose, human.Some(t.Total.NoResult, "call has no result", "calls have no result")),
			human.When(a.Verbose, human.Some(t.Total.NoCall, "result has no call", "results have no call")),
			human.When(a.Verbose, human.Some(t.Total.Nested, "call was made by a tool", "calls were made by tools")))
	}
	return a
}

func latest[T any](rows []T, of func(*T) time.Time) func() (time.Time, error) {
	return func() (last time.Time, err error) {
		for i := range rows {
			if t := of(&rows[i]); t.After(last) {
				last = t
			}
		}
		return last, nil
	}
}

// waitCell returns a duration of the calls of a row; in text none for a tool that waits for a person, as it
// says nothing about the tool.
func waitCell(r *audit.ToolRow, ms *int32) cell {
	c := millisCell(ms)
	if ms != nil && r.Asks {
		c.Text = human.None
	}
	return c
}

func bytesCell(n int64) cell {
	c := countCell(n)
	c.Text = human.Bytes(n)
	return c
}

// NewCommandsAudit returns the answer of "tools commands". A limit of 0 means no limit.
func NewCommandsAudit(t *audit.CommandTable, limit int, layout Layout) *Audit {
	type row = audit.CommandRow
	columns := []sheetColumn[row]{
		{column{Name: "program", Title: "PROGRAM", Flex: true}, func(r *row) cell { return textCell(r.Program) }},
		{column{Name: "runs", Title: "RUNS", Right: true, Share: true}, func(r *row) cell { return countCell(r.Runs) }},
		{column{Name: "calls", Title: "CALLS", Right: true}, func(r *row) cell { return countCell(r.Calls) }},
		{column{Name: "failed", Title: "FAILED", Right: true}, func(r *row) cell { return countCell(r.Failed) }},
		{column{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		{column{Name: "last used", Title: "LAST USED"}, func(r *row) cell { return layout.lastCell(r.Last.Time) }},
	}
	return &Audit{
		command: "tools commands", table: &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit))},
		Covered: &t.Covered,
		LastUse: latest(t.Rows, func(r *row) time.Time { return r.Last.Time }),
		facts:   map[string]any{"calls": t.Calls, "unparsed": t.Unparsed, "unread": t.Unread},
		closing: func(rows int) string {
			line := shownOf(rows, len(t.Rows), "program", "programs") + " in " + human.Plural(t.Calls, "command", "commands")
			if t.Unparsed > 0 {
				line += ", " + human.Number(t.Unparsed) + " of which cannot be parsed (counted by their first word)"
			}
			if t.Unread > 0 {
				line += "; " + human.Plural(t.Unread, "script ran", "scripts ran") + " further commands, which it computed"
			}
			return line
		},
	}
}

// NewFilesAudit returns the answer of "tools files": a table of files, or the history of a
// path. A limit of 0 means no limit.
func NewFilesAudit(t *audit.FileTable, history bool, limit int, layout Layout) *Audit {
	a := &Audit{command: "tools files", Covered: &t.Covered}
	if history {
		rows := limited(t.Touches, limit)
		a.table = touchSheet(rows, layout)
		a.write = func(t *Text) int { t.touches(rows); return len(rows) }
		a.LastUse = latest(t.Touches, func(r *audit.TouchRow) time.Time { return r.Timestamp.Time })
		a.closing = func(rows int) string {
			if rows == 0 {
				return "no call touched this file"
			}
			return shownOf(rows, len(t.Touches), "call", "calls")
		}
		return a
	}
	type row = audit.FileRow
	deleted := slices.ContainsFunc(t.Rows, func(r row) bool { return r.Deletes > 0 })
	columns := []sheetColumn[row]{
		{column{Name: "path", Title: "FILE", Flex: true, Left: true}, func(r *row) cell { return layout.pathCell(r.Path) }},
		{column{Name: "reads", Title: "READ", Right: true}, func(r *row) cell { return countCell(r.Reads) }},
		{column{Name: "writes", Title: "WRITTEN", Right: true}, func(r *row) cell { return countCell(r.Writes) }},
		{column{Name: "edits", Title: "EDITED", Right: true}, func(r *row) cell { return countCell(r.Edits) }},
		{column{Title: human.When(deleted, "DELETED"), Right: true}, func(r *row) cell { return countCell(r.Deletes) }},
		{column{Name: "others", Title: "OTHER", Right: true}, func(r *row) cell { return countCell(r.Others) }},
		{column{Name: "in summaries"}, func(r *row) cell { return countCell(r.Summaries) }},
		{column{Name: "failed", Title: "FAILED", Right: true}, func(r *row) cell { return countCell(r.Failed) }},
		{column{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		{column{Name: "first"}, func(r *row) cell { return layout.timeCell(r.First.Time) }},
		{column{Name: "last", Title: "LAST"}, func(r *row) cell { return layout.lastCell(r.Last.Time) }},
		{column{Name: "deletes"}, func(r *row) cell { return countCell(r.Deletes) }},
		{column{Name: "rejected"}, func(r *row) cell { return countCell(r.Rejected) }},
	}
	a.table = &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit))}
	a.LastUse = latest(t.Rows, func(r *row) time.Time { return r.Last.Time })
	a.closing = func(rows int) string { return shownOf(rows, len(t.Rows), "file", "files") }
	return a
}

// alarm colours the row of a failed call.
func alarm(r *sheetRow, status string) {
	if status == "error" {
		r.style = ErrorStyle
	}
}

// idCell returns a session id, in text in the form that commands accept, which also exists
// for sessions without an id.
func (l Layout) idCell(id, path string) cell {
	return cell{Text: l.sessionID(id, path), Plain: id}
}

// groupColumns returns the first columns of calls below the heading of a group. of returns when and where a call was.
func groupColumns[T any](l Layout, of func(*T) (session.Time, *session.EntryPlace, int64)) []sheetColumn[T] {
	return []sheetColumn[T]{
		{column{Title: "TIME", Width: 2 + len(minuteForm)}, func(r *T) cell {
			at, _, _ := of(r)
			return cell{Indent: "  ", Text: l.date(at.Time)}
		}},
		{column{Title: "ENTRY", Width: near.ShortID + 9, Whole: true}, func(r *T) cell { // as show accepts it: SESSION:ENTRY
			_, p, offset := of(r)
			return textCell(l.sessionID(p.SessionID, p.SessionPath) + ":" + sessions.EntryName(p.Entry(), offset))
		}},
	}
}

// touchSheet returns the history of a file as rows.
func touchSheet(rows []audit.TouchRow, layout Layout) table {
	type row = audit.TouchRow
	columns := []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset) }),
		{column{Name: "timestamp", Title: "TIME"}, func(r *row) cell { return layout.timeCell(r.Timestamp.Time) }},
		{column{Name: "action", Title: "ACTION"}, func(r *row) cell { return textCell(r.Action) }},
		{column{Name: "status", Title: "STATUS"}, func(r *row) cell { return textCell(r.Status) }},
		{column{Name: "path", Title: "FILE", Flex: true, Left: true}, func(r *row) cell { return layout.pathCell(r.Path) }},
		{column{Name: "tool", Title: "TOOL"}, func(r *row) cell { return textCell(r.Tool) }},
		{column{Name: "session id", Title: "SESSION"}, func(r *row) cell { return layout.idCell(r.SessionID, r.SessionPath) }},
		{column{Name: "working directory"}, func(r *row) cell { return textCell(r.CWD) }},
		{column{Name: "offset"}, func(r *row) cell { return countCell(r.Offset) }},
		{column{Name: "session path"}, func(r *row) cell { return textCell(r.SessionPath) }},
	}
	return &sheet[row]{columns: columns, rows: listed(rows), finish: func(t *row, r *sheetRow) { alarm(r, t.Status) }}
}

// touches writes the history of a file grouped by session, the last one to touch it
// first. The column ENTRY is what show takes.
func (t *Text) touches(rows []audit.TouchRow) {
	type row = audit.TouchRow
	differ := slices.ContainsFunc(rows, func(r row) bool { return r.Path != rows[0].Path })
	columns := append(groupColumns(t.Layout, func(r *row) (session.Time, *session.EntryPlace, int64) {
		return r.Timestamp, &r.EntryPlace, r.Offset
	}), []sheetColumn[row]{
		{column{Title: "ACTION", Width: 7}, func(r *row) cell { return textCell(cmp.Or(human.When(r.Action == "other", r.Tool), r.Action)) }},
		{column{Title: "STATUS", Width: 8}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: human.When(differ, "FILE"), Flex: true, Left: true}, func(r *row) cell { return t.pathCell(r.Path) }},
	}...)
	for i, list := range grouped(rows, func(r *row) string { return r.SessionPath }) {
		t.Print(human.When(i > 0, "\n"))
		last := &list[0]
		t.session(human.Title(last.Title), last.CWD, t.Badge(last.Host, last.Agent, last.Kept), t.Ago(last.Timestamp.Time), human.Plural(len(list), "call", "calls"), t.sessionID(last.SessionID, last.SessionPath))
		t.table(&sheet[row]{columns: columns, bare: true, rows: listed(list), finish: func(r *row, to *sheetRow) { alarm(to, r.Status) }})
	}
}

// roomForExit is the narrowest terminal that shows exit codes and durations of calls.
const roomForExit = 90

// NewCallsAudit returns the answer of "tools calls" and of "tools commands --raw". Its rows
// are printed as they are found.
func NewCallsAudit(ctx context.Context, command string, l *audit.CallList, risky bool, layout Layout) *Audit {
	type row = audit.CallRow
	columns := []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.Entry(), r.Offset) }),
		{column{Name: "timestamp", Title: "TIME", Width: len("2006-01-02 15:04")}, func(r *row) cell { return layout.timeCell(r.Timestamp.Time) }},
		{column{Name: "status", Title: "STATUS", Width: 8}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: "SESSION", Width: near.ShortID, Whole: true}, func(r *row) cell { return layout.idCell(r.SessionID, r.SessionPath) }},
		{column{Name: "exit code", Title: "EXIT", Right: true, Width: 4, From: roomForExit}, func(r *row) cell {
			if r.ExitCode == nil {
				return cell{}
			}
			return textCell(strconv.Itoa(int(*r.ExitCode)))
		}},
		{column{Name: "duration ms", Title: "TOOK", Right: true, Width: 6, From: roomForExit}, func(r *row) cell { return millisCell(r.Duration) }},
		{column{Name: "tool", Title: "TOOL", Width: 10}, func(r *row) cell { return textCell(r.Tool) }},
		{column{Name: "rules"}, func(r *row) cell { return textCell(strings.Join(r.Rules, ",")) }},
		{column{Name: "arguments"}, func(r *row) cell { return textCell(r.Arguments + human.When(r.Cut, "…")) }}, // a line of their own
		{column{Name: "project", Field: "cwd", Title: "PROJECT", Left: true, Width: 16, Flex: true, Least: minFlex / 2}, func(r *row) cell { return cell{Text: human.Project(r.CWD), Plain: r.CWD} }},
		{column{Name: "session id"}, func(r *row) cell { return textCell(r.SessionID) }},
		{column{Name: "offset"}, func(r *row) cell { return countCell(r.Offset) }},
		{column{Name: "output bytes"}, func(r *row) cell { return countCell(r.Bytes) }},
		{column{Name: "model"}, func(r *row) cell { return textCell(r.Model) }},
		{column{Name: "kind"}, func(r *row) cell { return textCell(r.Kind) }},
		{column{Name: "session path"}, func(r *row) cell { return textCell(r.SessionPath) }},
		fieldColumn("id", func(r *row) string { return layout.name(r.SessionID, r.SessionPath) }),
		fieldColumn("entryId", func(r *row) string { return r.EntryID }),
		fieldColumn("agent", func(r *row) string { return r.Agent }),
		fieldColumn("action", func(r *row) string { return r.Action }),
	}
	if risky {
		columns[4].Title, columns[5].Title = "", ""
	}
	var total *int
	if l.Total >= 0 {
		total = &l.Total
	}
	return &Audit{
		command: command, Covered: &l.Covered,
		table: &sheet[row]{columns: columns, rows: func(visit func(*row) error) error { return l.Each(ctx, visit) }, finish: func(c *row, r *sheetRow) {
			r.below = []string{marksEnds(c.Arguments + human.When(c.Cut, "…"))}
			if risky {
				r.below = ruleLines(c, "")
			}
			r.bright = len(r.below)
			r.below = append(r.below, c.Result...)
			alarm(r, c.Status)
		}},
		LastUse: func() (last time.Time, err error) {
			err = l.Each(ctx, func(r *row) error {
				if last.IsZero() {
					last = r.Timestamp.Time
				}
				return nil
			})
			return last, err
		},
		facts: struct {
			Calls *int `json:"calls,omitempty"` // before the limit; absent with --arg
		}{total},
		closing: func(rows int) string { return shownOf(rows, max(rows, l.Total), "call", "calls") },
	}
}

// marksEnds puts a text on one line, with marks of the ends of its lines.
func marksEnds(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ ") }

// NewRiskyAudit returns the answer of "tools commands" with rules. Its records are all calls, as
// for NewCallsAudit. Its text lists only the shell commands, grouped by the most severe rule that
// each matches, and counts the other calls. limit is the number of commands in the text; 0 means no
// limit.
func NewRiskyAudit(ctx context.Context, l *audit.CallList, limit int, layout Layout) *Audit {
	a := NewCallsAudit(ctx, "tools commands", l, true, layout)
	g := &ruleGroups{others: make(map[string]bool), limit: limit}
	a.write = func(t *Text) int {
		t.Fail(l.Each(ctx, g.add))
		t.ruleGroups(g)
		return g.all
	}
	a.closing = func(int) string { return g.closing() }
	return a
}

// ruleGroups is the calls that match rules, by rule.
type ruleGroups struct {
	rows     []audit.CallRow
	others   map[string]bool // the tools of calls that run no command
	limit    int
	all      int
	commands int
}

func (g *ruleGroups) add(r *audit.CallRow) error {
	g.all++
	if !r.Command {
		g.others[r.Tool] = true
		return nil
	}
	if g.commands++; g.limit > 0 && g.commands > g.limit {
		return nil
	}
	g.rows = append(g.rows, *r)
	return nil
}

// grouped returns the rows by their keys, in the order of the first row of each.
func grouped[T any](rows []T, key func(*T) string) (groups [][]T) {
	at := make(map[string]int)
	for i := range rows {
		k := key(&rows[i])
		if _, seen := at[k]; !seen {
			at[k] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[k]] = append(groups[at[k]], rows[i])
	}
	return groups
}

func (g *ruleGroups) closing() string {
	line := shownOf(len(g.rows), g.commands, "command", "commands")
	if others := g.all - g.commands; others > 0 {
		tools := terminal.Clip(strings.Join(slices.Sorted(maps.Keys(g.others)), ", "), 2*maxWord)
		line += "; " + human.Plural(others, "call of "+tools+" is", "calls of "+tools+" are") + " also risky: pigrep tools calls --risky"
	}
	return line
}

// ruleGroups writes a table for each rule, the most severe first.
func (t *Text) ruleGroups(g *ruleGroups) {
	type row = audit.CallRow
	columns := append(groupColumns(t.Layout, func(r *row) (session.Time, *session.EntryPlace, int64) {
		return r.Timestamp, &r.EntryPlace, r.Offset
	}), []sheetColumn[row]{
		{column{Title: "STATUS", Width: 8}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: "PROJECT", Left: true, Width: 24}, func(r *row) cell { return textCell(human.Project(r.CWD)) }},
	}...)
	groups := grouped(g.rows, func(r *row) string { return r.Matches[0].Rule })
	for i, m := range audit.BySeverity(lists.Map(groups, func(rows []row) audit.RuleMatch { return rows[0].Matches[0] })) {
		rows := groups[slices.IndexFunc(groups, func(rows []row) bool { return rows[0].Matches[0].Rule == m.Rule })]
		facts := t.Dim("· " + m.Severity + " · " + human.Plural(len(rows), "command", "commands"))
		t.Print(human.When(i > 0, "\n"), t.Style(TitleStyle, m.Rule), " ", facts, "\n")
		t.table(&sheet[row]{columns: columns, bare: true, rows: listed(rows), finish: func(r *row, to *sheetRow) {
			to.below = ruleLines(r, m.Rule)
			alarm(to, r.Status)
		}})
	}
}

// ruleLines returns a line for each part of a call that matches rules, with the names of
// the rules. Under the heading of a rule, its name is left out.
func ruleLines(r *audit.CallRow, heading string) (lines []string) {
	rules := make(map[string][]string) // by clause
	for _, m := range r.Matches {
		rules[m.Clause] = append(rules[m.Clause], m.Rule)
	}
	for _, m := range r.Matches {
		names, left := rules[m.Clause]
		if !left {
			continue
		}
		delete(rules, m.Clause)
		names = slices.DeleteFunc(names, func(name string) bool { return name == heading })
		rule := human.When(len(names) > 0, human.When(heading != "", "also ")+strings.Join(names, ", ")+": ")
		lines = append(lines, rule+clauseText(r, m.Clause))
	}
	return lines
}

// changesDir matches a change of the directory in a command.
var changesDir = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[;&|({\n]\s*)((?:cd|pushd)\s+(?:"[^"\n]*"|'[^'\n]*'|[^\s;&|)]+))`)
})

// clauseText returns a clause on one line, with marks where its command continues before
// or after it. It begins with the change of the directory in which the clause runs, if there is one.
func clauseText(r *audit.CallRow, clause string) string {
	text := marksEnds(clause)
	if !r.Command {
		return text
	}
	before, after, ok := strings.Cut(r.Arguments, clause)
	if !ok { // code, or beyond what is kept of the command
		return "… " + text
	}
	if before = strings.TrimSpace(before); before != "" {
		operators := []string{"&&", "||", "|", ";", ""}
		last := operators[slices.IndexFunc(operators, func(o string) bool { return strings.HasSuffix(before, o) })]
		start := "…"
		if all := changesDir().FindAllStringSubmatchIndex(before, -1); len(all) > 0 {
			m := all[len(all)-1]
			start = human.Joined(" ", human.When(m[2] > 0, "…"), before[m[2]:m[3]], human.When(strings.TrimSpace(before[m[3]:]) != last, "…"))
		}
		text = human.Joined(" ", start, last, text)
	}
	return text + human.When(strings.Trim(after, " \t\n;") != "" || r.Cut, " …")
}
