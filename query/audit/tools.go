package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
)

// ToolRow is a row of the table of tools.
type ToolRow struct {
	Type string `json:"type"` // "tool"
	Key
	Calls     int          `json:"calls"`
	Errors    int          `json:"errors"`
	ErrorRate float64      `json:"errorRate"` // of the calls that have a result
	Sessions  int          `json:"sessions"`
	P50       *int32       `json:"p50Ms,omitempty"` // of the known durations; absent without any
	P95       *int32       `json:"p95Ms,omitempty"`
	Timed     int          `json:"timed"` // calls whose duration is known
	Bytes     int64        `json:"outputBytes"`
	Last      session.Time `json:"lastUsed,omitzero"`
	NoResult  int          `json:"withoutResult"`     // calls without a result
	NoCall    int          `json:"resultWithoutCall"` // results without a call, which Calls does not count
	Nested    int          `json:"nested"`            // calls that another tool made
}

// ToolTable is the answer of Tools.
type ToolTable struct {
	By       []string
	Rows     []ToolRow
	Total    ToolRow
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

// toolGroup is a row of the table under construction.
type toolGroup struct {
	row       ToolRow
	keys      []string
	durations []int32
	files     fileCount
	answered  int
	last      int64 // Unix milliseconds
}

func (g *toolGroup) add(f *file, c *session.CallFact) {
	g.files.add(f)
	at := c.Time
	if at == 0 {
		at = f.timeOf(0).UnixMilli()
	}
	g.last = max(g.last, at)
	if c.Kind == session.CallMissing {
		g.row.NoCall++
		return
	}
	g.row.Calls++
	g.row.Bytes += c.Bytes
	if c.Kind == session.CallNested {
		g.row.Nested++
	}
	if c.HasResult {
		g.answered++
	} else {
		g.row.NoResult++
	}
	if c.Failed {
		g.row.Errors++
	}
	if c.Duration != session.Unknown {
		g.durations = append(g.durations, c.Duration)
	}
}

// finish returns the row once all calls are added.
func (g *toolGroup) finish() ToolRow {
	r := g.row
	r.Sessions, r.Timed = g.files.n, len(g.durations)
	if g.last != 0 {
		r.Last = session.Time{Time: time.UnixMilli(g.last).UTC()}
	}
	if g.answered > 0 {
		r.ErrorRate = float64(r.Errors) / float64(g.answered)
	}
	if len(g.durations) > 0 {
		p50, p95 := percentile(g.durations, 50), percentile(g.durations, 95)
		r.P50, r.P95 = &p50, &p95
	}
	return r
}

// Tools counts the calls of tools.
func Tools(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*ToolTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"tool"}
	}
	x, err := newAuditor(ctx, r, &req, record.FactCalls)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	keys := newKeyer(&req)
	table := groups[toolGroup]{}
	total := &toolGroup{row: ToolRow{Type: "total"}}
	build := func(keys []string) *toolGroup { return &toolGroup{keys: keys, row: ToolRow{Type: "tool"}} }
	err = x.eachCall(func(f *file, _ int, c *session.CallFact) {
		table.row(keys.valuesOf(f, c.Time, c.Tool, c.Model), build).add(f, c)
		total.add(f, c)
	})
	if err != nil {
		return nil, err
	}
	t := &ToolTable{By: req.By, Total: total.finish(), Warnings: x.warnings, Coverage: x.coverage, Index: query.StateOf(x.r)}
	rows := table.sorted(func(a, b *toolGroup) int {
		return cmp.Or(comparePeriods(req.By, a.keys, b.keys), cmp.Compare(b.row.Calls, a.row.Calls), slices.Compare(a.keys, b.keys))
	})
	for _, g := range rows {
		row := g.finish()
		row.Key = req.key(r, g.keys)
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}
