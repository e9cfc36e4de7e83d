package merge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/search"
)

// rows adds up the rows of several tables that have the same key.
type rows[R any] struct {
	by    map[string]int
	list  []R
	added func(sum, row *R)
}

func newRows[R any](added func(sum, row *R)) *rows[R] {
	return &rows[R]{by: make(map[string]int), added: added}
}

// add adds a row, and returns the number of its sum.
func (t *rows[R]) add(key string, row R) int {
	if i, ok := t.by[key]; ok {
		t.added(&t.list[i], &row)
		return i
	}
	t.by[key] = len(t.list)
	t.list = append(t.list, row)
	return len(t.list) - 1
}

func keyOf(k *audit.Key, by []string) string { return strings.Join(k.Values(by), "\x00") }

// later returns the later one of two times.
func later(a, b session.Time) session.Time {
	if b.After(a.Time) {
		return b
	}
	return a
}

// earlier returns the earlier one of two times of which either may be unknown.
func earlier(a, b session.Time) session.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a.Time) {
		return b
	}
	return a
}

// covered adds up what tables say beside their rows.
func covered[T any](tables []T, of func(T) *audit.Covered) (sum audit.Covered) {
	s := &sum.Coverage
	for _, t := range tables {
		c := &of(t).Coverage
		s.Sessions += c.Sessions
		s.First, s.Last = earlier(s.First, c.First), later(s.Last, c.Last)
		s.SkippedLines += c.SkippedLines
		s.Copies += c.Copies
		s.Changed += c.Changed
		s.Vanished += c.Vanished
		s.New += c.New
	}
	sum.About = about(tables, func(t T) *search.About { return &of(t).About })
	return sum
}

// Tools merges tables of tools that were asked for with Request.Shared.
func Tools(tables []*audit.ToolTable) *audit.ToolTable {
	m := &audit.ToolTable{By: tables[0].By, Covered: covered(tables, func(t *audit.ToolTable) *audit.Covered { return &t.Covered })}
	all := newRows(func(sum, row *tool) { sum.add(row) })
	total := tool{ToolRow: audit.ToolRow{Type: "total"}, times: map[int32]int{}}
	for _, t := range tables {
		for i := range t.Rows {
			all.add(keyOf(&t.Rows[i].Key, m.By), newTool(t, i, &t.Rows[i]))
		}
		whole := newTool(t, len(t.Rows), &t.Total)
		total.add(&whole)
	}
	lists.Sort(all.list, func(a, b tool) int {
		x, y := a.Key.Values(m.By), b.Key.Values(m.By)
		return cmp.Or(audit.ComparePeriods(m.By, x, y), cmp.Compare(b.Calls, a.Calls), slices.Compare(x, y))
	})
	for i := range all.list {
		m.Rows = append(m.Rows, all.list[i].finish())
	}
	m.Total = total.finish()
	return m
}

// A tool is a row of a table of tools with what merging it takes.
type tool struct {
	audit.ToolRow
	times           map[int32]int // calls by their durations
	answered, asked int
}

func newTool(t *audit.ToolTable, i int, row *audit.ToolRow) tool {
	x := tool{ToolRow: *row, times: map[int32]int{}}
	if i < len(t.Parts) {
		p := &t.Parts[i]
		x.answered, x.asked = p.Answered, p.Asked
		for _, d := range p.Durations {
			x.times[d[0]] += int(max(d[1], 0))
		}
	}
	return x
}

func (x *tool) add(o *tool) {
	x.Calls += o.Calls
	x.Errors += o.Errors
	x.Sessions += o.Sessions
	x.Bytes += o.Bytes
	x.NoResult += o.NoResult
	x.NoCall += o.NoCall
	x.Nested += o.Nested
	x.Rejected += o.Rejected
	x.Last = later(x.Last, o.Last)
	x.answered += o.answered
	x.asked += o.asked
	for d, n := range o.times {
		x.times[d] += n
	}
}

