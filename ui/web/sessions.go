package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
	"pigrep/ui/html"
)

// sessionsPage is the data of the template "sessions".
type sessionsPage struct {
	filterForm
	Text         string
	Named, Forks bool
	Summary      string
	Notes        []string
	Rows         []sessionRow
	More         string // URL with a higher limit; "" if all sessions are shown
}

type sessionRow struct {
	sessionLine
	Count, Models, Tokens, Cost string
	Forks                       string
	Depth                       int
}

// sessionLimit is the number of sessions that the list shows at first.
const sessionLimit = 100

// showSessions shows the list of sessions, with filters.
func (s *Server) showSessions(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	p := &sessionsPage{
		filterForm: filterForm{Since: v.Get("since")}, Text: strings.TrimSpace(v.Get("q")),
		Named: v.Get("named") != "", Forks: v.Get("forks") != "",
	}
	req := sessions.Request{Text: p.Text, Named: p.Named, Forks: p.Forks, Limit: sessionLimit, Redact: s.redacts(r), Env: filter.Env{Now: s.Now()}}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		req.Limit = max(1, n)
	}
	written := filter.Written{filter.Since: given(v, filter.Since), filter.Project: given(v, filter.Project)}
	var err error
	if req.Spec, err = written.Spec(filter.Env{Now: s.Now()}); err != nil {
		p.Summary, p.Notes = "No list", []string{err.Error()}
	} else if err := s.list(r.Context(), p, req, v); err != nil {
		return err
	}
	if v.Get("part") == "list" {
		return s.write(w, http.StatusOK, "sessionlist", p)
	}
	known, err := s.Values(r.Context())
	if err != nil {
		return err
	}
	p.offer(known, v)
	return s.show(w, r, "sessions", "Sessions", p)
}

// list fills in the rows of a list.
func (s *Server) list(ctx context.Context, p *sessionsPage, req sessions.Request, v url.Values) error {
	res, err := s.Sessions(ctx, req)
	if e, ok := errors.AsType[*words.TextError](err); ok {
		p.Summary, p.Notes = "No list", []string{e.Reason}
		return nil
	}
	if err != nil {
		return err
	}
	p.Notes = res.Warnings
	if why := search.ExplainWords(res.Words, res.Removed, search.Without); why != "" {
		p.Notes = append(p.Notes, why)
	}
	atLeast := ""
	if !res.TotalIsExact {
		atLeast = "at least "
	}
	p.Summary = atLeast + human.Plural(res.Total, "session", "sessions")
	for i := range res.Sessions {
		h := &res.Sessions[i]
		row := sessionRow{sessionLine: s.sessionLine(&h.SessionHit, searchParams{Text: p.Text, Scope: scope.Default}), Count: human.Number(h.Messages), Models: html.Line(modelNames(h.Models)), Depth: min(h.Depth, 8)}
		if h.Tokens > 0 {
			row.Tokens = human.Short(h.Tokens)
		}
		if h.Cost > 0 {
			row.Cost = html.Money(h.Cost)
		}
		if h.SessionHit.Forks > 0 {
			row.Forks = human.Plural(h.SessionHit.Forks, "fork", "forks")
		}
		p.Rows = append(p.Rows, row)
	}
	if len(p.Rows) == req.Limit && (res.Total > req.Limit || !res.TotalIsExact) {
		v.Set("limit", strconv.Itoa(4*req.Limit))
		v.Del("part")
		p.More = "/sessions?" + v.Encode()
	}
	return nil
}

// modelNames lists models without their providers.
func modelNames(models []string) string {
	var names []string
	for _, m := range models {
		if name := m[strings.LastIndexByte(m, '/')+1:]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
