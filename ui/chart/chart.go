// Package chart draws charts as SVG: bars over time, a calendar of days and a ranking. It
// draws them for a page (HTML) or as a file of their own (Write).
//
// Positions across are percentages and positions down are pixels, so a chart fits a
// phone and a wide window while its text keeps its size. Colours are classes of the style
// sheet, for light and dark; there are no inline styles, which the policies of our pages
// forbid. Each value has a title, and data-value is the exact number. On a page the same
// numbers follow as a table, which has the links of the chart for those who cannot point.
//
// Names come from session files and are treated as hostile: control characters are
// dropped and html/template escapes the rest.
package chart

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/internal/timespec"
	"pigrep/query/audit"
	"pigrep/query/facets"
)

// Begin is what each chart in a file of its own begins with.
const Begin = `<svg xmlns="http://www.w3.org/2000/svg" class="chart file"`

// Kind is a way to draw numbers.
type Kind int

// The kinds of charts.
const (
	Bars     Kind = iota // a stack of bars for each period
	Calendar             // a cell for each day, darker with the sum of its values
	Ranking              // a line for each label, with a bar across
)

// Chart is the numbers to draw: a row for each label, a column for each series.
type Chart struct {
	Kind   Kind
	Low    bool // as a histogram above a list
	Title  string
	Unit   Unit
	Head   string   // what labels are: day, model, …
	Labels []string // periods in the form of audits, in order; of a ranking any names
	Series []Series
	Links  []string // where labels lead; nil for nowhere

	others    int // labels that Top left out
	othersSum float64
}

// Series is a value for each label.
type Series struct {
	Name   string // in the legend; a chart of one series needs none
	Link   string // where the legend leads on a page; "" for nowhere
	Failed bool   // in the colour of errors
	Values []float64
}

// largest is the largest sum that is drawn: what int64 can count.
const largest = 1e18

// check fails for numbers that cannot be drawn.
func (c *Chart) check() error {
	if c.Links != nil && len(c.Links) != len(c.Labels) {
		return fmt.Errorf("chart %q: %d links for %d labels", c.Title, len(c.Links), len(c.Labels))
	}
	for _, s := range c.Series {
		if len(s.Values) != len(c.Labels) {
			return fmt.Errorf("chart %q: %d values of %q for %d labels", c.Title, len(s.Values), s.Name, len(c.Labels))
		}
		for i, v := range s.Values {
			if v < 0 || math.IsNaN(v) || c.sum(i) > largest {
				return fmt.Errorf("chart %q: %v of %q at %s cannot be drawn", c.Title, v, s.Name, c.Labels[i])
			}
		}
	}
	return nil
}

func (c *Chart) sum(label int) (sum float64) {
	for _, s := range c.Series {
		sum += s.Values[label]
	}
	return sum
}

func (s Series) sum() (sum float64) {
	for _, v := range s.Values {
		sum += v
	}
	return sum
}

// largestSum returns the largest sum.
func (c *Chart) largestSum() (most float64) {
	for i := range c.Labels {
		most = max(most, c.sum(i))
	}
	return most
}

// total returns the sum of all values.
func (c *Chart) total() (total float64) {
	for i := range c.Labels {
		total += c.sum(i)
	}
	return total + c.othersSum
}

// Bars returns how many labels have a value.
func (c *Chart) Bars() (n int) {
	for i := range c.Labels {
		if c.sum(i) > 0 {
			n++
		}
	}
	return n
}

// Empty reports whether there is nothing to see.
func (c *Chart) Empty() bool { return c.largestSum() == 0 }

// Fold sorts the series, the largest first, leaves out those without a value, and joins
// those after the first n into one.
func (c *Chart) Fold(n int) {
	lists.SortStable(c.Series, func(a, b Series) int { return cmp.Compare(b.sum(), a.sum()) })
	for len(c.Series) > 1 && c.Series[len(c.Series)-1].sum() == 0 {
		c.Series = c.Series[:len(c.Series)-1]
	}
	if len(c.Series) <= n {
		return
	}
	rest := Series{Name: fmt.Sprintf("%d others", len(c.Series)-n+1), Values: make([]float64, len(c.Labels))}
	for _, s := range c.Series[n-1:] {
		for i, v := range s.Values {
			rest.Values[i] += v
		}
	}
	c.Series = append(c.Series[:n-1:n-1], rest)
}

