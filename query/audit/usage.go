package audit

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/internal/human"
	"pigrep/internal/session"
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

	Unpriced   int          `json:"unpriced"`                // entries that used tokens without a price, so that Cost lacks them
	Filled     int          `json:"filledIn"`                // entries whose cost is from the prices of the request
	FilledCost float64      `json:"filledInCost"`            // of these; part of Cost
	Listed     int          `json:"estimated,omitempty"`     // entries whose cost is estimated from list prices, as the files name none
	ListedCost float64      `json:"estimatedCost,omitempty"` // of these; part of Cost
	Last       session.Time `json:"lastUsed,omitzero"`

	// With Request.Tree: the part that subagents used.
	Subagents      int     `json:"subagents,omitempty"`
	SubagentTokens int64   `json:"subagentTokens,omitempty"`
	SubagentCost   float64 `json:"subagentCost,omitempty"`
}

// HasCost reports whether anything is known about the cost.
func (r *UsageRow) HasCost() bool { return r.Cost > 0 || r.Filled > 0 }

// Estimate says which part of the cost is estimated, and from prices of which day; "" if none
// is.
func (t *UsageTable) Estimate() string {
	if t.PricesOf == "" {
		return ""
	}
	part := "cost"
	if t.Total.ListedCost != t.Total.Cost {
		part = human.DollarsUpTo(t.Total.Cost).Text(t.Total.ListedCost) + " of the cost"
	}
	return part + " estimated from list prices of " + t.PricesOf
}

// UsageTable is the answer of Usage.
type UsageTable struct {
	By       []string
	TimeZone string
	Rows     []UsageRow
	More     int // rows after those, with Request.Rows
	Total    UsageRow
	Sources  []SourceRow // the total by what used the tokens
	Unpriced []string    // the models without a price, "" for uses that name no model
	PricesOf string      // the date of the list prices from which costs are estimated; "" if none is
	Repeated int         // results of tools whose use, or a part of it, counts in sessions of subagents
	Covered

	Parts [][4]float64 `json:",omitempty"` // with Request.Shared: the costs of the rows, of the total and of the sources, before they are rounded
}

// costs returns the costs of a row before they are rounded, in the order of its fields.
func (g *usageGroup) costs() [4]float64 {
	return [4]float64{g.cost.Total(), g.fill.Total(), g.list.Total(), g.theirCost.Total()}
}

// SourceRow is the use of tokens by one sort of entries.
type SourceRow struct {
	Source   string  `json:"source"` // the role of the message that used them, or the type of another entry
	Tokens   int64   `json:"tokens"`
	Cost     float64 `json:"cost"`
	Unpriced int     `json:"unpriced"` // entries without a price
}

// use is a use of tokens, or the sum of several.
type use struct {
	input, output, cacheRead, cacheWrite int64

	cost     record.Sum
	entries  int
	unusable int
	unpriced int
	filled   int   // whose cost is from the prices of the request
	listed   int   // whose cost is from the list prices
	at       int64 // the last one; Unix milliseconds
}

// add adds another use, but not its cost: the sum of floating point numbers depends on
// their order.
func (u *use) add(o *use) {
	u.input += o.input
	u.output += o.output
	u.cacheRead += o.cacheRead
	u.cacheWrite += o.cacheWrite
	u.entries += o.entries
	u.unusable += o.unusable
	u.unpriced += o.unpriced
	u.filled += o.filled
	u.listed += o.listed
	u.at = max(u.at, o.at)
}

func (u *use) tokens() int64 { return u.input + u.output + u.cacheRead + u.cacheWrite }

// usageGroup is a row of the table under construction.
type usageGroup struct {
	use
	keys  []string
	fill  record.Sum
	list  record.Sum
	files fileCount

	subagents   fileCount
	theirCost   record.Sum
	theirTokens int64
}

// newUse returns a use of a model, with a cost where only the request has a price.
func (b *usageBuild) newUse(u session.Usage, model string, at int64) use {
	x := use{input: u.Input, output: u.Output, cacheRead: u.CacheRead, cacheWrite: u.CacheWrite, entries: 1, at: at}
	if u.Unusable {
		x.unusable = 1
	}
	if u.Unpriced() {
		if price, ok := b.req.Prices[model]; ok {
			u.Cost, x.filled = price.cost(&u), 1
		} else {
			x.unpriced = 1
		}
	}
	x.cost.Add(u.Cost)
	b.estimate(&x, &u, model)
	return x
}

