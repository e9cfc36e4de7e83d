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
	"math"
	"slices"
	"strings"
	"sync"

	"pigrep/internal/terminal"
)

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

// sum is the sum of the values of a label.
func (c *Chart) sum(label int) (sum float64) {
	for _, s := range c.Series {
		sum += s.Values[label]
	}
	return sum
}

// sum is the sum of all values.
func (s Series) sum() (sum float64) {
	for _, v := range s.Values {
		sum += v
	}
	return sum
}

// most is the largest sum.
func (c *Chart) most() (most float64) {
	for i := range c.Labels {
		most = max(most, c.sum(i))
	}
	return most
}

// total is the sum of all values.
func (c *Chart) total() (total float64) {
	for i := range c.Labels {
		total += c.sum(i)
	}
	return total + c.othersSum
}

// Bars is how many labels have a value.
func (c *Chart) Bars() (n int) {
	for i := range c.Labels {
		if c.sum(i) > 0 {
			n++
		}
	}
	return n
}

// Empty reports whether there is nothing to see.
func (c *Chart) Empty() bool { return c.most() == 0 }

// Fold sorts the series, the largest first, leaves out those without a value, and joins
// those after the first n into one.
func (c *Chart) Fold(n int) {
	slices.SortStableFunc(c.Series, func(a, b Series) int { return cmp.Compare(b.sum(), a.sum()) })
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
	slices.SortStableFunc(c.Series, func(a, b Series) int { return at(a) - at(b) })
}

var (
	//go:embed chart.html
	source string
	//go:embed chart.css
	styleSource string

	templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(source)) })
)

// Style is the style sheet that a page with charts has to contain.
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
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0xfffe && r <= 0xffff {
			return -1
		}
		return r
	}, terminal.Clean(name))
}