// ColourLike gives the series that another chart has too their colours there.
func (c *Chart) ColourLike(other *Chart) {
	at := func(s Series) int {
		if i := slices.IndexFunc(other.Series, func(o Series) bool { return o.Name == s.Name }); i >= 0 {
			return i
		}
		return len(other.Series)
	}
	lists.SortStable(c.Series, func(a, b Series) int { return at(a) - at(b) })
}

var (
	//go:embed chart.html
	source string
	//go:embed chart.css
	styleSource string

	templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(source)) })
)

func Style() string { return styleSource }

// HTML draws a chart as a part of a page.
func (c *Chart) HTML() (template.HTML, error) {
	d, err := c.draw()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = templates().ExecuteTemplate(&b, "figure", d)
	return template.HTML(b.String()), err
}

// Write writes a chart as an SVG file.
func (c *Chart) Write(w io.Writer) error {
	d, err := c.draw()
	if err != nil {
		return err
	}
	return templates().ExecuteTemplate(w, "file", d)
}

// clean makes a name safe to show, also in XML, which has no place for some characters.
func clean(name string) string { return notInXML.Replace(terminal.Clean(name)) }

var notInXML = strings.NewReplacer("\ufffe", "", "\uffff", "")

const (
	mostSeries  = colours
	mostRanked  = 40   // labels of a ranking
	mostPeriods = 1500 // that are filled in where nothing happened
)

// names writes the values of dimensions for a chart.
type names struct {
	by   []string
	home string // written ~
}

// Usage draws the rows of usage: over time if they are grouped by a period first, else as a
// ranking. It draws the cost, or the tokens where no cost is known.
func Usage(t *audit.UsageTable, home string) *Chart {
	if t.Total.Cost == 0 {
		return UsedTokens(t, home)
	}
	c := newRows(names{t.By, home}, t.Rows, usageKey, []string{""}, func(r *audit.UsageRow, _ int) float64 { return r.Cost })
	c.Unit, c.Title = Dollars, "Cost"+c.Title
	return c
}

// UsedTokens is like Usage for tokens, whether or not a cost is known.
func UsedTokens(t *audit.UsageTable, home string) *Chart {
	c := newRows(names{t.By, home}, t.Rows, usageKey, []string{""}, func(r *audit.UsageRow, _ int) float64 { return float64(r.Tokens) })
	c.Unit, c.Title = Tokens, "Tokens"+c.Title
	return c
}

func usageKey(r *audit.UsageRow) *audit.Key { return &r.Key }

// Tools draws the rows of tools: calls over time if they are grouped by a period first,
// else a ranking. Where there is room for it, failed calls have a colour of their own.
func Tools(t *audit.ToolTable, home string) *Chart {
	parts := []string{"without error", "failed"}
	if len(t.By) > 1 && isPeriod(t.By[0]) {
		parts = []string{""}
	}
	c := newRows(names{t.By, home}, t.Rows, func(r *audit.ToolRow) *audit.Key { return &r.Key }, parts, func(r *audit.ToolRow, part int) float64 {
		failed := min(r.Errors, r.Calls)
		switch {
		case part == 1:
			return float64(failed)
		case len(parts) == 2:
			return float64(r.Calls - failed)
		}
		return float64(r.Calls)
	})
	for i := range c.Series {
		c.Series[i].Failed = c.Series[i].Name == "failed" && len(parts) == 2
	}
	c.Title = "Calls" + c.Title
	return c
}

