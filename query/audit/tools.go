package audit

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
)

// Key says what a row is about: the dimensions of the request that apply.
type Key struct {
	Tool        *string `json:"tool,omitempty"`
	Day         string  `json:"day,omitempty"`
	Week        string  `json:"week,omitempty"`
	Month       string  `json:"month,omitempty"`
	Model       *string `json:"model,omitempty"` // "" when none is named
	Project     *string `json:"project,omitempty"`
	SessionPath string  `json:"sessionPath,omitempty"`
	SessionID   string  `json:"sessionId,omitempty"`
	SessionName string  `json:"sessionName,omitempty"`
}

// key fills the key of a row.
func (x *auditor) auditKey(keys []string) Key {
	var k Key
	for i, by := range x.req.By {
		v := keys[i]
		switch by {
		case "tool":
			k.Tool = &v
		case "day":
			k.Day = v
		case "week":
			k.Week = v
		case "month":
			k.Month = v
		case "model":
			k.Model = &v
		case "project":
			k.Project = &v
		case "session":
			k.SessionPath = v
			k.SessionID, k.SessionName = x.sessionNames(v)
			k.SessionName = x.shown(k.SessionName)
		}
	}
	return k
}

// ToolRow is a row of the table of tools.
type ToolRow struct {
	Type string `json:"type"` // "tool"
	Key
	Calls     int          `json:"calls"`
	Errors    int          `json:"errors"`
	ErrorRate float64      `json:"errorRate"` // of the calls that have a result
	Sessions  int          `json:"sessions"`
	P50       *int32       `json:"p50Ms,omitempty"` // duration, absent when none is known
	P95       *int32       `json:"p95Ms,omitempty"`
	Timed     int          `json:"timed"` // calls whose duration is known
	Bytes     int64        `json:"outputBytes"`
	Last      session.Time `json:"lastUsed,omitzero"`
	NoResult  int          `json:"withoutResult"`     // calls without a result
	NoCall    int          `json:"resultWithoutCall"` // results without a call, which are no calls
	Nested    int          `json:"nested"`            // calls that another tool made
}

// ToolTable is the answer to a request for the use of tools.
type ToolTable struct {
	By       []string
	Rows     []ToolRow
	Total    ToolRow
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

type toolGroup struct {
	row       ToolRow
	keys      []string
	durations []int32
	files     fileSet
	answered  int
	last      int64
}

func (g *toolGroup) add(f *file, c *session.CallFact) {
	g.files.add(f.File)
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
		p50, p95 := percentile(g.durations, 0.50), percentile(g.durations, 0.95)
		r.P50, r.P95 = &p50, &p95
	}
	return r
}

// Tools counts the calls of tools.
func Tools(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*ToolTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"tool"}
	}
	x, err := newAuditor(ctx, r, a, src, &req, index.FactCalls)
	if err != nil {
		return nil, err
	}
	var table groups[toolGroup]
	total := &toolGroup{row: ToolRow{Type: "total"}}
	var keys []string
	err = x.eachCall(func(f *file, _ int, c *session.CallFact) {
		keys = x.keys(keys, f, c.Time, c.Tool, c.Model)
		table.of(keys, func(keys []string) *toolGroup {
			return &toolGroup{keys: keys, row: ToolRow{Type: "tool"}}
		}).add(f, c)
		total.add(f, c)
	})
	if err != nil {
		return nil, err
	}
	t := &ToolTable{By: req.By, Total: total.finish(), Warnings: x.warnings, Coverage: x.cover, Index: query.StateOf(x.r)}
	slices.SortFunc(table.rows, func(a, b *toolGroup) int {
		if byTime(req.By) {
			if c := cmp.Compare(b.keys[0], a.keys[0]); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.row.Calls, a.row.Calls), slices.Compare(a.keys, b.keys))
	})
	for _, g := range table.rows {
		row := g.finish()
		row.Key = x.auditKey(g.keys)
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// UsageRow is a row of the table of tokens and cost.
type UsageRow struct {
	Type string `json:"type"` // "usage"
	Key
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Tokens     int64   `json:"tokens"` // of the four together
	Cost       float64 `json:"cost"`
	Entries    int     `json:"entries"` // that say what they used
	Sessions   int     `json:"sessions"`
	Unusable   int     `json:"unusable"` // entries with a figure that cannot be right, which counts as 0
}

// UsageTable is the answer to a request for tokens and cost.
type UsageTable struct {
	By       []string
	TimeZone string
	Rows     []UsageRow
	Total    UsageRow
	Sources  []SourceRow // the same total by what used the tokens
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

// SourceRow says what one sort of entries used.
type SourceRow struct {
	Source string  `json:"source"` // the role of a message, else the type of the entry
	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost"`
}

type usageGroup struct {
	row   UsageRow
	keys  []string
	cost  sum
	files fileSet
}

func (g *usageGroup) add(f *file, u *session.UsageFact) {
	r := &g.row
	r.Input += u.Input
	r.Output += u.Output
	r.CacheRead += u.CacheRead
	r.CacheWrite += u.CacheWrite
	r.Tokens += u.Tokens()
	g.cost.add(u.Cost)
	r.Entries++
	if u.Unusable {
		r.Unusable++
	}
	g.files.add(f.File)
}

func (g *usageGroup) finish() UsageRow {
	r := g.row
	r.Cost, r.Sessions = math.Round(g.cost.total()*1e10)/1e10, g.files.n // 0.7232, not 0.7232000000000001
	return r
}

// Usage adds up tokens and cost.
func Usage(ctx context.Context, r *index.Reader, req Request) (*UsageTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"model"}
	}
	req.Text = ""
	x, err := newAuditor(ctx, r, nil, nil, &req, index.FactUsages)
	if err != nil {
		return nil, err
	}
	var table, sources groups[usageGroup]
	total := &usageGroup{row: UsageRow{Type: "total"}}
	build := func(keys []string) *usageGroup { return &usageGroup{keys: keys, row: UsageRow{Type: "usage"}} }
	var keys []string
	var source [1]string
	err = x.eachUsage(func(f *file, u *session.UsageFact) {
		keys = x.keys(keys, f, u.Time, "", u.Model)
		table.of(keys, build).add(f, u)
		source[0] = u.Source
		sources.of(source[:], build).add(f, u)
		total.add(f, u)
	})
	if err != nil {
		return nil, err
	}
	t := &UsageTable{By: req.By, TimeZone: x.place.String(), Total: total.finish(), Warnings: x.warnings, Coverage: x.cover, Index: query.StateOf(x.r)}
	for _, g := range table.rows {
		g.row.Cost = g.cost.total()
	}
	slices.SortFunc(table.rows, func(a, b *usageGroup) int {
		if byTime(req.By) {
			if c := cmp.Compare(b.keys[0], a.keys[0]); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.row.Cost, a.row.Cost), cmp.Compare(b.row.Tokens, a.row.Tokens), slices.Compare(a.keys, b.keys))
	})
	for _, g := range table.rows {
		row := g.finish()
		row.Key = x.auditKey(g.keys)
		t.Rows = append(t.Rows, row)
	}
	for _, g := range sources.rows {
		row := g.finish()
		t.Sources = append(t.Sources, SourceRow{g.keys[0], row.Tokens, row.Cost})
	}
	slices.SortFunc(t.Sources, func(a, b SourceRow) int { return cmp.Compare(a.Source, b.Source) })
	return t, nil
}
