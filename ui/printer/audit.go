package printer

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/audit"
	"pigrep/query/search"
	"pigrep/ui/chart"
)

// Audit is the answer of tools, its subcommands and usage: a table, and what it
// covers. NewToolsAudit and the like make one.
type Audit struct {
	*audit.Covered      // its warnings are complete after the last row
	Rows           int  // printed so far
	Verbose        bool // text has the counts that need a reason

	Chart   func() *chart.Chart // the same rows as a picture; nil for none
	Picture *chart.Chart        // above the table on a terminal; nil for none

	Empty func() (*Empty, error) // explains an answer without rows; may be nil and may return nil
	// LastUse returns the latest time in the answer. For calls it consumes the first row, so
	// they can no longer be printed.
	LastUse func() (time.Time, error)

	command string
	table   table
	write   func(*Text) (rows int) // writes text where the table does not; may be nil
	facts   any                    // a struct or a map: JSON members before the rows; nil for none
	sum     any                    // the total in JSON; nil for none
	opening string                 // the line above the rows in text; may be empty
	closing func(rows int) string  // the line below the rows in text
	brief   func(rows int) []note  // returns the remarks of closing for one line, the most important first; nil: closing is printed in full
}

// A note is a remark below a table, in full and in fewer words.
type note struct{ full, short string }

// notes returns the remarks that fit on a line, in full as far as there is room, and mentions
// --verbose if something is left out.
func notes(list []note, width int) string {
	const more = " (--verbose)"
	list = slices.DeleteFunc(list, func(n note) bool { return n.full == "" })
	said := lists.Map(list, func(n note) string { return n.short })
	joined := func() string { return human.Joined(" · ", said...) }
	for i := len(said) - 1; i > 0 && terminal.Width(joined()+more) > width; i-- {
		said[i] = ""
	}
	for i, n := range list {
		if short := said[i]; short != "" {
			if said[i] = n.full; terminal.Width(joined()+more) > width {
				said[i] = short
			}
		}
	}
	left := slices.ContainsFunc(list, func(n note) bool { return !slices.Contains(said, n.full) })
	return joined() + human.When(left, more)
}

// Empty describes when there was something to report, for an answer whose time range has
// nothing.
type Empty struct {
	Since, Until time.Time // the end of Until is excluded; zero for none
	Last         time.Time // the last time without them; zero for never
}

// Nothing says when there was something to report; "" if there are rows or no time
// range.
func (a *Audit) Nothing(now time.Time) (string, error) {
	if a.Rows > 0 || a.Empty == nil {
		return "", nil
	}
	e, err := a.Empty()
	if err != nil || e == nil {
		return "", err
	}
	return e.Text(now), nil
}

// Text returns the description as a sentence.
func (e *Empty) Text(now time.Time) string {
	day := func(t time.Time) string {
		t = t.In(now.Location())
		switch {
		case now.Sub(t) < 24*time.Hour:
			return t.Format(minuteForm)
		case t.Year() == now.Year():
			return t.Format(dayForm)
		}
		return t.Format(dateForm)
	}
	line := "nothing from " + day(e.Since) + " to " + day(e.Until.Add(-1))
	switch {
	case e.Until.IsZero():
		line = "nothing since " + day(e.Since)
	case e.Since.IsZero():
		line = "nothing until " + day(e.Until.Add(-1))
	}
	if e.Last.IsZero() {
		return line + ", and nothing at any other time"
	}
	return line + "; last use " + e.Last.In(now.Location()).Format(dateForm)
}

func (a *Audit) JSON(j *JSON) {
	j.Stream(&Stream{
		Command: a.command, lead: a.facts, Name: "rows", Rows: a.table.values, broken: true,
		Tail: func(n int) any {
			a.Rows = n
			end := listedAbout(a.About)
			last := session.Time{}
			if n == 0 && a.Empty != nil {
				if e, err := a.Empty(); err != nil {
					end.Warnings = append(end.Warnings, err.Error())
				} else if e != nil {
					last.Time = e.Last
				}
			}
			return struct {
				Total    any             `json:"total,omitempty"`
				Last     session.Time    `json:"lastUsed,omitzero"` // without the times that leave nothing
				Coverage *audit.Coverage `json:"coverage"`
				search.About
			}{a.sum, last, &a.Coverage, end}
		},
	})
}

