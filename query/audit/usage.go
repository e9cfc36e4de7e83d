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
	g.cost.add(u.Cost)
	r.Entries++
	if u.Unusable {
		r.Unusable++
	}
	g.files.add(f)
}

// addRow adds the uses of a row of the table, but not their cost and files: of floating
// point numbers, the sum depends on the order.
func (g *usageGroup) addRow(u *UsageRow) {
	r := &g.row
	r.Input += u.Input
	r.Output += u.Output
	r.CacheRead += u.CacheRead
	r.CacheWrite += u.CacheWrite
	r.Entries += u.Entries
	r.Unusable += u.Unusable
}

func (g *usageGroup) tokens() int64 {
	return g.row.Input + g.row.Output + g.row.CacheRead + g.row.CacheWrite
}

// sourceGroup is a SourceRow under construction.
type sourceGroup struct {
	name   string
	tokens int64
	cost   sum
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

// rounded returns the total rounded to ten digits, so that it reads 0.7232, not
// 0.7232000000000001.
func (s *sum) rounded() float64 { return math.Round(s.total()*1e10) / 1e10 }

// finish returns the row once all uses are added.
func (g *usageGroup) finish() UsageRow {
	r := g.row
	r.Tokens = g.tokens()
	r.Cost, r.Sessions = g.cost.rounded(), g.files.n
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
	table := newTable(&req, func(keys []string) *usageGroup { return &usageGroup{keys: keys, row: UsageRow{Type: "usage"}} })
	sources := groups[sourceGroup]{}
	var bySource []*sourceGroup // of a piece, by their numbers there
	total := &usageGroup{row: UsageRow{Type: "total"}}
	err = x.eachPiece(func(f *file, p *record.Piece) error {
		u := &p.Usages
		table.begin(f, &u.Time, nil, &u.Model)
		bySource = emptied(bySource, len(u.Source.List))
		return x.visitUsages(f, p, func(i int) {
			use := u.At(i)
			table.row(i).add(f, &use)
			n := u.Source.Number(i)
			if bySource[n] == nil {
				bySource[n] = sources.row(u.Source.List[n], func(name string) *sourceGroup { return &sourceGroup{name: name} })
			}
			bySource[n].tokens += use.Tokens()
			bySource[n].cost.add(use.Cost)
			total.cost.add(use.Cost)
			total.files.add(f)
		})
	})
	if err != nil {
		return nil, err
	}
	for _, g := range table.rows {
		total.addRow(&g.row)
	}
	t := &UsageTable{By: req.By, TimeZone: table.location.String(), Total: total.finish(), Warnings: x.warnings, Coverage: x.coverage, Index: query.StateOf(x.r)}
	rows := table.sorted(func(a, b *usageGroup) int {
		// By the cost before it is rounded.
		return cmp.Or(comparePeriods(req.By, a.keys, b.keys), cmp.Compare(b.cost.total(), a.cost.total()), cmp.Compare(b.tokens(), a.tokens()), slices.Compare(a.keys, b.keys))
	})
	for _, g := range rows {
		row := g.finish()
		row.Key = req.key(r, g.keys)
		t.Rows = append(t.Rows, row)
	}
	for _, g := range sources.sorted(func(a, b *sourceGroup) int { return cmp.Compare(a.name, b.name) }) {
		t.Sources = append(t.Sources, SourceRow{g.name, g.tokens, g.cost.rounded()})
	}
	return t, nil
}
