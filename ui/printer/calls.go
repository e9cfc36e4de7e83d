package printer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/near"
	"pigrep/query/audit"
)

// roomForExit is the narrowest terminal that shows exit codes and durations of calls.
const roomForExit = 90

// NewCallsAudit returns the answer of "tools calls" and of "tools commands --raw". Its rows
// are printed as they are found.
func NewCallsAudit(ctx context.Context, command string, l *audit.CallList, risky bool, layout Layout) *Audit {
	type row = audit.CallRow
	columns := []sheetColumn[row]{
		recordColumn("place", func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.EntryID, r.Offset) }),
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
		{column{Name: "arguments", Title: "ARGUMENTS", Flex: true}, argumentsCell},
		{column{Name: "project", Field: "cwd", Title: "PROJECT", Left: true, Width: 16}, func(r *row) cell { return cell{Text: projectName(r.CWD), Plain: r.CWD} }},
		{column{Name: "session id"}, func(r *row) cell { return textCell(r.SessionID) }},
		{column{Name: "offset"}, func(r *row) cell { return countCell(r.Offset) }},
		{column{Name: "output bytes"}, func(r *row) cell { return countCell(r.Bytes) }},
		{column{Name: "model"}, func(r *row) cell { return textCell(r.Model) }},
		{column{Name: "kind"}, func(r *row) cell { return textCell(r.Kind) }},
		{column{Name: "session path"}, func(r *row) cell { return textCell(r.SessionPath) }},
		fieldColumn("id", func(r *row) string { return layout.name(r.SessionID, r.SessionPath) }),
		fieldColumn("entryId", func(r *row) string { return r.EntryID }),
	}
	if risky {
		columns[4].Title, columns[5].Title = "", ""
		columns[8].Title = "" // rules and what matches them are on lines of their own
		columns[9].Flex, columns[9].Least = true, minFlex/2
	}
	return &Audit{
		command: command, Coverage: &l.Coverage, State: l.Index, Warnings: func() []string { return l.Warnings },
		table: &sheet[row]{columns: columns, rows: func(visit func(*row) error) error { return l.Each(ctx, visit) }, finish: func(c *row, r *sheetRow) {
			r.below = c.Result
			if risky {
				r.below = append(ruleLines(c, ""), c.Result...)
			}
			alarm(r, c.Status)
		}},
		last: func() (last time.Time, err error) {
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
		}{counted(l.Total)},
		closing: func(rows int) string { return shown(rows, max(rows, l.Total), "call", "calls") },
	}
}

// argumentsCell is the arguments of a call; in text ⏎ marks the ends of lines.
func argumentsCell(r *audit.CallRow) cell {
	text := r.Arguments
	if r.Cut {
		text += "…"
	}
	return cell{Text: strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "), Plain: text}
}

func counted(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// projectName is the last element of a path.
func projectName(dir string) string {
	dir = strings.TrimRight(strings.ReplaceAll(dir, `\`, "/"), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}

// NewRiskyAudit returns the answer of "tools commands" with rules. Its records are the same
// as those of NewCallsAudit: all calls. Its text lists only the shell commands, grouped by
// the most severe rule that each matches, and counts the other calls. limit is the number
// of commands in the text; 0 means no limit.
func NewRiskyAudit(ctx context.Context, l *audit.CallList, limit int, layout Layout) *Audit {
	a := NewCallsAudit(ctx, "tools commands", l, true, layout)
	g := &ruleGroups{rows: make(map[string][]*audit.CallRow), others: make(map[string]int), limit: limit}
	a.write = func(t *text) int {
		t.fail(l.Each(ctx, func(r *audit.CallRow) error {
			g.add(r)
			return nil
		}))
		t.ruleGroups(g)
		return g.all
	}
	a.closing = func(int) string { return g.closing() }
	return a
}

// ruleGroups is the calls that match rules, by rule.
type ruleGroups struct {
	rules    []audit.RuleMatch // of the groups
	rows     map[string][]*audit.CallRow
	others   map[string]int // calls that run no command, by tool
	limit    int
	all      int
	commands int
}

func (g *ruleGroups) add(r *audit.CallRow) {
	g.all++
	if !r.Command {
		g.others[r.Tool]++
		return
	}
	if g.commands++; g.limit > 0 && g.commands > g.limit {
		return
	}
	m := r.Matches[0]
	if g.rows[m.Rule] == nil {
		g.rules = append(g.rules, m)
	}
	g.rows[m.Rule] = append(g.rows[m.Rule], r)
}

func (g *ruleGroups) closing() string {
	shownRows := g.commands
	if g.limit > 0 {
		shownRows = min(g.commands, g.limit)
	}
	line := shown(shownRows, g.commands, "command", "commands")
	if len(g.others) == 0 {
		return line
	}
	var tools []string
	calls := 0
	for _, tool := range slices.Sorted(maps.Keys(g.others)) {
		tools = append(tools, tool)
		calls += g.others[tool]
	}
	return line + "; " + human.Plural(calls, "call of "+strings.Join(tools, ", ")+" is", "calls of "+strings.Join(tools, ", ")+" are") + " also risky: pigrep tools calls --risky"
}

// ruleGroups writes a table for each rule, the most severe first.
func (t *text) ruleGroups(g *ruleGroups) {
	type row = audit.CallRow
	columns := append(groupColumns(t.Layout, func(r *row) callPlace {
		return callPlace{r.Timestamp, r.SessionID, r.SessionPath, r.EntryID, r.Offset}
	}), []sheetColumn[row]{
		{column{Title: "STATUS", Width: 8}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: "PROJECT", Left: true, Width: 24}, func(r *row) cell { return textCell(projectName(r.CWD)) }},
	}...)
	for i, m := range audit.BySeverity(g.rules) {
		rows := g.rows[m.Rule]
		head := t.style(titleStyle, m.Rule) + " " + t.dim(fmt.Sprintf("· %s · %s", m.Severity, human.Plural(len(rows), "command", "commands")))
		if i > 0 {
			head = "\n" + head
		}
		t.print(head, "\n")
		t.table(&sheet[row]{columns: columns, bare: true, finish: func(r *row, to *sheetRow) {
			to.below = ruleLines(r, m.Rule)
			alarm(to, r.Status)
		}, rows: func(visit func(*row) error) error {
			for _, r := range rows {
				if err := visit(r); err != nil {
					return err
				}
			}
			return nil
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
		line := clauseText(r, m.Clause)
		if names = slices.DeleteFunc(names, func(name string) bool { return name == heading }); len(names) > 0 {
			line = strings.Join(names, ", ") + ": " + line
			if heading != "" {
				line = "also " + line
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// clauseText returns a clause on one line, with marks where its command continues before
// or after it.
func clauseText(r *audit.CallRow, clause string) string {
	text := strings.ReplaceAll(strings.TrimSpace(clause), "\n", " ⏎ ")
	if !r.Command {
		return text
	}
	before, after, ok := strings.Cut(r.Arguments, clause)
	if !ok { // code, or beyond what is kept of the command
		return "… " + text
	}
	if before = strings.TrimSpace(before); before != "" {
		mark := "… "
		for _, operator := range []string{"&&", "||", "|", ";"} {
			if strings.HasSuffix(before, operator) {
				mark += operator + " "
				break
			}
		}
		text = mark + text
	}
	if strings.Trim(after, " \t\n;") != "" || r.Cut {
		text += " …"
	}
	return text
}