// SortBy sorts the rows by a column, and keeps the first ones; 0 for all. It returns the names of the columns, and
// whether this is one of them.
func (a *Audit) SortBy(column string, limit int) (columns []string, ok bool) {
	return a.table.sortBy(column, limit)
}

func (a *Audit) Sheet(Layout) table { return a.table }

func (a *Audit) Plain(p *Text) { a.Rows = p.records(a.table) }

// roomForPicture is the narrowest terminal with a picture above a table.
const roomForPicture = 60

// picture draws a chart with something to compare, if there is room for one.
func (t *Text) picture(c *chart.Chart) {
	if c == nil || !t.Charts || t.Width < roomForPicture || c.Bars() < 2 {
		return
	}
	lines := c.Text(t.Width)
	t.Print(t.Style(TitleStyle, lines[0]), "\n", strings.Join(lines[1:], "\n"), "\n\n")
}

func (a *Audit) Text(t *Text) {
	if a.opening != "" {
		t.Print(t.Folded(a.opening, t.Width), "\n")
	}
	t.picture(a.Picture)
	if a.write != nil {
		a.Rows = a.write(t)
	} else {
		a.Rows = t.table(a.table)
	}
	if t.Err != nil {
		return
	}
	line, err := a.Nothing(t.Now)
	t.Fail(err)
	if line == "" && a.brief != nil && !a.Verbose {
		list := append(a.brief(a.Rows), note{full: CoverageLine(&a.Coverage, t.Now.Location(), false), short: human.Plural(a.Coverage.Sessions, "session", "sessions")})
		t.Print(t.Folded(notes(list, t.Width), t.Width))
		return
	}
	if line == "" && a.closing != nil {
		line = a.closing(a.Rows)
	}
	t.Print(t.Folded(line, t.Width), t.Folded(CoverageLine(&a.Coverage, t.Now.Location(), a.Verbose), t.Width))
}

// CoverageLine says which sessions an audit covers and, with detail, what it does not count.
func CoverageLine(c *audit.Coverage, zone *time.Location, detail bool) string {
	return human.Joined(" · ",
		human.Plural(c.Sessions, "session", "sessions"),
		human.When(!c.First.IsZero(), c.First.In(zone).Format(minuteForm)+" to "+c.Last.In(zone).Format(minuteForm)),
		human.When(detail, human.Some(c.Copies, "entry copied by a fork counts once", "entries copied by forks count once")),
		human.When(detail, human.Some(c.SkippedLines, "unreadable line skipped", "unreadable lines skipped")),
		human.Some(c.Vanished, "file deleted since it was indexed", "files deleted since they were indexed"),
		human.Some(c.Changed, "file rewritten or grown since it was indexed", "files rewritten or grown since they were indexed"),
		human.Some(c.New, "file not indexed yet", "files not indexed yet"))
}

// csv writes comma-separated values. An apostrophe in front keeps a spreadsheet
// from running a cell as a formula.
func (a *Audit) csv(s *Sink) {
	out := csv.NewWriter(s)
	_ = out.Write(names(a.table)) // Error has it
	s.Fail(a.table.records(func(columns []string) error {
		a.Rows++
		for i, c := range columns {
			columns[i] = csvCell(c)
		}
		return out.Write(columns)
	}))
	out.Flush()
	s.Fail(out.Error())
}

// csvCell makes a cell safe: without control characters and no formula.
func csvCell(s string) string {
	s = terminal.Clean(s)
	if strings.IndexAny(s, "=+-@|%＝＋－＠") == 0 {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "'" + s
		}
	}
	return s
}

// IDTitle is the title of the column of session ids.
const IDTitle = "ID"