// newUseOf returns sum i.
func (b *usageBuild) newUseOf(s *record.SummedUsages, i int) use {
	u := s.At(i)
	x := use{
		input: u.Input, output: u.Output, cacheRead: u.CacheRead, cacheWrite: u.CacheWrite,
		cost: s.Cost(i), entries: int(s.Entries.At(i)), unusable: int(s.Unusable.At(i)), unpriced: int(s.Unpriced.At(i)), at: s.Last.At(i),
	}
	b.estimate(&x, &u, s.Model.At(i))
	return x
}

// estimate adds what a use without a price costs at the list price of its model, if its file
// names no costs.
func (b *usageBuild) estimate(x *use, u *session.Usage, model string) {
	if !u.NoCost || x.unpriced == 0 {
		return
	}
	price, known := b.listPrices[model]
	if !known {
		if p, ok := listPrice(model); ok {
			price = &p
		}
		b.listPrices[strings.Clone(model)] = price
	}
	if price != nil {
		x.cost.Add(price.cost(u))
		x.listed, x.unpriced = x.unpriced, 0
	}
}

// count adds a use of a session that counts for owner.
func (g *usageGroup) count(f, owner *file, u *use) {
	g.add(u)
	if f != owner {
		g.theirTokens += u.tokens()
	}
	g.addSums(f, owner, u)
}

// addSums adds the cost of a use and counts its session: of a row and of the total each on
// its own, as of use.add.
func (g *usageGroup) addSums(f, owner *file, u *use) {
	g.cost.AddSum(u.cost)
	if u.filled > 0 {
		g.fill.AddSum(u.cost)
	}
	if u.listed > 0 {
		g.list.AddSum(u.cost)
	}
	if f != owner {
		g.subagents.add(f)
		g.theirCost.AddSum(u.cost)
	}
	g.files.add(owner)
}

// sourceGroup is a SourceRow under construction.
type sourceGroup struct {
	name     string
	tokens   int64
	cost     record.Sum
	unpriced int
}

func (g *sourceGroup) add(u *use) {
	g.tokens += u.tokens()
	g.cost.AddSum(u.cost)
	g.unpriced += u.unpriced
}

// rounded returns a sum rounded to ten digits, so that it reads 0.7232, not
// 0.7232000000000001.
func rounded(s record.Sum) float64 { return Rounded(s.Total()) }

// Rounded rounds a cost as tables do.
func Rounded(cost float64) float64 { return math.Round(cost*1e10) / 1e10 }

// finish returns the row once all uses are added.
func (g *usageGroup) finish(rowType string, key Key) UsageRow {
	return UsageRow{
		Type: rowType, Key: key, Input: g.input, Output: g.output, CacheRead: g.cacheRead, CacheWrite: g.cacheWrite, Tokens: g.tokens(),
		Cost: rounded(g.cost), Entries: g.entries, Sessions: g.files.n, Unusable: g.unusable,
		Unpriced: g.unpriced, Filled: g.filled, FilledCost: rounded(g.fill), Listed: g.listed, ListedCost: rounded(g.list), Last: timeAt(g.at),
		Subagents: g.subagents.n, SubagentTokens: g.theirTokens, SubagentCost: rounded(g.theirCost),
	}
}

// usageBuild is a UsageTable under construction.
type usageBuild struct {
	*auditor
	table      *table[usageGroup]
	sources    groups[sourceGroup]
	total      *usageGroup
	without    map[string]bool   // the models without a price
	listPrices map[string]*Price // as of listPrice, nil for none
	repeated   int

	// Of the piece that is added:
	file, owner *file
	source      *record.Names
	model       *record.Names
	bySource    []*sourceGroup // by their numbers there
}

// Usage adds up tokens and cost.
func Usage(ctx context.Context, r *index.Reader, req Request) (*UsageTable, error) {
	if len(req.By) == 0 {
		req.By = []string{"model"}
	}
	req.Text = ""
	x, err := newAuditor(ctx, r, &req, record.UsageFacts, record.UsageSums)
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
	b := &usageBuild{auditor: x, sources: groups[sourceGroup]{}, without: make(map[string]bool), listPrices: make(map[string]*Price)}
	starts, err := x.byBlock()
	if err != nil {
		return nil, err
	}
	b.total = b.group(nil)
	b.table = newTable(&req, b.group)
	b.table.blocks = starts
	if err := x.eachSum(b.table.samePeriod, b.addPiece); err != nil {
		return nil, err
	}
	return b.finish(), nil
}

