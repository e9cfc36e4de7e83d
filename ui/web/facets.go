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
func (s *Server) distribution(ctx context.Context, q searchParams, redact bool) (*distribution, error) {
	res, err := s.Facets(ctx, s.request(q, redact))
	if _, ok := errors.AsType[*words.TextError](err); ok {
		return &distribution{}, nil
	}
	if err != nil {
		return nil, err
	}
	d := &distribution{}
	if d.Time, err = histogram(q, chart.Hits(res.Days)); err != nil {
		return nil, err
	}
	if len(syntax.FieldValues(q.Text, "after"))+len(syntax.FieldValues(q.Text, "before")) > 0 {
		d.AnyTime = q.anyTime()
	}
	for _, f := range res.Fields {
		d.add(f.Name, valuesOf(q, f))
	}
	d.add("month", monthsOf(q, res.Days))
	return d, nil
}

func (d *distribution) add(title string, list []facetLink) {
	if len(list) == 0 {
		return
	}
	var chosen, others []facetLink
	for _, l := range list {
		if l.Chosen {
			chosen = append(chosen, l)
		} else {
			others = append(others, l)
		}
	}
	d.Chosen += len(chosen)
	list = append(chosen, others...) // so that chosen values are always visible
	n := min(mostFacets, len(list))
	d.Groups = append(d.Groups, facetGroup{title, list[:n], list[n:]})
}

func valuesOf(q searchParams, f facets.Field) (list []facetLink) {
	had := syntax.FieldValues(q.Text, f.Name)
	for _, v := range f.Values {
		chosen, text := slices.Contains(had, v.Name), syntax.SetField(q.Text, f.Name)
		if !chosen {
			text = syntax.SetField(q.Text, f.Name, v.Name)
		}
		list = append(list, facetLink{link{html.Line(v.Name), q.with(text).Address()}, human.Number(v.Hits), chosen})
	}
	return list
}

// monthsOf counts the hits by month, latest first.
func monthsOf(q searchParams, days []facets.Day) (list []facetLink) {
	hits := 0
	for i, d := range days {
		hits += d.Hits
		month := d.Start.Format("2006-01")
		if i+1 < len(days) && days[i+1].Start.Format("2006-01") == month {
			continue
		}
		address, chosen := q.during(month)
		list = append(list, facetLink{link{d.Start.Format("January 2006"), address}, human.Number(hits), chosen})
		hits = 0
	}
	slices.Reverse(list)
	return list
}

// leastBars is how many bars say more than the facets do.
const leastBars = 3

// histogram draws the hits over time, if there is a query and there are enough bars. Each bar
// links to the query limited to its period.
func histogram(q searchParams, c *chart.Chart) (template.HTML, error) {
	if q.Text == "" || c.Bars() < leastBars {
		return "", nil
	}
	for _, label := range c.Labels {
		address, _ := q.during(label)
		c.Links = append(c.Links, address)
	}
	return c.HTML()
}

// during returns the URL of the query limited to a period, or without a period if it already
// is limited to this one.
func (q searchParams) during(label string) (address string, already bool) {
	first, end := chart.Span(label)
	after, before := first.Format(time.DateOnly), end.Format(time.DateOnly)
	if slices.Equal(syntax.FieldValues(q.Text, "after"), []string{after}) && slices.Equal(syntax.FieldValues(q.Text, "before"), []string{before}) {
		return q.anyTime(), true
	}
	text := syntax.SetField(q.Text, "after", after)
	return q.with(syntax.SetField(text, "before", before)).Address(), false
}

// anyTime returns the URL of the query without a period.
func (q searchParams) anyTime() string {
	return q.with(syntax.SetField(syntax.SetField(q.Text, "after"), "before")).Address()
}