// keyColumns returns the columns of the dimensions that rows are grouped by. total is
// the row that covers all of them.
func keyColumns[T any](layout Layout, by []string, total *T, key func(*T) *audit.Key) []sheetColumn[T] {
	var columns []sheetColumn[T]
	labelled := false
	add := func(c column, text func(k *audit.Key) cell) {
		first := c.Title != "" && !labelled
		labelled = labelled || first
		columns = append(columns, sheetColumn[T]{c, func(r *T) cell {
			switch {
			case r != total:
				return text(key(r))
			case first:
				return cell{Text: "total"}
			}
			return cell{}
		}})
	}
	flex := slices.Index(by, "session") // its id stays when the title is cut
	if flex < 0 {
		flex = slices.IndexFunc(by, func(name string) bool { return !audit.IsPeriod(name) })
	}
	for i, name := range by {
		// Projects and models differ at the end.
		c := column{Name: name, Title: strings.ToUpper(name), Flex: i == flex, Left: name == "project" || name == "model", Key: true}
		switch name {
		case "block":
			add(c, layout.blockCell)
		case "session":
			c.Name = "session name"
			add(column{Name: "session path"}, func(k *audit.Key) cell { return textCell(k.SessionPath) })
			add(column{Name: "session id", Title: IDTitle}, func(k *audit.Key) cell { return layout.idCell(k.SessionID, k.SessionPath) })
			add(c, func(k *audit.Key) cell {
				return cell{Text: human.Title(k.SessionName), Plain: k.SessionName}
			})
		default:
			add(c, func(k *audit.Key) cell {
				switch value := k.Value(name); {
				case value == "":
					return cell{Text: "(none)"}
				case name == "project":
					return layout.pathCell(value)
				case name == "tool" && value == session.ShellTool:
					return cell{Text: "! (your own shell)", Plain: value}
				default:
					return textCell(value)
				}
			})
		}
	}
	return columns
}

// sessionsTitle returns the title of the column SESSIONS; "" hides it where each row is a
// session.
func sessionsTitle(by []string) string {
	return human.When(!slices.Contains(by, "session"), "SESSIONS")
}

// limited returns the first rows of a list; 0 means no limit.
func limited[T any](list []T, limit int) []T {
	if limit > 0 && limit < len(list) {
		return list[:limit]
	}
	return list
}

func shownOf(rows, all int, one, many string) string {
	return human.Plural(all, one, many) + human.When(rows < all, "; "+human.Number(rows)+" shown (more: -n)")
}

// atLeast returns what is written before a number that may be larger.
func atLeast(exact bool) string { return human.When(!exact, "at least ") }

// Grid is the table of an answer as texts, for front doors that lay it out themselves.
type Grid struct {
	Columns []GridColumn
	Rows    [][]string
	Total   []string // nil for none
}

type GridColumn struct {
	Title string
	Right bool // aligned
	Left  bool // cut at the beginning
}

// Grid returns the columns that text has on a terminal with room for all.
func (a *Audit) Grid() (*Grid, error) {
	g := &Grid{Columns: lists.Map(a.table.shownColumns(true), func(c column) GridColumn { return GridColumn{c.Title, c.Right, c.Left} })}
	texts := func(r *sheetRow) []string { return lists.Map(r.cells, func(c cell) string { return c.Text }) }
	err := a.table.eachRow(func(r *sheetRow) error {
		g.Rows = append(g.Rows, texts(r))
		return nil
	})
	if total := a.table.sum(); total != nil {
		g.Total = texts(total)
	}
	a.Rows = len(g.Rows)
	return g, err
}