func (x *tool) finish() audit.ToolRow {
	r := x.ToolRow
	if r.ErrorRate = 0; x.answered > 0 {
		r.ErrorRate = float64(r.Errors) / float64(x.answered)
	}
	r.Asks = x.asked > 0 && x.asked == r.Calls
	r.Timed, r.P50, r.P95 = 0, nil, nil
	for _, n := range x.times {
		r.Timed += n
	}
	if r.Timed > 0 {
		r.P50, r.P95 = x.percentile(50, r.Timed), x.percentile(95, r.Timed)
	}
	return r
}

// percentile returns the smallest duration that at least so many percent of the known ones do
// not exceed.
func (x *tool) percentile(percent, timed int) *int32 {
	place := max((percent*timed+99)/100, 1)
	for _, d := range slices.Sorted(maps.Keys(x.times)) {
		if place -= x.times[d]; place <= 0 {
			return &d
		}
	}
	return nil
}

// Commands merges tables of programs.
func Commands(req *audit.Request, tables []*audit.CommandTable) *audit.CommandTable {
	m := &audit.CommandTable{Covered: covered(tables, func(t *audit.CommandTable) *audit.Covered { return &t.Covered })}
	all := newRows(func(sum, row *audit.CommandRow) {
		sum.Runs += row.Runs
		sum.Calls += row.Calls
		sum.Failed += row.Failed
		sum.Sessions += row.Sessions
		sum.Last = later(sum.Last, row.Last)
	})
	for _, t := range tables {
		m.Calls += t.Calls
		m.Unparsed += t.Unparsed
		for _, row := range t.Rows {
			all.add(row.Program, row)
		}
	}
	m.Rows = all.list
	lists.Sort(m.Rows, func(a, b audit.CommandRow) int { return audit.CompareCommands(req, &a, &b) })
	return m
}

// Files merges tables of files, or histories of a file.
func Files(tables []*audit.FileTable) *audit.FileTable {
	m := &audit.FileTable{Covered: covered(tables, func(t *audit.FileTable) *audit.Covered { return &t.Covered })}
	all := newRows(func(sum, row *audit.FileRow) {
		sum.Reads += row.Reads
		sum.Writes += row.Writes
		sum.Edits += row.Edits
		sum.Deletes += row.Deletes
		sum.Others += row.Others
		sum.Summaries += row.Summaries
		sum.Failed += row.Failed
		sum.Rejected += row.Rejected
		sum.Sessions += row.Sessions
		sum.First, sum.Last = earlier(sum.First, row.First), later(sum.Last, row.Last)
	})
	for _, t := range tables {
		for _, row := range t.Rows {
			all.add(row.Path, row)
		}
		m.Touches = append(m.Touches, t.Touches...)
	}
	m.Rows = all.list
	m.Sort()
	return m
}

// Usage merges tables of tokens and cost that were asked for with Request.Shared.
func Usage(req *audit.Request, tables []*audit.UsageTable) *audit.UsageTable {
	m := &audit.UsageTable{By: tables[0].By, TimeZone: tables[0].TimeZone, Covered: covered(tables, func(t *audit.UsageTable) *audit.Covered { return &t.Covered })}
	all, sources := newRows(func(sum, row *spent) { sum.add(row) }), newRows(func(sum, row *spentBy) { sum.add(row) })
	total := spent{UsageRow: audit.UsageRow{Type: "total"}}
	for _, t := range tables {
		costs := func(i int) (c [4]float64) {
			if i < len(t.Parts) {
				c = t.Parts[i]
			}
			return c
		}
		for i := range t.Rows {
			all.add(keyOf(&t.Rows[i].Key, m.By), newSpent(t.Rows[i], costs(i)))
		}
		n := len(t.Rows)
		whole := newSpent(t.Total, costs(n))
		total.add(&whole)
		for i, s := range t.Sources {
			sources.add(s.Source, spentBy{s, newSum(costs(n + 1 + i)[0])})
		}
		m.Unpriced = append(m.Unpriced, t.Unpriced...)
		m.PricesOf = cmp.Or(m.PricesOf, t.PricesOf)
		m.Repeated += t.Repeated
	}
	slices.Sort(m.Unpriced)
	m.Unpriced = slices.Compact(m.Unpriced)
	lists.Sort(all.list, func(a, b spent) int {
		x, y := a.Key.Values(m.By), b.Key.Values(m.By)
		return cmp.Or(audit.ComparePeriods(m.By, x, y), cmp.Compare(b.costs[0].Total(), a.costs[0].Total()), cmp.Compare(b.Tokens, a.Tokens), slices.Compare(x, y))
	})
	list := first(all.list, req.Rows)
	m.More = len(all.list) - len(list)
	m.Rows = make([]audit.UsageRow, len(list))
	for i := range list {
		m.Rows[i] = list[i].finish()
	}
	m.Total = total.finish()
	lists.Sort(sources.list, func(a, b spentBy) int { return cmp.Compare(a.Source, b.Source) })
	for _, s := range sources.list {
		s.Cost = audit.Rounded(s.cost.Total())
		m.Sources = append(m.Sources, s.SourceRow)
	}
	return m
}

