package merge

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/audit"
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

func (t *rows[R]) add(key string, row R) {
	if i, ok := t.by[key]; ok {
		t.added(&t.list[i], &row)
		return
	}
	t.by[key] = len(t.list)
	t.list = append(t.list, row)
}

// addUp adds the numbers of a row to those of a sum. First is then the earlier one of two times of
// which either may be unknown, and Last the later one. What else a row says stays that of the sum.
func addUp[R any](sum, row *R) { addFields(reflect.ValueOf(sum).Elem(), reflect.ValueOf(row).Elem()) }

func addFields(sum, row reflect.Value) {
	for i := range sum.NumField() {
		to, from := sum.Field(i), row.Field(i)
		switch {
		case to.CanInt():
			to.SetInt(to.Int() + from.Int())
		case to.Type() == reflect.TypeFor[session.Time]():
			a, b, first := to.Interface().(session.Time), from.Interface().(session.Time), sum.Type().Field(i).Name == "First"
			if !first && b.After(a.Time) || first && (a.IsZero() || !b.IsZero() && b.Before(a.Time)) {
				to.Set(from)
			}
		case to.Kind() == reflect.Struct:
			addFields(to, from)
		}
	}
}

func keyOf(k *audit.Key, by []string) string {
	values := k.Values(by)
	if at := slices.Index(by, "tool"); at >= 0 {
		values[at] = session.ToolKey(values[at])
	}
	return strings.Join(values, "\x00")
}

// covered adds up what tables say beside their rows.
func covered[T interface {
	answer
	Sums() *audit.Covered
}](tables []T) (sum audit.Covered) {
	for _, t := range tables {
		addUp(&sum.Coverage, &t.Sums().Coverage)
	}
	sum.About = about(tables)
	return sum
}

// Tools merges tables of tools that were asked for with Together.
func Tools(tables []*audit.ToolTable) *audit.ToolTable {
	m := &audit.ToolTable{By: tables[0].By, Covered: covered(tables)}
	all := newRows((*tool).add)
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
	audit.ToolPart
	times map[int32]int // calls by their durations
}

func newTool(t *audit.ToolTable, i int, row *audit.ToolRow) tool {
	x := tool{ToolRow: *row, times: map[int32]int{}}
	if i < len(t.Parts) {
		x.ToolPart = t.Parts[i]
	}
	for _, d := range x.Durations {
		x.times[d[0]] += int(max(d[1], 0))
	}
	return x
}

func (x *tool) add(o *tool) {
	addUp(&x.ToolRow, &o.ToolRow)
	x.Key.Join(&o.Key)
	addUp(&x.ToolPart, &o.ToolPart)
	for d, n := range o.times {
		x.times[d] += n
	}
}

func (x *tool) finish() audit.ToolRow {
	r := x.ToolRow
	if r.ErrorRate = 0; x.Answered > 0 {
		r.ErrorRate = float64(r.Errors) / float64(x.Answered)
	}
	r.Asks = x.Asked > 0 && x.Asked == r.Calls
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
	m := &audit.CommandTable{Covered: covered(tables)}
	all := newRows(addUp[audit.CommandRow])
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
	m := &audit.FileTable{Covered: covered(tables)}
	all := newRows(addUp[audit.FileRow])
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

// Usage merges tables of tokens and cost that were asked for with Together.
func Usage(req *audit.Request, tables []*audit.UsageTable) *audit.UsageTable {
	m := &audit.UsageTable{By: tables[0].By, TimeZone: tables[0].TimeZone, Covered: covered(tables)}
	all, sources := newRows((*spent).add), newRows((*spentBy).add)
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
	costs [4]audit.Sum
}

type spentBy struct {
	audit.SourceRow
	cost audit.Sum
}

func newSum(v float64) (s audit.Sum) {
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
	addUp(&x.UsageRow, &o.UsageRow)
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
	addUp(&x.SourceRow, &o.SourceRow)
	x.cost.AddSum(o.cost)
}

// Calls merges lists of calls. Each list is in order, so that only one call of each is waited
// for.
func Calls(req *audit.Request, lists []*audit.CallList) *audit.CallList {
	m := &audit.CallList{Covered: covered(lists)}
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
		}, func(row *audit.CallRow) error {
			if err := visit(row); err != nil {
				return err
			}
			if left--; left == 0 {
				return errEnough
			}
			return nil
		})
		m.Warnings = about(lists).Warnings
		return err
	}
	return m
}