// NewUsageAudit returns the answer of "usage". A limit of 0 means no limit. days is the same
// table grouped by day first, for Layout.TakesTrend; it may be nil.
// What was used recently stands above the table in text, and before it in JSON; nil for nothing.
func NewUsageAudit(t, days *audit.UsageTable, recent *audit.Recent, limit int, layout Layout) *Audit {
	type row = audit.UsageRow
	key := func(r *row) *audit.Key { return &r.Key }
	var byDay *trend
	if days != nil {
		byDay = newTrend(len(days.Rows), func(i int) (*audit.Key, float64) {
			r := &days.Rows[i]
			if t.Total.Cost > 0 {
				return &r.Key, r.Cost
			}
			return &r.Key, float64(r.Tokens)
		})
	}
	money := dollars{human.DollarsUpTo(t.Total.Cost)}
	columns := append(keyColumns(layout, t.By, &t.Total, key), []sheetColumn[row]{
		{column{Title: human.When(t.Total.Subagents > 0, "SUBAGENTS"), Right: true}, func(r *row) cell { // their number, and their share of the cost
			return cell{Text: human.When(r.Subagents > 0, fmt.Sprintf("%d: %s", r.Subagents, money.known(r.SubagentCost, r.SubagentCost > 0, 0)))}
		}},
		{column{Name: "input", Title: "INPUT", Right: true}, func(r *row) cell { return tokenCell(r.Input) }},
		{column{Name: "output", Title: "OUTPUT", Right: true}, func(r *row) cell { return tokenCell(r.Output) }},
		{column{Name: "cache read", Title: "CACHE READ", Right: true}, func(r *row) cell { return tokenCell(r.CacheRead) }},
		{column{Name: "cache write", Title: "CACHE WRITE", Right: true, Weak: true}, func(r *row) cell { return tokenCell(r.CacheWrite) }},
		{column{Name: "tokens"}, func(r *row) cell { return countCell(r.Tokens) }},
		{column{Name: "cost", Title: "COST", Right: true, Share: true}, func(r *row) cell {
			// Text shows when it is incomplete; in records an unknown cost is empty.
			c := money.cell(r.Cost)
			c.Text, c.Plain = money.known(r.Cost, r.HasCost(), r.Unpriced), human.When(r.HasCost(), c.Plain)
			return c
		}},
		{column{Name: "entries"}, func(r *row) cell { return countCell(r.Entries) }},
		{column{Name: "sessions", Title: sessionsTitle(t.By), Right: true}, func(r *row) cell { return countCell(r.Sessions) }},
		trendColumn(byDay, &t.Total, key),
		{column{Name: "unusable"}, func(r *row) cell { return countCell(r.Unusable) }},
		{column{Name: "unpriced"}, func(r *row) cell { return countCell(r.Unpriced) }},
		{column{Name: "filled in cost"}, func(r *row) cell { return money.cell(r.FilledCost) }},
		{column{Name: "subagents"}, func(r *row) cell { return countCell(r.Subagents) }},
		{column{Name: "subagent cost"}, func(r *row) cell { return money.cell(r.SubagentCost) }},
		{column{Name: "estimated cost"}, func(r *row) cell { return money.cell(r.ListedCost) }},
	}...)
	a := &Audit{
		command: "usage", table: &sheet[row]{columns: columns, rows: listed(limited(t.Rows, limit)), total: &t.Total}, sum: &t.Total,
		Covered: &t.Covered,
		Chart: func() *chart.Chart {
			drawn := *t
			drawn.Rows = limited(t.Rows, limit)
			return chart.Usage(&drawn, layout.Home)
		},
		facts: struct {
			TimeZone string            `json:"timeZone"`
			Sources  []audit.SourceRow `json:"sources"`
			Unpriced []string          `json:"unpricedModels"`
			Repeated int               `json:"repeatedResults"`
			Prices   string            `json:"listPricesOf,omitempty"`
			*audit.Recent
		}{t.TimeZone, List(t.Sources), List(t.Unpriced), t.Repeated, t.PricesOf, recent},
		LastUse: func() (time.Time, error) { return t.Total.Last.Time, nil },
	}
	if recent != nil && t.Total.Entries > 0 {
		a.opening = RecentLine(recent, "this week")
	}
	a.closing = func(rows int) string { return usageClosing(t, rows, money, layout.Now, a.Verbose) }
	a.brief = func(rows int) []note { return usageNotes(t, rows, layout.Now) }
	return a
}

