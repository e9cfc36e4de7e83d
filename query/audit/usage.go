package audit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query"
)

// UsageRow is a row of the table of tokens and cost.
type UsageRow struct {
	Type string `json:"type"` // "usage"
	Key
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Tokens     int64   `json:"tokens"` // the sum of these four
	Cost       float64 `json:"cost"`
	Entries    int     `json:"entries"` // that report their use
	Sessions   int     `json:"sessions"`
	Unusable   int     `json:"unusable"` // entries with an impossible figure, which counts as 0
}

// UsageTable is the answer of Usage.
type UsageTable struct {
	By       []string
	TimeZone string
	Rows     []UsageRow
	Total    UsageRow
	Sources  []SourceRow // the total by what used the tokens
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

// SourceRow is the use of tokens by one sort of entries.
type SourceRow struct {
	Source string  `json:"source"` // the role of a message, or the type of another entry
	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost"`
}

// usageGroup is a row of the table under construction.
type usageGroup struct {
	row   UsageRow
	keys  []string
	cost  sum
	files fileCount
}

func (g *usageGroup) add(f *file, u *session.Usage) {
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
	g.files.add(f)
}

// sum is a compensated sum (Kahan-Babuska). A plain one of 100,000 costs is wrong by
// more than the ten digits that are shown.
type sum struct{ value, lost float64 }

func (s *sum) add(v float64) {
	t := s.value + v
	if math.Abs(s.value) >= math.Abs(v) {
		s.lost += s.value - t + v
	} else {
		s.lost += v - t + s.value
	}
	s.value = t
}

func (s *sum) total() float64 { return s.value + s.lost }

// finish returns the row once all uses are added. The cost is rounded to ten digits, so
// that it reads 0.7232, not 0.7232000000000001.
func (g *usageGroup) finish() UsageRow {
	r := g.row
	r.Cost, r.Sessions = math.Round(g.cost.total()*1e10)/1e10, g.files.n
	return r
}

// Usage adds up tokens and cost.
func Usage(ctx context.Context, r *index.Reader, req Request) (*UsageTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"model"}
	}
	req.Text = ""
	x, err := newAuditor(ctx, r, &req, record.UsageFacts)
	if err != nil {
		return nil, err
	}
	build := func(keys []string) *usageGroup { return &usageGroup{keys: keys, row: UsageRow{Type: "usage"}} }
	table, sources := newTable(&req, build), groups[usageGroup]{}
	var bySource []*usageGroup // of a piece, by their numbers there
	total := &usageGroup{row: UsageRow{Type: "total"}}
	err = x.eachPiece(func(f *file, p *piece) error {
		u := &p.Usages
		table.begin(f, &u.Time, nil, &u.Model)
		bySource = emptied(bySource, len(u.Source.List))
		return x.visitUsages(f, p, func(i int) {
			use := u.At(i)
			table.row(i).add(f, &use)
			n := u.Source.Number(i)
			if bySource[n] == nil {
				name := u.Source.List[n]
				bySource[n] = sources.row(name, func() *usageGroup { return build([]string{name}) })
			}
			bySource[n].add(f, &use)
			total.add(f, &use)
		})
	})
	if err != nil {
		return nil, err
	}
	t := &UsageTable{By: req.By, TimeZone: table.location.String(), Total: total.finish(), Warnings: x.warnings, Coverage: x.coverage, Index: query.StateOf(x.r)}
	for _, g := range table.rows {
		g.row.Cost = g.cost.total() // rows are ordered by the cost before it is rounded
	}
	rows := table.sorted(func(a, b *usageGroup) int {
		return cmp.Or(comparePeriods(req.By, a.keys, b.keys), cmp.Compare(b.row.Cost, a.row.Cost), cmp.Compare(b.row.Tokens, a.row.Tokens), slices.Compare(a.keys, b.keys))
	})
	for _, g := range rows {
		row := g.finish()
		row.Key = req.key(r, g.keys)
		t.Rows = append(t.Rows, row)
	}
	for _, g := range sources.sorted(func(a, b *usageGroup) int { return slices.Compare(a.keys, b.keys) }) {
		row := g.finish()
		t.Sources = append(t.Sources, SourceRow{g.keys[0], row.Tokens, row.Cost})
	}
	return t, nil
}