// newRows returns a chart of the rows of a table. Each row has a value for each of the
// parts. There is only one part if the series are values of a dimension.
func newRows[T any](n names, rows []T, key func(*T) *audit.Key, parts []string, value func(row *T, part int) float64) *Chart {
	c, period := &Chart{Kind: Ranking, Head: n.by[0]}, n.by[0]
	c.Title = " by " + strings.Join(n.by, " and ")
	if isPeriod(period) {
		c.Kind = Bars
		periods := make(map[string]bool)
		for i := range rows {
			periods[n.value(key(&rows[i]), period)] = true
		}
		c.Labels = filled(slices.Sorted(maps.Keys(periods)))
		n.by = n.by[1:]
	} else {
		for i := range rows {
			c.Labels = append(c.Labels, n.nameOf(key(&rows[i])))
		}
	}
	series := make(map[string]int)
	for i := range rows {
		k, at := key(&rows[i]), i
		if c.Kind == Bars {
			at, _ = slices.BinarySearch(c.Labels, n.value(k, period))
		}
		for part, name := range parts {
			if c.Kind == Bars && len(n.by) > 0 {
				name = n.nameOf(k)
			}
			s, ok := series[name]
			if !ok {
				s = len(c.Series)
				series[name] = s
				c.Series = append(c.Series, Series{Name: name, Values: make([]float64, len(c.Labels))})
			}
			c.Series[s].Values[at] += value(&rows[i], part)
		}
	}
	if c.Kind == Ranking {
		c.Top(mostRanked, 0)
	} else if len(n.by) > 0 {
		c.Fold(mostSeries)
	}
	return c
}

// Top keeps at most n labels of a ranking, and at least one: the first ones, as long as they
// have this share of the total. The others are counted below them, without a bar, which could
// be longer than all.
func (c *Chart) Top(n int, share float64) {
	n = min(n, len(c.Labels))
	for least := share * c.total(); n > 1 && c.sum(n-1) < least; {
		n--
	}
	if len(c.Labels) <= n {
		return
	}
	for i := n; i < len(c.Labels); i++ {
		c.others++
		c.othersSum += c.sum(i)
	}
	c.Labels = c.Labels[:n]
	for i := range c.Series {
		c.Series[i].Values = c.Series[i].Values[:n]
	}
}

// nameOf joins the values of the dimensions of a row.
func (n names) nameOf(k *audit.Key) string {
	return strings.Join(lists.Map(n.by, func(by string) string { return n.value(k, by) }), " · ")
}

func (n names) value(k *audit.Key, by string) string {
	v := cmp.Or(k.Value(by), "(none)")
	switch by {
	case "project":
		return human.Path(v, n.home)
	case "session":
		return human.Title(cmp.Or(k.SessionName, session.Handle(k.SessionID, k.SessionPath)))
	}
	return v
}

// isPeriod reports whether a dimension is a period of the calendar.
func isPeriod(by string) bool { return audit.IsPeriod(by) && by != "block" }

// filled adds the missing periods to a sorted list, unless there are too many.
func filled(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	at, form := parsePeriod(list[0])
	last, _ := parsePeriod(list[len(list)-1])
	if form == "" || last.Start.IsZero() {
		return list
	}
	var all []string
	for !at.Start.After(last.Start) {
		if all = append(all, periodOf(at.Start, form)); len(all) > mostPeriods {
			return list
		}
		at, _ = parsePeriod(periodOf(at.End.Add(1), form))
	}
	return all
}

// periodOf returns the name of the period that begins on a day.
func periodOf(t time.Time, form string) string {
	switch form {
	case "week":
		year, week := t.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case "month":
		return t.Format("2006-01")
	}
	return t.Format(time.DateOnly)
}

// PeriodFor returns the dimension that cuts a span of time into bars that can be told apart: day,
// week or month.
func PeriodFor(first, last time.Time) string {
	switch days := last.Sub(first).Hours() / 24; {
	case days <= 92:
		return "day"
	case days <= 2*366:
		return "week"
	}
	return "month"
}

// Hits draws the hits of a query over time, low enough to stand above a list of them.
func Hits(days []facets.Day) *Chart {
	if len(days) == 0 {
		return &Chart{Kind: Bars, Low: true, Title: "Hits"}
	}
	by := PeriodFor(days[0].Start, days[len(days)-1].Start)
	hits := make(map[string]float64)
	for _, d := range days {
		hits[periodOf(d.Start, by)] += float64(d.Hits)
	}
	labels := filled(slices.Sorted(maps.Keys(hits)))
	values := lists.Map(labels, func(label string) float64 { return hits[label] })
	return &Chart{Kind: Bars, Low: true, Title: "Hits by " + by, Head: by, Labels: labels, Series: []Series{{Name: "hits", Values: values}}}
}