// RecentLine returns what today and this week cost, or their tokens where no cost is known. It says what is
// estimated from list prices.
func RecentLine(r *audit.Recent, week string) string {
	amount := func(row *audit.UsageRow) string {
		switch {
		case row.Tokens == 0:
			return "$0"
		case row.HasCost():
			return dollars{human.Cents}.known(row.Cost, true, row.Unpriced)
		}
		return human.Short(row.Tokens) + " tokens"
	}
	estimated := human.When(r.Week.ListedCost > 0, human.Cents.Text(r.Week.ListedCost)+" of it estimated")
	if estimated != "" && r.Week.ListedCost == r.Week.Cost {
		estimated = "estimated"
	}
	return human.Joined(" · ", amount(&r.Today)+" today", amount(&r.Week)+" "+week, estimated)
}

// block returns when the block of a row began and when it ends.
func block(k *audit.Key) (start, end time.Time) {
	start, err := time.Parse(time.RFC3339, k.Block)
	if err != nil {
		return start, start
	}
	return start, start.Add(audit.BlockLength)
}

// blockCell returns a block: in text from when to when.
func (l Layout) blockCell(k *audit.Key) cell {
	start, end := block(k)
	if start.Equal(end) {
		return cell{Text: "(none)"}
	}
	zone := l.Now.Location()
	return cell{Text: start.In(zone).Format(minuteForm) + "–" + end.In(zone).Format("15:04"), Plain: k.Block}
}

// currentBlock says when the block ends that now is in; "" if there is none.
func currentBlock(t *audit.UsageTable, now time.Time) string {
	for i := range t.Rows {
		start, end := block(&t.Rows[i].Key)
		if left := int(end.Sub(now).Minutes()); !now.Before(start) && now.Before(end) {
			return fmt.Sprintf("the current block ends in %d:%02d h", left/60, left%60)
		}
	}
	return ""
}

// usageClosing says which sources the cost has, and what it lacks; in detail also what it does not count.
func usageClosing(t *audit.UsageTable, rows int, money dollars, now time.Time, detail bool) string {
	if t.Total.Entries == 0 && t.Coverage.Sessions > 0 {
		return "no use of tokens recorded"
	}
	var sources []string
	if len(t.Sources) > 1 {
		for _, source := range t.Sources {
			sources = append(sources, source.Source+" "+money.known(source.Cost, source.Cost > 0, source.Unpriced))
		}
	}
	return human.Joined(" · ",
		currentBlock(t, now),
		human.When(rows < len(t.Rows), shownOf(rows, len(t.Rows), "row", "rows")),
		strings.Join(sources, " · "),
		withoutPrice(t),
		human.When(t.Total.Filled > 0, money.Text(t.Total.FilledCost)+" of it from the file of prices"),
		t.Estimate(),
		human.When(detail, human.Some(t.Repeated, "result repeats the use of subagents, which counts once", "results repeat the use of subagents, which counts once")),
		human.Some(t.Total.Unusable, "entry has impossible figures (counted as 0)", "entries have impossible figures (counted as 0)"))
}

// usageNotes returns the remarks of usageClosing as notes, the most important first.
func usageNotes(t *audit.UsageTable, rows int, now time.Time) []note {
	same := func(text string) note { return note{text, text} }
	if t.Total.Entries == 0 && t.Coverage.Sessions > 0 {
		return []note{same("no use of tokens recorded")}
	}
	unpriced := note{withoutPrice(t), human.Some(len(t.Unpriced), "model without a price", "models without a price")}
	if !slices.ContainsFunc(t.Unpriced, func(m string) bool { return !strings.HasSuffix(m, audit.FasterTier) }) {
		unpriced.short = human.Some(len(t.Unpriced), "fast price unknown", "fast prices unknown")
	}
	return []note{
		same(currentBlock(t, now)), same(human.When(rows < len(t.Rows), fmt.Sprintf("%s of %s (-n)", human.Number(rows), human.Plural(len(t.Rows), "row", "rows")))),
		{t.Estimate(), strings.TrimPrefix(strings.Replace(t.Estimate(), " of the cost", "", 1), "cost ")}, unpriced,
		same(human.Some(t.Total.Unusable, "entry with impossible figures", "entries with impossible figures")),
		same(human.When(t.Total.Filled > 0, "with the file of prices")),
	}
}

