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
	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/internal/human"
	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
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

// Estimate says which part of the cost is estimated, and the date of the prices; "" if none is.
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
	TimeZone string `wire:"say"`
	Rows     []UsageRow
	More     int // rows after those, with Request.Rows
	Total    UsageRow
	Sources  []SourceRow // the total by what used the tokens
	Unpriced []string    // the models without a price, "" for uses that name no model
	PricesOf string      `wire:"say"` // the date of the list prices that costs are estimated from; "" if none is
	Repeated int         // results of tools whose use, or a part of it, counts in sessions of subagents
	Covered

	Parts [][4]float64 `json:",omitempty"` // with Request.Together: the unrounded costs of the rows, of the total and of the sources
}

// SourceRow is the use of tokens by one sort of entries.
type SourceRow struct {
	Source   string  `json:"source"` // the role of the message that used them, or the type of another entry
	Tokens   int64   `json:"tokens"`
	Cost     float64 `json:"cost"`
	Unpriced int     `json:"unpriced"` // entries without a price
}

// use is a use of tokens, or several together.
type use struct {
	session.Usage // but for its cost

	cost     Sum
	entries  int
	unusable int
	unpriced int
	filled   int   // whose cost is from the prices of the request
	listed   int   // whose cost is from the list prices
	at       int64 // the last one; Unix milliseconds
}

// add adds another use, but not its cost.
func (u *use) add(o *use) {
	u.Usage = plus(u.Usage, o.Usage)
	u.entries += o.entries
	u.unusable += o.unusable
	u.unpriced += o.unpriced
	u.filled += o.filled
	u.listed += o.listed
	u.at = max(u.at, o.at)
}

// usageGroup is a row of the table under construction.
type usageGroup struct {
	use
	keys  []string
	fill  Sum
	list  Sum
	files fileCount

	subagents   fileCount
	theirCost   Sum
	theirTokens int64
}

// newUse returns a use of a model, with a cost where only the request has a price.
func (b *usageBuild) newUse(u session.Usage, model string, at int64) use {
	x := use{Usage: u, entries: 1, at: at}
	if u.Unusable {
		x.unusable = 1
	}
	if u.Unpriced() {
		given, ok := b.req.Prices[model]
		if p, has := b.req.Prices[model+price.Faster]; has && u.Faster {
			given, ok = p, true
		}
		if ok {
			u.Cost, x.filled = given.Cost(&u), 1
		} else {
			x.unpriced = 1
		}
	}
	x.cost.Add(u.Cost)
	b.estimate(&x, model)
	return x
}

// estimate adds what a use without a price costs at the list price of its model, if its file
// names no costs.
func (b *usageBuild) estimate(x *use, model string) {
	if !x.NoCost || x.unpriced == 0 {
		return
	}
	p, complete := b.prices.Of(model, &x.Usage)
	if p != nil {
		x.cost.Add(p.Cost(&x.Usage))
		x.listed = x.unpriced
	}
	if complete { // else a part of the cost is missing
		x.unpriced = 0
	}
}

// count adds a use of a session that counts for owner.
func (g *usageGroup) count(f, owner *file, u *use) {
	g.add(u)
	g.cost.AddSum(u.cost)
	if u.filled > 0 {
		g.fill.AddSum(u.cost)
	}
	if u.listed > 0 {
		g.list.AddSum(u.cost)
	}
	if f != owner {
		g.subagents.add(f)
		g.theirTokens += u.Tokens()
		g.theirCost.AddSum(u.cost)
	}
	g.files.add(owner)
}

// sourceGroup is a SourceRow under construction.
type sourceGroup struct {
	name     string
	tokens   int64
	cost     Sum
	unpriced int
}

// rounded returns a sum rounded to ten digits, so that it reads 0.7232, not
// 0.7232000000000001.
func rounded(s Sum) float64 { return Rounded(s.Total()) }

// Rounded rounds a cost as tables do.
func Rounded(cost float64) float64 { return math.Round(cost*1e10) / 1e10 }

