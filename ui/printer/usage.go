package printer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/ui/chart"
)

// NewUsageAudit returns the answer of "usage". A limit of 0 means no limit. days is the same
// table grouped by day first, for Layout.TakesTrend; it may be nil.
func NewUsageAudit(t, days *audit.UsageTable, limit int, layout Layout) *Audit {
	type row = audit.UsageRow
	key := func(r *row) *audit.Key { return &r.Key }
	var byDay *trend
	if days != nil {
		byDay = newTrend(len(days.Rows), func(i int) (*audit.Key, float64) {
			r := &days.Rows[i]
			if t.Total.Cost > 0 {
				return &r.Key, r.Cost
			}
			return &r.Key, float64(r.Tokens)
		})
	}
	subagents := ""
	if t.Total.Subagents > 0 {
		subagents = "SUBAGENTS"
	}
	money := dollars{human.DollarsUpTo(t.Total.Cost)}
	columns := append(keyColumns(layout, t.By, &t.Total, key), []sheetColumn[row]{
		{column{Title: subagents, Right: true}, func(r *row) cell { return subagentCost(money, r) }},
		{column{Name: "input", Title: "INPUT", Right: true}, func(r *row) cell { return tokenCell(r.Input) }},
		{column{Name: "output", Title: "OUTPUT", Right: true}, func(r *row) cell { return tokenCell(r.Output) }},
		{column{Name: "cache read", Title: "CACHE READ", Right: true}, func(r *row) cell { return tokenCell(r.CacheRead) }},
		{column{Name: "cache write", Title: "CACHE WRITE", Right: true, Weak: true}, func(r *row) cell { return tokenCell(r.CacheWrite) }},
		{column{Name: "tokens"}, func(r *row) cell { return countCell(r.Tokens) }},
		{column{Name: "cost", Title: "COST", Right: true, Share: true}, func(r *row) cell { return usageCost(money, r) }},
		{column{Name: "entries"}, func(r *row) cell { return countCell(r.Entries) }},
		{column{Name: "sessions", Title: sessionsTitle(t.By), Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		trendColumn(byDay, &t.Total, key),
		{column{Name: "unusable"}, func(r *row) cell { return countCell(r.Unusable) }},
		{column{Name: "unpriced"}, func(r *row) cell { return countCell(r.Unpriced) }},
		{column{Name: "filled in cost"}, func(r *row) cell { return money.cell(r.FilledCost) }},
		{column{Name: "subagents"}, func(r *row) cell { return countCell(r.Subagents) }},
		{column{Name: "subagent cost"}, func(r *row) cell { return money.cell(r.SubagentCost) }},
	}...)
	a := &Audit{
		command: "usage", table: &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit)), total: &t.Total}, sum: &t.Total,
		Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		Chart: func() *chart.Chart {
			drawn := *t
			drawn.Rows = limited(t.Rows, limit)
			return chart.Usage(&drawn, layout.Home)
		},
		facts: struct {
			TimeZone string            `json:"timeZone"`
			Sources  []audit.SourceRow `json:"sources"`
			Unpriced []string          `json:"unpricedModels"`
			Repeated int               `json:"repeatedResults"`
		}{t.TimeZone, list(t.Sources), list(t.Unpriced), t.Repeated},
		last: func() (time.Time, error) { return t.Total.Last.Time, nil },
	}
	a.closing = func(rows int) string { return usageClosing(t, rows, money, a.Verbose) }
	return a
}

// usageClosing says which sources the cost has, and what it lacks; in detail also what it does not count.
func usageClosing(t *audit.UsageTable, rows int, money dollars, detail bool) string {
	var parts []string
	if rows < len(t.Rows) {
		parts = append(parts, shown(rows, len(t.Rows), "row", "rows"))
	}
	if len(t.Sources) > 1 {
		for _, source := range t.Sources {
			parts = append(parts, source.Source+" "+money.known(source.Cost, source.Cost > 0, source.Unpriced))
		}
	}
	if line := withoutPrice(t); line != "" {
		parts = append(parts, line)
	}
	if t.Total.Filled > 0 {
		parts = append(parts, money.Text(t.Total.FilledCost)+" of it from the file of prices")
	}
	if detail && t.Repeated > 0 {
		parts = append(parts, human.Plural(t.Repeated, "result repeats the use of subagents, which counts once", "results repeat the use of subagents, which counts once"))
	}
	if n := t.Total.Unusable; n > 0 {
		parts = append(parts, human.Plural(n, "entry has impossible figures (counted as 0)", "entries have impossible figures (counted as 0)"))
	}
	return strings.Join(parts, " · ")
}

// usageCost is the cost of a row. Text shows when it is incomplete; in records an
// unknown cost is empty.
func usageCost(money dollars, r *audit.UsageRow) cell {
	c := money.cell(r.Cost)
	if c.Text = money.known(r.Cost, r.HasCost(), r.Unpriced); !r.HasCost() {
		c.Plain = ""
	}
	return c
}

// subagentCost is the number of subagents and their share of the cost.
func subagentCost(money dollars, r *audit.UsageRow) cell {
	if r.Subagents == 0 {
		return cell{}
	}
	return cell{Text: fmt.Sprintf("%d: %s", r.Subagents, money.known(r.SubagentCost, r.SubagentCost > 0, 0))}
}

// known formats a cost that may be unknown, or only a lower bound.
func (d dollars) known(cost float64, known bool, unpriced int) string {
	switch {
	case !known:
		return "–"
	case unpriced > 0:
		return "≥ " + d.Text(cost)
	}
	return d.Text(cost)
}

// withoutPrice names the models without a price.
func withoutPrice(t *audit.UsageTable) string {
	var parts []string
	models := slices.DeleteFunc(slices.Clone(t.Unpriced), func(m string) bool { return m == "" })
	if len(models) > 0 {
		names := models[:min(len(models), namedModels)]
		line := human.Plural(len(models), "model without a price", "models without a price") + ": " + terminal.Clean(strings.Join(names, ", "))
		if len(names) < len(models) {
			line += ", …"
		}
		parts = append(parts, line+" (--prices FILE)")
	}
	if len(models) < len(t.Unpriced) {
		parts = append(parts, "entries without a price that name no model")
	}
	return strings.Join(parts, " · ")
}

// namedModels is how many models without a price are named.
const namedModels = 4