// Unit is what values count.
type Unit int

// The units.
const (
	Count Unit = iota
	Tokens
	Dollars
)

// text writes a value exactly enough to be read beside others up to most.
func (u Unit) text(v, most float64) string {
	switch u {
	case Dollars:
		return human.DollarsUpTo(most).Text(v)
	case Tokens:
		return human.Short(int64(math.Round(v)))
	}
	return human.Number(int64(math.Round(v)))
}

// tick writes a round value of an axis whose ticks are step apart.
func (u Unit) tick(v, step float64) string {
	switch {
	case u == Dollars && v == 0:
		return "$0"
	case u == Dollars && step < 1:
		return "$" + strconv.FormatFloat(v, 'f', max(2, int(math.Ceil(-math.Log10(step)-1e-9))), 64)
	}
	s, letter := v, ""
	for _, l := range []string{"k", "M", "B", "T"} {
		if v < 10_000 && u == Count || s < 1000 {
			break
		}
		s, letter = s/1000, l
	}
	text := strconv.FormatFloat(s, 'f', -1, 64) + letter
	if letter == "" {
		text = human.Number(int64(v))
	}
	if u == Dollars {
		text = "$" + text
	}
	return text
}

// mostSteps is how many steps an axis has at most.
const mostSteps = 4

// axis returns the distance of round ticks, 1, 2 or 5 times a power of ten, and how many
// steps there are from 0 to most or above it.
func (u Unit) axis(most float64) (step float64, steps int) {
	if most <= 0 {
		return 1, 1
	}
	power := math.Floor(math.Log10(most / mostSteps))
	if u != Dollars {
		power = max(power, 0)
	}
	power = max(power, -9)
	for ; ; power++ {
		for _, m := range []float64{1, 2, 5} {
			if step = m * math.Pow(10, power); step*mostSteps >= most*(1-1e-9) {
				return step, max(1, int(math.Ceil(most/step-1e-9)))
			}
		}
	}
}

// The forms of periods in a chart.
const (
	dayForm   = "2 Jan"
	dateForm  = "2 Jan 2006"
	monthForm = "Jan 2006"
)

// shortLabel returns a label below an axis, with the year where it begins. A week is its Monday.
func shortLabel(label, before string) string {
	span, form := parsePeriod(label)
	other, _ := parsePeriod(before)
	sameYear := span.Start.Year() == other.Start.Year()
	switch {
	case form == "":
		return label
	case form == "month" && sameYear:
		return span.Start.Format("Jan")
	case form == "month":
		return span.Start.Format(monthForm)
	case sameYear:
		return span.Start.Format(dayForm)
	}
	return span.Start.Format(dateForm)
}

// longLabel returns a label that is read alone.
func longLabel(label string) string {
	switch span, form := parsePeriod(label); form {
	case "day":
		return span.Start.Format(dateForm)
	case "week":
		return "week of " + span.Start.Format(dateForm)
	case "month":
		return span.Start.Format(monthForm)
	}
	return clean(label)
}

// parsePeriod returns the time of a period, and whether it is a day, week or month; "" for any
// other label.
func parsePeriod(label string) (timespec.Span, string) {
	form, known := map[int]string{len("2006-01-02"): "day", len("2006-W01"): "week", len("2006-01"): "month"}[len(label)]
	if known {
		if span, err := timespec.Parse(label, time.Time{}); err == nil && periodOf(span.Start, form) == label {
			return span, form
		}
	}
	return timespec.Span{}, ""
}

// Span returns the first day of a period and the day after its last; zero times for any
// other label.
func Span(label string) (first, end time.Time) {
	span, form := parsePeriod(label)
	if form == "" {
		return first, end
	}
	return span.Start, span.End.Add(1)
}
