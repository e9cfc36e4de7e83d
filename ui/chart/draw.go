package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/terminal"
)

type drawing struct {
	*Chart
	Title  string
	Style  template.HTML
	Class  string // axis: with room for one; low: of a low chart
	Width  string // at most
	Height int    // of the plot

	Lines  []line
	Groups []group
	Texts  []text
	Legend []legendEntry
	Table  *table
}

// line is a horizontal line of the grid, with its value.
type line struct {
	Y    string
	Text string
}

// group is the marks of a label, which may lead somewhere.
type group struct {
	Link  string
	Marks []mark
}

// mark is a rectangle.
type mark struct {
	X, Y, Width, Height string
	Class               string
	Value               string // exact
	Title               string
}

type text struct {
	X, Y, Class, Text string
}

// legendEntry is an entry of a legend, which is one line. Pages make it a list of links, and files draw what fits.
type legendEntry struct {
	Class, Text, Link string
	X                 int // in a file; -1 if it does not fit
}

// table has the numbers of a chart.
type table struct {
	Head []string
	Rows []tableRow
}

type tableRow struct {
	Link  string // "" for none
	Cells []string
}

// Measures in pixels.
const (
	barsHeight   = 180
	lowHeight    = 48
	lowAxis      = 32 // as in the style sheet
	above        = 14 // for the value at the top of the axis
	below        = 26 // for the labels under it
	rankHeight   = 36
	cellHeight   = 14
	yearHeight   = 7*cellHeight + 40
	legendHeight = 20
)

const (
	longestName = 44 // cells
	mostYears   = 12 // that a calendar shows: the latest
	mostTicks   = 6
	leastSlots  = 24 // of a low chart, so that its labels have room
	slotWidth   = 28 // of a low chart
)

func (c *Chart) draw() (*drawing, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	d := &drawing{Chart: c, Width: "100%", Title: clean(c.Title), Style: template.HTML("<style>\n" + Style() + "</style>"), Table: c.table()}
	d.Class = human.When(c.Kind != Ranking, "axis")
	switch c.Kind {
	case Bars:
		d.bars()
	case Calendar:
		d.calendar()
	case Ranking:
		d.ranking()
	}
	return d, nil
}

// class returns the colour of a series.
func (c *Chart) class(series int) string {
	if c.Series[series].Failed {
		return "failed"
	}
	return "c" + strconv.Itoa(series%colours)
}

// colours is how many the style sheet has.
const colours = 8

// percent returns a position or a width.
func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 3, 64) + "%" }

