package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/sessions"
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
	Projects, Models []choice
	Times            []string // suggestions for Since
	Since, Until     string
}

// offer adds the values to choose from; those in v are chosen.
func (f *filterForm) offer(known []sessions.Facet, v url.Values) {
	for _, k := range known {
		switch k.Field {
		case "project":
			f.Projects = append(f.Projects, choice{html.Line(k.Value), k.Value == v.Get("project")})
		case "model":
			f.Models = append(f.Models, choice{html.Line(k.Value), k.Value == v.Get("model")})
		case "after":
			f.Times = append(f.Times, k.Value)
		}
	}
}

// sectionsOf computes the sections of a page.
type sectionsOf func(*report.View, context.Context, *report.Source, audit.Request) ([]*report.Section, error)

// showAudit shows what tools did.
func (s *Server) showAudit(w http.ResponseWriter, r *http.Request) error {
	return s.showFigures(w, r, "Audit", (*report.View).Audit)
}

// showUsage shows tokens and cost.
func (s *Server) showUsage(w http.ResponseWriter, r *http.Request) error {
	return s.showFigures(w, r, "Usage", (*report.View).Usage)
}

func (s *Server) showFigures(w http.ResponseWriter, r *http.Request, title string, sections sectionsOf) error {
	v := r.URL.Query()
	p := &figuresPage{filterForm: filterForm{Since: v.Get("since"), Until: v.Get("until")}, Path: r.URL.Path}
	if r.URL.RawQuery != "" {
		p.All = r.URL.Path
	}
	written := make(filter.Written)
	for _, name := range []string{filter.Since, filter.Until, filter.Project, filter.Model} {
		written[name] = given(v, name)
	}
	req := audit.Request{Location: s.Zone, Redact: s.redacts(r), Env: filter.Env{Now: s.Now()}}
	var err error
	if req.Spec, err = written.Spec(filter.Env{Now: s.Now()}); err != nil {
		p.Problem = err.Error()
	} else if p.Sections, err = s.sections(r, v, req, sections); err != nil {
		return err
	}
	known, err := s.Values(r.Context())
	if err != nil {
		return err
	}
	p.offer(known, v)
	return s.show(w, r, "figures", title, p)
}

// given returns the value of a parameter as a list, empty if it is not set.
func given(v url.Values, name string) []string {
	if value := strings.TrimSpace(v.Get(name)); value != "" {
		return []string{value}
	}
	return nil
}

// sections renders the sections of a page. A period in a chart links to the same page for
// that period, and a session links to its conversation.
func (s *Server) sections(r *http.Request, v url.Values, req audit.Request, of sectionsOf) (template.HTML, error) {
	view := &report.View{
		Home: s.Home, Now: s.Now().In(s.Zone),
		Session: func(path, id, entry string) string { return conversationAddress(path, id, entry, searchParams{}) },
		Period: func(label string) string {
			first, end := chart.Span(label)
			if first.IsZero() {
				return ""
			}
			other := url.Values{}
			for _, name := range []string{"project", "model"} {
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
