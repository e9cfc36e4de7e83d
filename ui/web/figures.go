package web

import (
	"context"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/query/facets"
	"pigrep/ui/chart"
	"pigrep/ui/html"
	"pigrep/ui/report"
)

// figuresPage is the data of the template "figures".
type figuresPage struct {
	filterForm
	Path     string
	All      string // URL without filters; "" if there are none
	Problem  string
	Sections template.HTML
}

// filterForm is the filters of a page, and the values to choose from.
type filterForm struct {
	Agents, Projects, Models []choice // no agents if all sessions are of one
	Times                    []string // suggestions for Since
	Since, Until             string
}

// offer adds the values to choose from; those in v are chosen.
func (s *Server) offer(r *http.Request, f *filterForm, v url.Values) error {
	known, err := s.Values(r.Context())
	if err != nil {
		return err
	}
	lists := map[string]*[]choice{filter.Agent: &f.Agents, filter.Project: &f.Projects, filter.Model: &f.Models}
	for _, k := range known {
		if list := lists[k.Field]; list != nil {
			*list = append(*list, choice{html.Line(k.Value), k.Value == v.Get(k.Field)})
		} else if k.Field == "after" {
			f.Times = append(f.Times, k.Value)
		}
	}
	for name, list := range lists { // what is chosen and no value, such as several agents
		if value := v.Get(name); value != "" && !slices.ContainsFunc(*list, func(c choice) bool { return c.Chosen }) {
			*list = append(*list, choice{html.Line(value), true})
		}
	}
	return nil
}

// sectionsOf computes the sections of a page.
type sectionsOf func(*report.View, context.Context, *report.Source, audit.Request) ([]*report.Section, error)

// figures returns the handler of a page with sections.
func figures(title string, sections sectionsOf) handler {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		v := s.filters(r)
		p := &figuresPage{filterForm: filterForm{Since: v.Get("since"), Until: v.Get("until")}, Path: r.URL.Path}
		if r.URL.RawQuery != "" {
			p.All = r.URL.Path
		}
		req := audit.Request{Location: s.Zone, Redact: s.redacts(r), Env: filter.Env{Now: s.Now()}}
		var err error
		if req.Spec, err = s.spec(v, filter.Since, filter.Until, filter.Agent, filter.Project, filter.Model); err != nil {
			p.Problem = err.Error()
		} else if p.Sections, err = s.sections(r, v, req, sections); err != nil {
			return err
		}
		if err := s.offer(r, &p.filterForm, v); err != nil {
			return err
		}
		return s.show(w, r, "figures", title, p)
	}
}

// filters returns the parameters of a request. An address without the parameter of agents is about
// the agents of Options; the search page has them in its query.
func (s *Server) filters(r *http.Request) url.Values {
	v := r.URL.Query()
	switch agents := strings.Join(s.Agents, ","); {
	case agents == "":
	case r.URL.Path == "/" && !v.Has("q"):
		v.Set("q", syntax.AddField("", filter.Agent, s.Agents...))
	case r.URL.Path != "/" && !v.Has(filter.Agent):
		v.Set(filter.Agent, agents)
	}
	return v
}

// spec reads filters from parameters.
func (s *Server) spec(v url.Values, names ...string) (filter.Spec, error) {
	written := make(filter.Written)
	for _, name := range names {
		if value := strings.TrimSpace(v.Get(name)); value != "" {
			written[name] = []string{value}
		}
	}
	return written.Spec(filter.Env{Now: s.Now()})
}

// sections renders the sections of a page. A period in a chart links to the same page for
// that period, and a session links to its conversation.
func (s *Server) sections(r *http.Request, v url.Values, req audit.Request, of sectionsOf) (template.HTML, error) {
	with := func(name, value string) string {
		other := maps.Clone(v)
		other.Del("only")
		other.Set(name, value)
		return withParams(r.URL.Path, other)
	}
	view := &report.View{
		Home: s.Home, Now: s.Now().In(s.Zone), Only: v.Get("only"),
		More:    func(id string) string { return with("only", id) },
		Filter:  with,
		Session: func(path, id, entry string) string { return conversationAddress(path, id, entry, searchParams{}) },
		Period: func(label string) string {
			first, end := chart.Span(label)
			if first.IsZero() {
				return ""
			}
			other := url.Values{}
			for _, name := range []string{filter.Agent, filter.Project, filter.Model} {
				if value := v.Get(name); value != "" {
					other.Set(name, value)
				}
			}
			other.Set("since", first.Format(time.DateOnly))
			other.Set("until", end.AddDate(0, 0, -1).Format(time.DateOnly))
			return r.URL.Path + "?" + other.Encode()
		},
	}
	var b strings.Builder
	err := s.Audits(r.Context(), func(src *report.Source) error {
		list, err := of(view, r.Context(), src, req)
		if err != nil {
			return err
		}
		b.Reset() // Audits calls this again after it has replaced a damaged index
		return report.HTML(&b, list)
	})
	return template.HTML(b.String()), err
}

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
	chosen := slices.DeleteFunc(slices.Clone(list), func(l facetLink) bool { return !l.Chosen })
	others := slices.DeleteFunc(list, func(l facetLink) bool { return l.Chosen })
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
		list = append(list, facetLink{link{html.Line(v.Name), q.withText(text).Address()}, human.Number(v.Hits), chosen})
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
	return q.withText(syntax.SetField(text, "before", before)).Address(), false
}

// anyTime returns the URL of the query without a period.
func (q searchParams) anyTime() string {
	return q.withText(syntax.SetField(syntax.SetField(q.Text, "after"), "before")).Address()
}

// statusPage is the data of the template "status".
type statusPage struct {
	Damage string
	Facts  []statusFact
}

type statusFact struct {
	Name, Value string
	Detail      bool // a detail of the fact before
}

// showHosts shows what each machine that answers says of itself.
func (s *Server) showHosts(w http.ResponseWriter, r *http.Request) error {
	p := &statusPage{}
	for _, host := range s.Hosts(r.Context()).Rows {
		p.Facts = append(p.Facts, statusFact{html.Line(host.Host), html.Line(host.Line(s.Now())), false})
		if host.Hint != "" {
			p.Facts = append(p.Facts, statusFact{"", html.Line(host.Hint), true})
		}
	}
	return s.show(w, r, "status", "Hosts", p)
}

// showStatus shows what is indexed, how fresh it is, and what was skipped.
func (s *Server) showStatus(w http.ResponseWriter, r *http.Request) error {
	status, err := s.Status()
	if err != nil {
		return err
	}
	p := &statusPage{Damage: html.Line(status.Damage)}
	for _, f := range status.Facts(s.Home, s.Now().In(s.Zone)) {
		name := strings.TrimLeft(f.Name, " ")
		p.Facts = append(p.Facts, statusFact{name, html.Line(f.Value), name != f.Name})
	}
	return s.show(w, r, "status", "Status", p)
}
