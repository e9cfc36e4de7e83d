package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/ui/html"
	"pigrep/query/facets"
	"pigrep/query/syntax"
	"pigrep/query/words"
)

// distribution is the data of the template "facets": the hits by time and by the values of
// fields. Each value links to the query with that filter added, or removed if the query
// already has it.
type distribution struct {
	Time   *histogram
	Groups []facetGroup
	Chosen int // number of values that the query filters by
}

type facetGroup struct {
	Title string
	First []facetLink
	Rest  []facetLink // behind a disclosure triangle
}

type facetLink struct {
	link
	Hits   string
	Chosen bool
}

// mostFacets is the number of values of a field that are shown without a click.
const mostFacets = 6

const dayForm = "2006-01-02"

// distribution counts the hits of a query.
func (s *Server) distribution(ctx context.Context, a asked, redact bool) (*distribution, error) {
	res, err := s.Facets(ctx, s.request(a, redact))
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return &distribution{}, nil
	}
	if err != nil {
		return nil, err
	}
	d := &distribution{Time: newHistogram(a, res.Days)}
	for _, f := range res.Fields {
		d.add(f.Name, valuesOf(a, f))
	}
	d.add("month", monthsOf(a, res.Days))
	return d, nil
}

func (d *distribution) add(title string, list []facetLink) {
	if len(list) == 0 {
		return
	}
	for _, l := range list {
		if l.Chosen {
			d.Chosen++
		}
	}
	// Chosen values come first, so that they are always visible.
	slices.SortStableFunc(list, func(a, b facetLink) int {
		switch {
		case a.Chosen == b.Chosen:
			return 0
		case a.Chosen:
			return -1
		}
		return 1
	})
	n := min(mostFacets, len(list))
	d.Groups = append(d.Groups, facetGroup{title, list[:n], list[n:]})
}

func valuesOf(a asked, f facets.Field) (list []facetLink) {
	had := syntax.FieldValues(a.Text, f.Name)
	for _, v := range f.Values {
		l := facetLink{link: link{Text: html.Line(v.Name)}, Hits: human.Number(v.Hits), Chosen: slices.Contains(had, v.Name)}
		if l.Chosen {
			l.Address = a.with(syntax.SetField(a.Text, f.Name)).Address()
		} else {
			l.Address = a.with(syntax.SetField(a.Text, f.Name, v.Name)).Address()
		}
		list = append(list, l)
	}
	return list
}

// monthsOf counts the hits by month, latest first.
func monthsOf(a asked, days []facets.Day) (list []facetLink) {
	for _, b := range binsOf(days, beginningOfMonth, nextMonth) {
		if b.hits > 0 {
			list = append(list, facetLink{link{b.start.Format("January 2006"), b.address(a)}, human.Number(b.hits), b.isChosen(a)})
		}
	}
	slices.Reverse(list)
	return list
}

// bin counts the hits of a period.
type bin struct {
	start, end time.Time // end is exclusive
	hits       int
}

// binsOf groups days into consecutive periods, without gaps.
func binsOf(days []facets.Day, begin, next func(time.Time) time.Time) (list []bin) {
	if len(days) == 0 {
		return nil
	}
	for start, k := begin(days[0].Start), 0; k < len(days); start = next(start) {
		b := bin{start: start, end: next(start)}
		for ; k < len(days) && days[k].Start.Before(b.end); k++ {
			b.hits += days[k].Hits
		}
		list = append(list, b)
	}
	return list
}

func sameDay(t time.Time) time.Time { return t }
func nextDay(t time.Time) time.Time { return t.AddDate(0, 0, 1) }

func monday(t time.Time) time.Time   { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
func nextWeek(t time.Time) time.Time { return t.AddDate(0, 0, 7) }

func beginningOfMonth(t time.Time) time.Time { return t.AddDate(0, 0, 1-t.Day()) }
func nextMonth(t time.Time) time.Time        { return t.AddDate(0, 1, 0) }

// isChosen reports whether the query is limited to exactly this period.
func (b bin) isChosen(a asked) bool {
	return slices.Equal(syntax.FieldValues(a.Text, "after"), []string{b.start.Format(dayForm)}) &&
		slices.Equal(syntax.FieldValues(a.Text, "before"), []string{b.end.Format(dayForm)})
}

// address returns the URL of the query limited to this period, or without a period if it
// already is.
func (b bin) address(a asked) string {
	after, before := []string{b.start.Format(dayForm)}, []string{b.end.Format(dayForm)}
	if b.isChosen(a) {
		after, before = nil, nil
	}
	text := syntax.SetField(a.Text, "after", after...)
	return a.with(syntax.SetField(text, "before", before...)).Address()
}

// histogram shows hits over time.
type histogram struct {
	Width       int // of all bars, in SVG units
	From, To    string
	Unit        string // day, week or month
	Description string
	Any         string // URL of the query without a period; "" if it has none
	Bars        []bar
}

type bar struct {
	link
	X, Y, Height int
}

// Sizes in SVG units. The page stretches the histogram to its width.
const (
	barStep         = 10
	histogramHeight = 60
	mostBars        = 120
)

func newHistogram(a asked, days []facets.Day) *histogram {
	if len(days) == 0 {
		return nil
	}
	h := &histogram{}
	var bins []bin
	for _, u := range []struct {
		name        string
		begin, next func(time.Time) time.Time
	}{{"day", sameDay, nextDay}, {"week", monday, nextWeek}, {"month", beginningOfMonth, nextMonth}} {
		h.Unit = u.name
		if bins = binsOf(days, u.begin, u.next); len(bins) <= mostBars {
			break
		}
	}
	bins = bins[max(0, len(bins)-3*mostBars):]
	most := 0
	for _, b := range bins {
		most = max(most, b.hits)
	}
	h.Width = barStep * len(bins)
	h.From, h.To = bins[0].start.Format(dayForm), bins[len(bins)-1].end.AddDate(0, 0, -1).Format(dayForm)
	h.Description = fmt.Sprintf("Hits by %s from %s to %s; the list of months below has the same figures", h.Unit, h.From, h.To)
	if any := syntax.SetField(syntax.SetField(a.Text, "after"), "before"); any != a.Text {
		h.Any = a.with(any).Address()
	}
	for i, b := range bins {
		if b.hits == 0 {
			continue
		}
		height := max(3, histogramHeight*b.hits/most)
		name := b.start.Format(dayForm)
		switch h.Unit {
		case "week":
			name = "week of " + name
		case "month":
			name = b.start.Format("January 2006")
		}
		h.Bars = append(h.Bars, bar{link{name + ": " + human.Plural(b.hits, "hit", "hits"), b.address(a)}, i * barStep, histogramHeight - height, height})
	}
	return h
}
