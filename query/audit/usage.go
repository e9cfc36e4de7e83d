package audit

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

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

	Unpriced   int          `json:"unpriced"`     // entries that used tokens without a price, so that Cost lacks them
	Filled     int          `json:"filledIn"`     // entries whose cost is from the prices of the request
	FilledCost float64      `json:"filledInCost"` // of these; part of Cost
	Last       session.Time `json:"lastUsed,omitzero"`

	// With Request.Tree: the part that subagents used.
	Subagents      int     `json:"subagents,omitempty"`
	SubagentTokens int64   `json:"subagentTokens,omitempty"`
	SubagentCost   float64 `json:"subagentCost,omitempty"`
}

// HasCost reports whether anything is known about the cost.
func (r *UsageRow) HasCost() bool { return r.Cost > 0 || r.Filled > 0 }

// UsageTable is the answer of Usage.
type UsageTable struct {
	By       []string
	TimeZone string
	Rows     []UsageRow
	Total    UsageRow
	Sources  []SourceRow // the total by what used the tokens
	Unpriced []string    // the models without a price, "" for uses that name no model
	Repeated int         // results of tools whose use, or a part of it, counts in sessions of subagents
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

// SourceRow is the use of tokens by one sort of entries.
type SourceRow struct {
	Source   string  `json:"source"` // the role of a message, or the type of another entry
	Tokens   int64   `json:"tokens"`
	Cost     float64 `json:"cost"`
	Unpriced int     `json:"unpriced"` // entries without a price
}

// usageGroup is a row of the table under construction.
type usageGroup struct {
	row   UsageRow
	keys  []string
	cost  sum
	fill  sum
	files fileCount
	last  int64 // Unix milliseconds

	subagents fileCount
	theirCost sum
}

// use is a use of tokens.
type use struct {
	session.Usage
	at       int64 // Unix milliseconds
	unpriced bool
	filled   bool // Cost is from the prices of the request
}

// priced returns a use of a model, with a cost where only the request has a price.
func (req *Request) priced(u session.Usage, model string) use {
	x := use{Usage: u}
	if x.unpriced = unpriced(&x.Usage); x.unpriced && len(req.Prices) > 0 {
		if price, ok := req.Prices[model]; ok {
			x.Cost, x.filled, x.unpriced = price.cost(&x.Usage), true, false
		}
	}
	return x
}

// add adds a use of a session that counts for owner.
func (g *usageGroup) add(f, owner *file, u *use) {
	r := &g.row
	r.Input += u.Input
	r.Output += u.Output
	r.CacheRead += u.CacheRead
	r.CacheWrite += u.CacheWrite
	r.Entries++
	if u.Unusable {
		r.Unusable++
	}
	if u.unpriced {
		r.Unpriced++
	}
	if u.filled {
		r.Filled++
	}
	g.last = max(g.last, u.at)
	if f != owner {
		r.SubagentTokens += u.Tokens()
	}
	g.addSums(f, owner, u)
}

// addSums adds the cost of a use and counts its session: of a row and of the total each on
// its own, because the sum of floating point numbers depends on the order.
func (g *usageGroup) addSums(f, owner *file, u *use) {
	g.cost.add(u.Cost)
	if u.filled {
		g.fill.add(u.Cost)
	}
	if f != owner {
		g.subagents.add(f)
		g.theirCost.add(u.Cost)
	}
	g.files.add(owner)
}

// addRow adds the uses of a row of the table, but not what addSums adds.
func (g *usageGroup) addRow(u *usageGroup) {
	r := &g.row
	r.Input += u.row.Input
	r.Output += u.row.Output
	r.CacheRead += u.row.CacheRead
	r.CacheWrite += u.row.CacheWrite
	r.Entries += u.row.Entries
	r.Unusable += u.row.Unusable
	r.Unpriced += u.row.Unpriced
	r.Filled += u.row.Filled
	r.SubagentTokens += u.row.SubagentTokens
	g.last = max(g.last, u.last)
}

func (g *usageGroup) tokens() int64 {
	return g.row.Input + g.row.Output + g.row.CacheRead + g.row.CacheWrite
}

// sourceGroup is a SourceRow under construction.
type sourceGroup struct {
	name     string
	tokens   int64
	cost     sum
	unpriced int
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
	r.Subagents, r.SubagentCost = g.subagents.n, g.theirCost.rounded()
	r.Cost, r.FilledCost, r.Sessions = g.cost.rounded(), g.fill.rounded(), g.files.n
	if g.last != 0 {
		r.Last = session.Time{Time: time.UnixMilli(g.last).UTC()}
	}
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
	x.listFamilies()
	if err := x.findRepeated(); err != nil {
		return nil, err
	}
	if req.Tree {
		x.adopt()
	}
	group := func(rowType string, keys []string) *usageGroup {
		g := &usageGroup{keys: keys, row: UsageRow{Type: rowType}}
		if req.Tree { // then the uses of a session do not come one after another
			g.files.seen = make(map[*file]bool)
		}
		return g
	}
	table := newTable(&req, func(keys []string) *usageGroup { return group("usage", keys) })
	sources := groups[sourceGroup]{}
	var bySource []*sourceGroup // of a piece, by their numbers there
	total, repeated := group("total", nil), 0
	without := make(map[string]bool) // the models without a price
	err = x.eachPiece(func(f *file, p *record.Piece) error {
		u := &p.Usages
		owner := f
		if req.Tree {
			owner = &x.files[x.families.root(p.File)]
		}
		table.begin(f, owner, &u.Time, nil, &u.Model)
		bySource = emptied(bySource, len(u.Source.List))
		return x.visitUsages(f, p, func(i int) {
			own, some, all := x.families.own(u, i, p.File)
			if some {
				repeated++
			}
			if all {
				return
			}
			use := req.priced(own, u.Model.At(i))
			use.at = f.millis(u.Time.At(i))
			table.row(i).add(f, owner, &use)
			n := u.Source.Number(i)
			if bySource[n] == nil {
				bySource[n] = sources.row(u.Source.List[n], func(name string) *sourceGroup { return &sourceGroup{name: name} })
			}
			bySource[n].tokens += use.Tokens()
			bySource[n].cost.add(use.Cost)
			if use.unpriced {
				bySource[n].unpriced++
				if model := u.Model.At(i); !without[model] {
					without[strings.Clone(model)] = true
				}
			}
			total.addSums(f, owner, &use)
		})
	})
	if err != nil {
		return nil, err
	}
	for _, g := range table.rows {
		total.addRow(g)
	}
	t := &UsageTable{Repeated: repeated, By: req.By, TimeZone: table.location.String(), Total: total.finish(), Warnings: x.warnings, Coverage: x.coverage, Index: query.StateOf(x.r)}
	rows := table.sorted(func(a, b *usageGroup) int {
		// By the cost before it is rounded.
		return cmp.Or(comparePeriods(req.By, a.keys, b.keys), cmp.Compare(b.cost.total(), a.cost.total()), cmp.Compare(b.tokens(), a.tokens()), slices.Compare(a.keys, b.keys))
	})
	for _, g := range rows {
		row := g.finish()
		row.Key = req.key(r, g.keys)
		t.Rows = append(t.Rows, row)
	}
	t.Unpriced = slices.Sorted(maps.Keys(without))
	for _, g := range sources.sorted(func(a, b *sourceGroup) int { return cmp.Compare(a.name, b.name) }) {
		t.Sources = append(t.Sources, SourceRow{g.name, g.tokens, g.cost.rounded(), g.unpriced})
	}
	req.mask(t)
	return t, nil
}