// finish returns the row once all uses are added.
func (g *usageGroup) finish(rowType string, key Key) UsageRow {
	return UsageRow{
		Type: rowType, Key: key, Input: g.Input, Output: g.Output, CacheRead: g.CacheRead, CacheWrite: g.CacheWrite, Tokens: g.Tokens(),
		Cost: rounded(g.cost), Entries: g.entries, Sessions: g.files.n, Unusable: g.unusable,
		Unpriced: g.unpriced, Filled: g.filled, FilledCost: rounded(g.fill), Listed: g.listed, ListedCost: rounded(g.list), Last: timeAt(g.at),
		Subagents: g.subagents.n, SubagentTokens: g.theirTokens, SubagentCost: rounded(g.theirCost),
	}
}

// usageBuild is a UsageTable under construction.
type usageBuild struct {
	*auditor
	table    *table[usageGroup]
	sources  groups[sourceGroup]
	total    *usageGroup
	without  map[string]bool // the models without a price
	prices   price.Listed
	repeated int

	// Of the piece that is added:
	file, owner *file
	source      *record.Names
	model       *record.Names
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
	b := &usageBuild{auditor: x, sources: newGroups(func(name string) *sourceGroup { return &sourceGroup{name: name} }), without: make(map[string]bool)}
	starts, err := x.byBlock()
	if err != nil {
		return nil, err
	}
	b.total = b.group(nil)
	b.table = newTable(&req, b.group)
	b.table.blocks = starts
	if err := x.eachPiece(x.facts.All, b.addPiece); err != nil {
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

// addPiece adds the uses of a piece.
func (b *usageBuild) addPiece(f *file, p *record.Piece) error {
	u := &p.Usages
	b.begin(f, p.File, &u.Time, &u.Source, &u.Model)
	return b.visitUsages(f, p, func(i int) {
		own, some, all := b.families.ownUsage(u, i, p.File)
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
}

// FasterTier follows the name of a model whose price is known, but not at a faster tier.
const FasterTier = " at a faster tier"

// add adds use i of the piece.
func (b *usageBuild) add(i int, u *use) {
	b.table.row(i).count(b.file, b.owner, u)
	g := b.sources.row(b.source.At(i))
	g.tokens += u.Tokens()
	g.cost.AddSum(u.cost)
	g.unpriced += u.unpriced
	if u.unpriced > 0 {
		model := b.model.At(i)
		if _, listed := price.Of(model, ""); u.Faster && listed {
			model += FasterTier
		}
		if !b.without[model] {
			b.without[strings.Clone(model)] = true
		}
	}
	b.total.count(b.file, b.owner, u) // not the sum of the rows: a sum of floating point numbers depends on their order
}

// finish returns the table once all uses are added.
func (b *usageBuild) finish() *UsageTable {
	by := b.req.By
	t := &UsageTable{
		Repeated: b.repeated, By: by, TimeZone: b.table.location.String(), Total: b.total.finish("total", Key{}), Unpriced: slices.Sorted(maps.Keys(b.without)),
		Covered: b.covered(),
	}
	rows := slices.SortedFunc(maps.Values(b.table.rows), func(a, b *usageGroup) int {
		// By the cost before it is rounded.
		if c := cmp.Or(ComparePeriods(by, a.keys, b.keys), cmp.Compare(b.cost.Total(), a.cost.Total()), cmp.Compare(b.Tokens(), a.Tokens())); c != 0 {
			return c
		}
		return slices.Compare(a.keys, b.keys)
	})
	if t.Total.Listed > 0 {
		t.PricesOf = price.Date()
	}
	if n := b.req.Rows; n > 0 && n < len(rows) && !b.req.Together {
		rows, t.More = rows[:n], len(rows)-n
	}
	t.Rows = make([]UsageRow, len(rows))
	for i, g := range rows {
		t.Rows[i] = g.finish("usage", b.req.key(b.r, g.keys))
	}
	sources := slices.SortedFunc(maps.Values(b.sources.rows), func(a, b *sourceGroup) int { return cmp.Compare(a.name, b.name) })
	for _, g := range sources {
		t.Sources = append(t.Sources, SourceRow{g.name, g.tokens, rounded(g.cost), g.unpriced})
	}
	if b.req.Together {
		for _, g := range append(rows, b.total) {
			t.Parts = append(t.Parts, [4]float64{g.cost.Total(), g.fill.Total(), g.list.Total(), g.theirCost.Total()}) // not rounded, in the order of the fields
		}
		for _, g := range sources {
			t.Parts = append(t.Parts, [4]float64{g.cost.Total()})
		}
	}
	b.req.mask(t)
	return t
}

// BlockLength is how long a block lasts. A block is a window of the plans of providers: it begins
// at the full hour (UTC) of the first use of tokens after the block before has ended. Each agent
// has blocks of its own. Filters do not move them.
const BlockLength = 5 * time.Hour

// blocks are when the blocks of each agent begin, in Unix milliseconds, ascending.
type blocks map[string][]int64

// findBlocks finds the blocks of all agents. Copies of a use do not move them, as they have its time.
func (x *auditor) findBlocks() (blocks, error) {
	found := make(blocks)
	err := x.visitPieces(x.facts.WithoutDetails(x.ids), func(f *file, p *record.Piece) error {
		for i := range p.Usages.Len {
			found[f.Agent] = append(found[f.Agent], f.millis(p.Usages.Time.At(i)))
		}
		return nil
	})
	for agent, times := range found {
		slices.Sort(times)
		starts := times[:0]
		for _, ms := range times {
			if n := len(starts); n == 0 || ms >= starts[n-1]+BlockLength.Milliseconds() {
				starts = append(starts, time.UnixMilli(ms).Truncate(time.Hour).UnixMilli())
			}
		}
		found[agent] = starts
	}
	return found, err
}

// narrow limits a day to its part in the block of an agent at a time, and names the block.
func (b blocks) narrow(d *day, agent string, ms int64) {
	i, found := slices.BinarySearch(b[agent], ms)
	if !found {
		i--
	}
	start := b[agent][i]
	d.from, d.to = max(d.from, start), min(d.to, start+BlockLength.Milliseconds())
	d.block = time.UnixMilli(start).UTC().Format(time.RFC3339)
}

// byBlock prepares a table whose rows are of blocks. If the sessions are of several agents, the blocks
// of each have rows of their own.
func (x *auditor) byBlock() (blocks, error) {
	at := slices.Index(x.req.By, "block")
	if at < 0 {
		return nil, nil
	}
	agent := ""
	for i := range x.files {
		switch f := &x.files[i]; {
		case !f.wanted || !f.IsSession():
		case agent == "":
			agent = f.Agent
		case agent != f.Agent && !slices.Contains(x.req.By, "agent"):
			x.req.By = slices.Insert(slices.Clone(x.req.By), at+1, "agent")
		}
	}
	return x.findBlocks()
}

// Recent is what was used today and in this week, which began on Monday.
type Recent struct {
	Today UsageRow `json:"today"`
	Week  UsageRow `json:"thisWeek"`
}

// RecentUsage adds up the tokens and cost of today and of this week in the time zone of now; nil for a
// request that names another time. usage is Usage, of whichever sessions.
func RecentUsage(ctx context.Context, usage func(context.Context, Request) (*UsageTable, error), req Request, now time.Time) (*Recent, error) {
	if !req.Since.IsZero() || !req.Until.IsZero() {
		return nil, nil
	}
	week, err := timespec.Parse("this week", now)
	if err != nil {
		return nil, err
	}
	req.Since, req.Until, req.Location = week.Start, week.End, now.Location()
	req.By, req.Rows = []string{"day"}, 0
	t, err := usage(ctx, req)
	if err != nil {
		return nil, err
	}
	recent, today := &Recent{Week: t.Total}, dayOf(now).day
	for _, row := range t.Rows {
		if row.Day == today {
			recent.Today = row
		}
	}
	recent.Today.Type, recent.Today.Key = recent.Week.Type, Key{}
	return recent, nil
}