func pixels(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// title describes the value of a label in a series.
func (c *Chart) title(label, series int, most float64) string {
	s, value := longLabel(c.Labels[label]), c.Unit.text(c.Series[series].Values[label], most)
	if len(c.Series) == 1 {
		return s + ": " + value
	}
	return s + " · " + clean(c.Series[series].Name) + ": " + value + " of " + c.Unit.text(c.sum(label), most)
}

func (c *Chart) link(label int) string {
	if c.Links == nil {
		return ""
	}
	return c.Links[label]
}

// bars draws a stack for each label, the first series at the bottom.
func (d *drawing) bars() {
	height := float64(barsHeight)
	most := d.largestSum()
	step, steps := d.Unit.axis(most)
	top := step * float64(steps)
	if d.Low {
		d.Class, height = "axis low", lowHeight
		d.Width = strconv.Itoa(int(d.slots())*slotWidth + lowAxis)
		step, steps = top, 1
	}
	for i := range steps + 1 {
		v := step * float64(i)
		d.Lines = append(d.Lines, line{pixels(above + height*(1-v/top)), d.Unit.tick(v, step)})
	}
	n := d.slots()
	gap := 0.2 / n
	switch {
	case n > 120:
		gap = 0
	case n < 8:
		gap = 0.5 / n
	}
	for i := range d.Labels {
		if d.sum(i) == 0 {
			continue
		}
		at, g := 0.0, group{Link: d.link(i)}
		if g.Link != "" { // a low bar can be clicked like a high one
			g.Marks = append(g.Marks, mark{percent(float64(i) / n), pixels(above), percent(1 / n), pixels(height), "room", "", longLabel(d.Labels[i]) + ": " + d.Unit.text(d.sum(i), most)})
		}
		for k, s := range d.Series {
			v := s.Values[i]
			if v == 0 {
				continue
			}
			tall := max(height*v/top, 1)
			drawn := tall
			if at > 0 && tall > 2 { // a line between the bars of a stack
				drawn--
			}
			g.Marks = append(g.Marks, mark{
				percent(float64(i)/n + gap/2), pixels(above + height - at - tall), percent(1/n - gap), pixels(drawn), d.class(k), exact(v), d.title(i, k, most),
			})
			at += tall
		}
		d.Groups = append(d.Groups, g)
	}
	d.periods(above + height + 17)
	d.Height = above + int(height) + below
	d.legend()
}

// slots returns how many bars have room side by side.
func (d *drawing) slots() float64 {
	if d.Low {
		return float64(max(len(d.Labels), leastSlots))
	}
	return float64(len(d.Labels))
}

// periods writes the first periods of equal steps at y, below the axis.
func (d *drawing) periods(y float64) {
	n := d.slots()
	every := max((int(n)+mostTicks-1)/mostTicks, 1)
	for i := 0; i < len(d.Labels); i += every {
		middle, class, before := (float64(i)+0.5)/n, "", ""
		switch {
		case len(d.Labels) > 1 && middle < 0.06:
			class, middle = "start", float64(i)/n
		case len(d.Labels) > 1 && middle > 0.94:
			class, middle = "end", float64(i+1)/n
		}
		if i >= every {
			before = d.Labels[i-every]
		}
		class = human.Joined(" ", class, human.When(i/every%2 == 1 && int(n) > mostTicks/2, "minor"))
		d.Texts = append(d.Texts, text{percent(middle), pixels(y), class, clean(shortLabel(d.Labels[i], before))})
	}
}

// legend names the series below the plot. Of a name with a provider it has the last element.
func (d *drawing) legend() {
	if len(d.Series) < 2 {
		return
	}
	total := d.total()
	for k, s := range d.Series {
		name := clean(s.Name)
		name = name[strings.LastIndexByte(name, '/')+1:]
		d.explain(d.class(k), terminal.Clip(name, longestName)+" · "+d.Unit.text(s.sum(), total), s.Link)
	}
}

// explain adds an entry to the legend.
func (d *drawing) explain(class, text, link string) {
	x := 0
	if n := len(d.Legend); n > 0 {
		before := d.Legend[n-1]
		if x = before.X + 40 + 7*terminal.Width(before.Text); before.X < 0 || x+16+7*terminal.Width(text) > d.Inner() {
			x = -1
		}
	}
	d.Legend = append(d.Legend, legendEntry{class, text, link, x})
}

// ranking draws a line of text for each label, with a bar below it.
func (d *drawing) ranking() {
	most := d.largestSum()
	for i, label := range d.Labels {
		y := float64(i * rankHeight)
		d.Texts = append(d.Texts,
			text{"0%", pixels(y + 13), "name", terminal.Clip(clean(label), longestName)},
			text{"100%", pixels(y + 13), "end", d.Unit.text(d.sum(i), most)})
		at, g := 0.0, group{Link: d.link(i)}
		for k, s := range d.Series {
			v := s.Values[i]
			if v == 0 {
				continue
			}
			wide := min(max(v/most, 0.002), 1)
			g.Marks = append(g.Marks, mark{percent(at), pixels(y + 19), percent(wide), "10", d.class(k), exact(v), d.title(i, k, most)})
			at += wide
		}
		if len(g.Marks) > 0 {
			d.Groups = append(d.Groups, g)
		}
	}
	d.Height = max(1, len(d.Labels)) * rankHeight
	if d.others > 0 {
		y := pixels(float64(d.Height + 13))
		d.Texts = append(d.Texts, text{"0%", y, "start", d.othersName()}, text{"100%", y, "end", d.Unit.text(d.othersSum, most)})
		d.Height += legendHeight
	}
	d.legend()
}

// othersName says how many labels are left out.
func (c *Chart) othersName() string { return human.Plural(c.others, "other", "others") }

// calendar draws a block for each year: a column for each week, a cell for each day.
func (d *drawing) calendar() {
	const columns = 54
	days := make(map[string]int, len(d.Labels))
	years := make(map[int]bool)
	var values []float64
	for i, label := range d.Labels {
		span, form := parsePeriod(label)
		if v := d.sum(i); form == "day" && v > 0 {
			days[label], years[span.Start.Year()] = i, true
			values = append(values, v)
		}
	}
	slices.Sort(values)
	var levels []float64 // the largest value of each quarter of the days
	for q := 1; q <= 4 && len(values) > 0; q++ {
		levels = append(levels, values[(q*len(values)+3)/4-1])
	}
	levels = slices.Compact(levels)
	list := slices.Sorted(maps.Keys(years))
	list = list[max(0, len(list)-mostYears):]
	for _, year := range list {
		top := float64(d.Height)
		d.Texts = append(d.Texts, text{"-8", pixels(top + 12), "end year", strconv.Itoa(year)})
		for i, name := range []string{"Mon", "Wed", "Fri"} {
			d.Texts = append(d.Texts, text{"-8", pixels(top + 20 + float64(2*i*cellHeight) + 10), "end", name})
		}
		first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		before := (int(first.Weekday()) + 6) % 7 // days of the first week in the year before
		for t := first; t.Year() == year; t = t.AddDate(0, 0, 1) {
			at := t.YearDay() - 1 + before
			x, row := float64(at/7)/columns, at%7
			if t.Day() == 1 {
				d.Texts = append(d.Texts, text{percent(x), pixels(top + 12), "month" + human.When(t.Month()%2 == 0, " minor"), t.Format("Jan")})
			}
			m := mark{X: percent(x), Y: pixels(top + 20 + float64(row*cellHeight)), Width: percent(0.84 / columns), Height: strconv.Itoa(cellHeight - 2), Class: "l0"}
			i, used := days[t.Format(time.DateOnly)]
			if !used {
				d.Groups = append(d.Groups, group{Marks: []mark{m}})
				continue
			}
			v := d.sum(i)
			level, _ := slices.BinarySearch(levels, v) // the last level is the largest value
			m.Class, m.Value, m.Title = "l"+strconv.Itoa(level+1), exact(v), longLabel(d.Labels[i])+": "+d.Unit.text(v, values[len(values)-1])
			d.Groups = append(d.Groups, group{Link: d.link(i), Marks: []mark{m}})
		}
		d.Height += yearHeight
	}
	for k, most := range levels {
		d.explain("l"+strconv.Itoa(k+1), "≤ "+d.Unit.text(most, values[len(values)-1]), "")
	}
}

// table returns the labels that have a value. A value is as exact as in a title.
func (c *Chart) table() *table {
	cells := func(first string, of func(s Series) string, total string) []string {
		list := append([]string{first}, lists.Map(c.Series, of)...)
		if len(c.Series) > 1 {
			list = append(list, total)
		}
		return list
	}
	t := &table{Head: cells(c.Head, func(s Series) string { return cmp.Or(clean(s.Name), "total") }, "total")}
	most := c.largestSum()
	for i, label := range c.Labels {
		if sum := c.sum(i); sum > 0 {
			value := func(s Series) string { return c.Unit.text(s.Values[i], most) }
			t.Rows = append(t.Rows, tableRow{c.link(i), cells(clean(label), value, c.Unit.text(sum, most))})
		}
	}
	if c.others > 0 {
		cells := make([]string, len(t.Head))
		cells[0], cells[len(cells)-1] = c.othersName(), c.Unit.text(c.othersSum, most)
		t.Rows = append(t.Rows, tableRow{"", cells})
	}
	return t
}

// FileHeight returns the height of the file, with margins and the title.
func (d *drawing) FileHeight() int { return d.Height + 68 + min(len(d.Legend), 1)*legendHeight }

// LegendY returns where the legend of a file stands.
func (d *drawing) LegendY() int { return d.Height + 4 }

// Left returns where the plot begins in a file: beside its axis, if it has one. On a page the
// style sheet says that.
func (d *drawing) Left() int {
	if d.Class == "axis" {
		return margin + 52
	}
	return margin
}

// Inner returns the width of the plot in a file.
func (d *drawing) Inner() int { return 760 - margin - d.Left() }

const margin = 20

// Summary says in a few words what a chart shows, for those who do not see it.
func (d *drawing) Summary() string {
	if d.Empty() {
		return d.Title + ": nothing"
	}
	total, most := d.total(), d.largestSum()
	at := 0
	for d.sum(at) < most {
		at++
	}
	return fmt.Sprintf("%s: %s in all, most at %s: %s", d.Title, d.Unit.text(total, total), longLabel(d.Labels[at]), d.Unit.text(most, total))
}
