package printer

import (
	"strings"

	"pigrep/internal/human"
	"pigrep/query/audit"
)

// NewUsageAudit makes the answer of usage. A limit of 0 is none.
func NewUsageAudit(t *audit.UsageTable, limit int, look Look) *Audit {
	type row = audit.UsageRow
	columns := append(keyColumns(look, t.By, &t.Total, func(r *row) *audit.Key { return &r.Key }), []sheetColumn[row]{
		{column{Name: "input", Title: "INPUT", Right: true}, func(r *row) cell { return countCell(r.Input) }},
		{column{Name: "output", Title: "OUTPUT", Right: true}, func(r *row) cell { return countCell(r.Output) }},
		{column{Name: "cache read", Title: "CACHE READ", Right: true}, func(r *row) cell { return countCell(r.CacheRead) }},
		{column{Name: "cache write", Title: "CACHE WRITE", Right: true}, func(r *row) cell { return countCell(r.CacheWrite) }},
		{column{Name: "tokens"}, func(r *row) cell { return countCell(r.Tokens) }},
		{column{Name: "cost", Title: "COST", Right: true, Share: true}, func(r *row) cell { return costCell(r.Cost) }},
		{column{Name: "entries"}, func(r *row) cell { return countCell(r.Entries) }},
		{column{Name: "sessions", Title: "SESSIONS", Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		{column{Name: "unusable"}, func(r *row) cell { return countCell(r.Unusable) }},
	}...)
	return &Audit{
		command: "usage", table: &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit)), total: &t.Total}, sum: &t.Total,
		Coverage: &t.Coverage, Warnings: fixed(t.Warnings), State: t.Index,
		facts: struct {
			TimeZone string            `json:"timeZone"`
			Sources  []audit.SourceRow `json:"sources"`
		}{t.TimeZone, list(t.Sources)},
		closing: func(rows int) string {
			var parts []string
			if rows < len(t.Rows) {
				parts = append(parts, shown(rows, len(t.Rows), "row", "rows"))
			}
			if len(t.Sources) > 1 {
				for _, source := range t.Sources {
					parts = append(parts, source.Source+" "+costText(source.Cost))
				}
			}
			if n := t.Total.Unusable; n > 0 {
				parts = append(parts, human.Plural(n, "entry has impossible figures (counted as 0)", "entries have impossible figures (counted as 0)"))
			}
			return strings.Join(parts, " · ")
		},
	}
}