func (b *usageBuild) group(keys []string) *usageGroup {
	g := &usageGroup{keys: keys}
	if b.req.Tree { // then the uses of a session do not come one after another
		g.files.seen = make(map[*file]bool)
	}
	return g
}

// addPiece adds the uses of a piece, or its sums.
func (b *usageBuild) addPiece(f *file, p *record.Piece) error {
	if s := &p.UsageSums; p.Summed {
		b.begin(f, p.File, &s.Last, &s.Source, &s.Model)
		for i := range s.Len {
			if b.passesModel(&s.Model, i) {
				use := b.newUseOf(s, i)
				b.add(i, &use)
			}
		}
		return nil
	}
	u := &p.Usages
	b.begin(f, p.File, &u.Time, &u.Source, &u.Model)
	return b.visitUsages(f, p, func(i int) {
		own, some, all := b.families.own(u, i, p.File)
		if some {
			b.repeated++
		}
		if !all {
			use := b.newUse(own, u.Model.At(i), f.millis(u.Time.At(i)))
			b.add(i, &use)
		}
	})
}

func (b *usageBuild) begin(f *file, number int, times *format.Column, source, model *record.Names) {
	b.file, b.owner, b.source, b.model = f, f, source, model
	if b.req.Tree {
		b.owner = &b.files[b.families.root(number)]
	}
	b.table.begin(f, b.owner, times, nil, nil, model)
	b.bySource = emptied(b.bySource, len(source.List))
}

// add adds use i of the piece.
func (b *usageBuild) add(i int, u *use) {
	b.table.row(i).count(b.file, b.owner, u)
	n := b.source.Number(i)
	if b.bySource[n] == nil {
		b.bySource[n] = b.sources.row(b.source.List[n], func(name string) *sourceGroup { return &sourceGroup{name: name} })
	}
	b.bySource[n].add(u)
	if u.unpriced > 0 {
		if model := b.model.At(i); !b.without[model] {
			b.without[strings.Clone(model)] = true
		}
	}
	b.total.addSums(b.file, b.owner, u)
}

// finish returns the table once all uses are added.
func (b *usageBuild) finish() *UsageTable {
	by := b.req.By
	for _, g := range b.table.rows {
		b.total.add(&g.use)
		b.total.theirTokens += g.theirTokens
	}
	t := &UsageTable{
		Repeated: b.repeated, By: by, TimeZone: b.table.location.String(), Total: b.total.finish("total", Key{}), Unpriced: slices.Sorted(maps.Keys(b.without)),
		Covered: b.covered(),
	}
	rows := b.table.sorted(func(a, b *usageGroup) int {
		// By the cost before it is rounded.
		if c := cmp.Or(ComparePeriods(by, a.keys, b.keys), cmp.Compare(b.cost.Total(), a.cost.Total()), cmp.Compare(b.tokens(), a.tokens())); c != 0 {
			return c
		}
		return slices.Compare(a.keys, b.keys)
	})
	if t.Total.Listed > 0 {
		t.PricesOf = listDate()
	}
	if n := b.req.Rows; n > 0 && n < len(rows) && b.req.Shared == nil {
		rows, t.More = rows[:n], len(rows)-n
	}
	t.Rows = make([]UsageRow, len(rows))
	for i, g := range rows {
		t.Rows[i] = g.finish("usage", b.req.key(b.r, g.keys))
		if b.req.Shared != nil {
			t.Parts = append(t.Parts, g.costs())
		}
	}
	if b.req.Shared != nil {
		t.Parts = append(t.Parts, b.total.costs())
	}
	for _, g := range b.sources.sorted(func(a, b *sourceGroup) int { return cmp.Compare(a.name, b.name) }) {
		t.Sources = append(t.Sources, SourceRow{g.name, g.tokens, rounded(g.cost), g.unpriced})
		if b.req.Shared != nil {
			t.Parts = append(t.Parts, [4]float64{g.cost.Total()})
		}
	}
	b.req.mask(t)
	return t
}
