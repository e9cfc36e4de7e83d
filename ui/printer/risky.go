package printer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/audit"
)

// NewRiskyAudit returns the answer of "tools commands" with rules. Its records are the same
// as those of NewCallsAudit: all calls. Its text lists only the shell commands, grouped by
// the most severe rule that each matches, and counts the other calls. limit is the number
// of commands in the text; 0 means no limit.
func NewRiskyAudit(ctx context.Context, l *audit.CallList, limit int, look Look) *Audit {
	a := NewCallsAudit(ctx, "tools commands", l, true, look)
	g := &ruleGroups{rows: make(map[string][]*audit.CallRow), others: make(map[string]int), limit: limit}
	a.write = func(t *text) (int, error) {
		err := l.Each(ctx, func(r *audit.CallRow) error {
			g.add(r)
			return nil
		})
		if err != nil {
			return 0, err
		}
		return g.all, t.ruleGroups(g)
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
func (t *text) ruleGroups(g *ruleGroups) error {
	type row = audit.CallRow
	columns := append(groupColumns(t.Look, func(r *row) callPlace {
		return callPlace{r.Timestamp, r.SessionID, r.SessionPath, r.EntryID, r.Offset}
	}), []sheetColumn[row]{
		{column{Title: "STATUS", Width: 7}, func(r *row) cell { return textCell(r.Status) }},
		{column{Title: "PROJECT", Left: true, Width: 24}, func(r *row) cell { return textCell(projectName(r.CWD)) }},
	}...)
	for i, m := range audit.BySeverity(g.rules) {
		rows := g.rows[m.Rule]
		head := t.style(titleLook, m.Rule) + " " + t.dim(fmt.Sprintf("· %s · %s", m.Severity, human.Plural(len(rows), "command", "commands")))
		if i > 0 {
			head = "\n" + head
		}
		if _, err := fmt.Fprintln(t.w, head); err != nil {
			return err
		}
		sheet := &sheet[row]{columns: columns, bare: true, rows: func(visit func(*row) error) error {
			for _, r := range rows {
				if err := visit(r); err != nil {
					return err
				}
			}
			return nil
		}, finish: func(r *row, to *sheetRow) {
			to.below = ruleLines(r, m.Rule)
			alarm(to, r.Status)
		}}
		if _, err := t.table(sheet); err != nil {
			return err
		}
	}
	return nil
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
