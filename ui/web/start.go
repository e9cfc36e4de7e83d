package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/engine/filter"
	"pigrep/query/recap"
	"pigrep/ui/html"
	"pigrep/ui/printer"
	"pigrep/ui/report"
)

// startPage is the data of the template "start": what the page tells before anything is asked.
type startPage struct {
	Spent string // today and in this week
	Told  []toldSession
	Back  []toldLine // errors that came back, with the latest place
}

// toldSession is a session with what was done in it, and what is open.
type toldSession struct {
	Title, Address, Project string
	When                    *when
	Lines                   []toldLine
}

type toldLine struct{ Label, Text, Address string }

// Limits of the start page.
const (
	mostTold   = 3   // sessions
	mostAsked  = 12  // sessions that errors may have come back in
	mostBack   = 3   // errors
	longestSay = 160 // cells of a line
)

// showStart shows the page without a question. Its head is sent before sessions are read.
func (s *Server) showStart(w http.ResponseWriter, r *http.Request, p *searchPage) error {
	if err := s.ask(r.Context(), p, "answer", s.redacts(r)); err != nil {
		return err
	}
	f := s.frame(r, p.title(), p)
	if err := s.write(w, http.StatusOK, "search-top", f); err != nil {
		return err
	}
	_ = http.NewResponseController(w).Flush() // fails only if the browser has disconnected
	var err error
	if p.Start, err = s.start(r.Context(), s.redacts(r)); err != nil {
		p.Answer.Notes = append(p.Answer.Notes, err.Error())
	}
	return s.write(w, http.StatusOK, "search-rest", f)
}

// start tells of the latest sessions.
func (s *Server) start(ctx context.Context, redact bool) (*startPage, error) {
	res, err := s.Recap(ctx, recap.Request{Limit: mostAsked, Redact: redact})
	if err != nil {
		return nil, err
	}
	p := &startPage{}
	for _, h := range res.Sessions { // the latest first
		address := func(entry string) string {
			return conversationAddress(h.SessionPath, h.SessionID, entry, searchParams{})
		}
		told := toldSession{Title: html.Line(human.Headline(h.Title)), Address: address(""), Project: html.Line(human.Path(h.CWD, s.Home)), When: s.newWhen(h.Modified.Time)}
		for _, b := range printer.Briefly(&h) {
			told.Lines = append(told.Lines, toldLine{b.Label, clipped(b.Text), address(b.Entry)})
		}
		if len(p.Told) < mostTold && len(told.Lines) > 0 {
			p.Told = append(p.Told, told)
		}
	}
	p.Back = cameBack(res)
	err = s.Audits(ctx, func(src *report.Source) error {
		recent, err := audit.RecentUsage(ctx, src.Usage, audit.Request{Redact: redact, Env: filter.Env{Now: s.Now()}}, s.Now().In(s.Zone))
		if err == nil && recent != nil {
			p.Spent = printer.RecentLine(recent, "this week")
		}
		return err
	})
	return p, err
}

// cameBack returns the errors that several of the sessions have, the most frequent first.
func cameBack(res *recap.Response) (list []toldLine) {
	type failure struct {
		line     toldLine
		sessions map[string]bool
	}
	var found []*failure
	for _, h := range res.Sessions {
		for _, f := range h.Facts {
			if f.What != recap.Failed || f.Error == "" {
				continue
			}
			i := slices.IndexFunc(found, func(e *failure) bool { return e.line.Text == clipped(f.Error) })
			if i < 0 {
				i = len(found)
				found = append(found, &failure{toldLine{"", clipped(f.Error), conversationAddress(h.SessionPath, h.SessionID, f.EntryID, searchParams{})}, make(map[string]bool)})
			}
			found[i].sessions[h.SessionPath] = true
		}
	}
	slices.SortStableFunc(found, func(a, b *failure) int { return cmp.Compare(len(b.sessions), len(a.sessions)) })
	for _, e := range found[:min(len(found), mostBack)] {
		if n := len(e.sessions); n > 1 {
			e.line.Label = strconv.Itoa(n) + " sessions"
			list = append(list, e.line)
		}
	}
	return list
}

func clipped(text string) string {
	return session.Cut(html.Line(text), longestSay) + human.When(len(html.Line(text)) > longestSay, "…")
}