// spent is a row of a table of tokens with its costs before they are rounded.
type spent struct {
	audit.UsageRow
	costs [4]record.Sum
}

type spentBy struct {
	audit.SourceRow
	cost record.Sum
}

func newSum(v float64) (s record.Sum) {
	s.Add(v)
	return s
}

func newSpent(row audit.UsageRow, costs [4]float64) spent {
	x := spent{UsageRow: row}
	for i, c := range costs {
		x.costs[i] = newSum(c)
	}
	return x
}

func (x *spent) add(o *spent) {
	x.Input += o.Input
	x.Output += o.Output
	x.CacheRead += o.CacheRead
	x.CacheWrite += o.CacheWrite
	x.Tokens += o.Tokens
	x.Entries += o.Entries
	x.Sessions += o.Sessions
	x.Unusable += o.Unusable
	x.Unpriced += o.Unpriced
	x.Filled += o.Filled
	x.Listed += o.Listed
	x.Last = later(x.Last, o.Last)
	x.Subagents += o.Subagents
	x.SubagentTokens += o.SubagentTokens
	for i := range x.costs {
		x.costs[i].AddSum(o.costs[i])
	}
}

func (x *spent) finish() audit.UsageRow {
	for i, cost := range []*float64{&x.Cost, &x.FilledCost, &x.ListedCost, &x.SubagentCost} {
		*cost = audit.Rounded(x.costs[i].Total())
	}
	return x.UsageRow
}

func (x *spentBy) add(o *spentBy) {
	x.Tokens += o.Tokens
	x.Unpriced += o.Unpriced
	x.cost.AddSum(o.cost)
}

// Calls merges lists of calls. Each list is in order, so that only one call of each is waited
// for.
func Calls(req *audit.Request, lists []*audit.CallList) *audit.CallList {
	m := &audit.CallList{Covered: covered(lists, func(t *audit.CallList) *audit.Covered { return &t.Covered })}
	for _, l := range lists {
		if m.Total += l.Total; l.Total < 0 || m.Total < 0 {
			m.Total = -1
			break
		}
	}
	m.Each = func(ctx context.Context, visit func(*audit.CallRow) error) error {
		streams := make([]func(context.Context, func(*audit.CallRow) error) error, len(lists))
		for i, l := range lists {
			streams[i] = l.Each
		}
		left := req.Limit
		err := interleave(ctx, streams, func(a, b *audit.CallRow) int {
			return cmp.Or(b.Timestamp.Truncate(time.Millisecond).Compare(a.Timestamp.Truncate(time.Millisecond)), cmp.Compare(a.SessionPath, b.SessionPath))
		}, func(_ int, row *audit.CallRow) error {
			if err := visit(row); err != nil {
				return err
			}
			if left--; left == 0 {
				return errEnough
			}
			return nil
		})
		m.Warnings = about(lists, func(t *audit.CallList) *search.About { return &t.About }).Warnings
		return err
	}
	return m
}