// known formats a cost that may be unknown, or only a lower bound.
func (d dollars) known(cost float64, known bool, unpriced int) string {
	switch {
	case !known:
		return human.None
	case unpriced > 0:
		return "≥ " + d.Text(cost)
	}
	return d.Text(cost)
}

func withoutPrice(t *audit.UsageTable) string {
	models := slices.DeleteFunc(slices.Clone(t.Unpriced), func(m string) bool { return m == "" })
	line := human.Some(len(models), "model without a price", "models without a price")
	if line != "" {
		names := models[:min(len(models), namedModels)]
		line += ": " + terminal.Clean(strings.Join(names, ", ")) + human.When(len(names) < len(models), ", …") + " (--prices FILE)"
	}
	return human.Joined(" · ", line, human.When(len(models) < len(t.Unpriced), "entries without a price that name no model"))
}

const (
	trendWidth   = 24  // cells at most
	roomForTrend = 120 // the narrowest terminal with a trend
	namedModels  = 4   // how many models without a price are named
)

// TakesTrend reports whether an answer with these dimensions has a column that needs the
// rows by day: where there is room, and rows are not periods themselves.
func (l Layout) TakesTrend(by []string) bool {
	return l.Charts && l.Width >= roomForTrend && !slices.ContainsFunc(by, audit.IsPeriod)
}

// trend is the values of each row by day, as lines of small bars. Each line has the scale
// of its largest value.
type trend struct {
	days  int // that a bar stands for
	lines map[string][]float64
	total []float64
}

// newTrend makes a trend of n rows that are grouped by day first; nil for a single day.
func newTrend(n int, row func(int) (*audit.Key, float64)) *trend {
	at := make([]int, n) // days of some calendar
	for i := range n {
		k, _ := row(i)
		day, err := time.Parse(time.DateOnly, k.Day)
		if err != nil {
			return nil
		}
		at[i] = int(day.Unix() / (24 * 60 * 60))
	}
	if n == 0 || slices.Min(at) == slices.Max(at) {
		return nil
	}
	first, all := slices.Min(at), slices.Max(at)-slices.Min(at)+1
	t := &trend{days: (all + trendWidth - 1) / trendWidth, lines: make(map[string][]float64)}
	bars := (all + t.days - 1) / t.days
	t.total = make([]float64, bars)
	for i := range n {
		k, v := row(i)
		id := rowID(k)
		if t.lines[id] == nil {
			t.lines[id] = make([]float64, bars)
		}
		bar := (at[i] - first) / t.days
		t.lines[id][bar] += v
		t.total[bar] += v
	}
	return t
}

// rowID identifies a row by its dimensions, the day left out.
func rowID(k *audit.Key) string {
	whole := *k
	whole.Day = ""
	return strings.Join(whole.Values(slices.Concat(audit.CallDimensions, audit.UsageDimensions)), "\x00")
}

// trendColumn returns the column of a trend; of nil one that is not shown.
func trendColumn[T any](t *trend, total *T, key func(*T) *audit.Key) sheetColumn[T] {
	if t == nil {
		return sheetColumn[T]{column{}, func(*T) cell { return cell{} }}
	}
	title := "BY DAY"
	if t.days > 1 {
		title = fmt.Sprintf("BY %d DAYS", t.days)
	}
	return sheetColumn[T]{column{Title: title, From: roomForTrend}, func(r *T) cell {
		if r == total {
			return cell{Text: sparkline(t.total)}
		}
		return cell{Text: sparkline(t.lines[rowID(key(r))])}
	}}
}

// sparkline draws values as small bars, and nothing as a dot.
func sparkline(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	most := slices.Max(values)
	return string(lists.Map(values, func(v float64) rune {
		if v <= 0 {
			return '·'
		}
		return []rune("▁▂▃▄▅▆▇█")[min(int(8*v/most), 7)]
	}))
}
