package web

import (
	"context"
	"errors"
	"html/template"
	"slices"
	"time"

	"pigrep/internal/human"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/ui/chart"
	"pigrep/ui/html"
)

// distribution is the data of the template "facets": the hits by time and by the values of
// fields. Each value links to the query with that filter added, or removed if the query
// already has it.
type distribution struct {
	Time    template.HTML // the histogram
	AnyTime string        // URL of the query without a period; "" if it has none
	Groups  []facetGroup
	Chosen  int // number of values that the query filters by
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

// distribution counts the hits of a query.
func (s *Server) distribution(ctx context.Context, a asked, redact bool) (*distribution, error) {
	res, err := s.Facets(ctx, s.request(a, redact))
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return &distribution{}, nil
	}
	if err != nil {
		return nil, err
	}
	d := &distribution{}
	if d.Time, err = histogram(a, res.Days); err != nil {
		return nil, err
	}
	if len(syntax.FieldValues(a.Text, "after"))+len(syntax.FieldValues(a.Text, "before")) > 0 {
		d.AnyTime = a.anyTime()
	}
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
	hits := 0
	for i, d := range days {
		hits += d.Hits
		month := d.Start.Format("2006-01")
		if i+1 < len(days) && days[i+1].Start.Format("2006-01") == month {
			continue
		}
		address, chosen := a.during(month)
		list = append(list, facetLink{link{d.Start.Format("January 2006"), address}, human.Number(hits), chosen})
		hits = 0
	}
	slices.Reverse(list)
	return list
}

// histogram draws the hits over time. Each bar links to the query limited to its period.
func histogram(a asked, days []facets.Day) (template.HTML, error) {
	if len(days) == 0 {
		return "", nil
	}
	c := chart.Hits(days)
	for _, label := range c.Labels {
		address, _ := a.during(label)
		c.Links = append(c.Links, address)
	}
	return c.HTML()
}

// during returns the URL of the query limited to a period, or without a period if it already
// is limited to this one.
func (a asked) during(label string) (address string, already bool) {
	first, end := chart.Span(label)
	after, before := first.Format(time.DateOnly), end.Format(time.DateOnly)
	if slices.Equal(syntax.FieldValues(a.Text, "after"), []string{after}) && slices.Equal(syntax.FieldValues(a.Text, "before"), []string{before}) {
		return a.anyTime(), true
	}
	text := syntax.SetField(a.Text, "after", after)
	return a.with(syntax.SetField(text, "before", before)).Address(), false
}

// anyTime returns the URL of the query without a period.
func (a asked) anyTime() string {
	return a.with(syntax.SetField(syntax.SetField(a.Text, "after"), "before")).Address()
}
