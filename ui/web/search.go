package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/scope"
	"pigrep/ui/html"
)

// asked is a query as the URL of the search page encodes it.
type asked struct {
	Text  string
	Scope scope.Scope
	Sort  rank.Sort
	All   bool // only hits with every word
	Limit int
}

// Limits of an answer.
const (
	firstLimit = 10  // sessions at first
	mostLimit  = 500 // sessions at most
	wholeLimit = 200 // hits, if the query names a single session
)

// parseAsked reads a query from the parameters of a URL.
func parseAsked(v url.Values) (a asked, err error) {
	a = asked{Text: strings.TrimSpace(v.Get("q")), Scope: scope.Default, All: v.Get("all") != "", Limit: firstLimit}
	if name := v.Get("scope"); name != "" {
		if a.Scope, err = scope.Parse(name); err != nil {
			return a, &Error{Status: http.StatusBadRequest, Message: err.Error()}
		}
	}
	if a.Sort, err = rank.ParseSort(v.Get("sort")); err != nil {
		return a, &Error{Status: http.StatusBadRequest, Message: err.Error()}
	}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		a.Limit = max(1, min(n, mostLimit))
	}
	return a, nil
}

// values returns the parameters of the query, without those that have their default.
func (a asked) values() url.Values {
	v := url.Values{}
	set := func(name, value string, isDefault bool) {
		if !isDefault {
			v.Set(name, value)
		}
	}
	set("q", a.Text, a.Text == "")
	set("scope", string(a.Scope), a.Scope == scope.Default)
	set("sort", rank.SortNames[a.Sort], a.Sort == rank.Relevance)
	set("all", "1", !a.All)
	set("limit", strconv.Itoa(a.Limit), a.Limit == firstLimit)
	return v
}

// Address returns the URL of the query.
func (a asked) Address() string {
	if v := a.values(); len(v) > 0 {
		return "/?" + v.Encode()
	}
	return "/"
}

// SearchAddress returns the URL of a search.
func SearchAddress(text string, in scope.Scope) string {
	return asked{Text: text, Scope: in, Limit: firstLimit}.Address()
}

// with returns the query with another text, and with the limit reset.
func (a asked) with(text string) asked {
	a.Text, a.Limit = text, firstLimit
	return a
}

// Scopes and Sorts return the choices of the form.
func (a asked) Scopes() (list []choice) {
	for _, s := range scope.Scopes {
		list = append(list, choice{string(s), s == a.Scope})
	}
	return list
}

func (a asked) Sorts() (list []choice) {
	for i, name := range rank.SortNames {
		list = append(list, choice{name, rank.Sort(i) == a.Sort})
	}
	return list
}

type choice struct {
	Name   string
	Chosen bool
}

// link is the text and the URL of a link.
type link struct{ Text, Address string }

// searchPage is the data of the template "search".
type searchPage struct {
	asked
	Answer *answer
	Facets *distribution
	Forms  []syntax.Form
	Fields []syntax.FieldInfo
}

// answer is the data of the template "answer".
type answer struct {
	Summary  string // the number of hits or sessions
	Heading  string // of the list
	Notes    []string
	Instead  []link // suggested queries
	Sessions []found
	More     string // URL with a higher limit; "" if all sessions are shown
}

// found is a session in an answer.
type found struct {
	sessionLine
	Hits []foundHit
	More *link // to all hits of the session
}

// foundHit is a hit in an answer.
type foundHit struct {
	Address string
	What    string // kind, and the name of the tool
	Failed  bool
	When    *when
	Text    []piece
	Notes   []string
}

// piece is a part of a fragment, highlighted or not.
type piece struct {
	Text string
	Mark bool
}

// when is a time as a page shows it.
type when struct{ Text, Full, UTC string }

func (s *Server) when(t time.Time) *when {
	if t.IsZero() {
		return nil
	}
	return &when{human.Ago(s.Now(), t), t.In(s.Zone).Format("2006-01-02 15:04:05 MST"), t.UTC().Format(time.RFC3339)}
}

// sessionLine is what both lists show of a session.
type sessionLine struct {
	Title, Address string
	Project        string // the last element of its directory
	Dir            string
	When           *when
	Messages       string
	Labels         []string
}

func (s *Server) sessionLine(h *search.SessionHit, a asked) sessionLine {
	dir := human.Path(h.CWD, s.Home)
	project := dir
	if i := strings.LastIndexAny(strings.TrimRight(dir, `/\`), `/\`); i >= 0 {
		project = dir[i+1:]
	}
	l := sessionLine{
		Title: html.Line(human.Headline(h.Title)), Address: conversationAddress(h.SessionPath, h.SessionID, "", a),
		Project: html.Line(project), Dir: html.Line(dir), When: s.when(h.Modified.Time), Messages: human.Plural(h.Messages, "message", "messages"),
	}
	for _, name := range h.Labels {
		l.Labels = append(l.Labels, html.Line(name))
	}
	return l
}

// showSearch shows the search page. The script adds the parameter part to get one part alone.
func (s *Server) showSearch(w http.ResponseWriter, r *http.Request) error {
	a, err := parseAsked(r.URL.Query())
	if err != nil {
		return err
	}
	p := &searchPage{asked: a, Forms: syntax.Forms, Fields: syntax.Fields}
	part := r.URL.Query().Get("part")
	if err := s.ask(r, p, part); err != nil {
		return err
	}
	if part == "answer" || part == "facets" {
		return s.write(w, http.StatusOK, part, p)
	}
	title := "Search"
	if a.Text != "" {
		title = terminal.Clip(html.Line(a.Text), 60)
	}
	return s.show(w, r, "search", title, p)
}

// ask fills in a part of the search page, or all of it. No more searches run at a time than
// there are cores, because they would only slow each other down.
func (s *Server) ask(r *http.Request, p *searchPage, part string) (err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	if part != "facets" {
		if p.Answer, err = s.answer(r, p.asked); err != nil {
			return err
		}
	}
	if part != "answer" {
		p.Facets, err = s.distribution(r.Context(), p.asked, s.redacts(r))
	}
	return err
}

// request returns the search request for a query.
func (s *Server) request(a asked, redact bool) search.Request {
	req := search.Request{
		Text: a.Text, Spec: filter.Spec{Scope: a.Scope}, Sort: a.Sort, AllWords: a.All, Limit: a.Limit, Redact: redact,
		PhraseBytes: search.FastPhraseBytes,
		Env:         filter.Env{Now: s.Now().In(s.Zone)},
	}
	if len(syntax.FieldValues(a.Text, "session")) == 1 {
		req.PerSession = wholeLimit
	}
	return req
}

func (s *Server) answer(r *http.Request, a asked) (*answer, error) {
	req := s.request(a, s.redacts(r))
	if a.Text == "" {
		return s.latest(r.Context(), a, req)
	}
	res, err := s.Search(r.Context(), req)
	if e, ok := errors.AsType[*words.TextError](err); ok {
		note := e.Reason
		if e.Hint != "" {
			note += "; " + e.Hint
		}
		return &answer{Summary: "Nothing to search for", Notes: []string{note}}, nil
	}
	if err != nil {
		return nil, err
	}
	x := &answer{Heading: "Hits by session", Notes: slices.Clone(res.Warnings)}
	x.Summary = summaryOf(res)
	if why := search.ExplainWords(res.Words, res.Removed, search.Without); why != "" {
		x.Notes = append(x.Notes, why)
	}
	x.instead(a, res)
	at := make(map[string]int, len(res.Sessions))
	for i := range res.Sessions {
		h := &res.Sessions[i]
		f := found{sessionLine: s.sessionLine(h, a)}
		at[h.SessionPath] = i
		x.Sessions = append(x.Sessions, f)
	}
	for i := range res.Hits {
		h := &res.Hits[i]
		if n, ok := at[h.SessionPath]; ok {
			x.Sessions[n].Hits = append(x.Sessions[n].Hits, s.hit(h, a))
		}
	}
	for i := range res.Sessions {
		h, f := &res.Sessions[i], &x.Sessions[i]
		if rest := h.Hits + h.Partial() - len(f.Hits); rest > 0 && h.SessionID != "" && req.PerSession == 0 {
			f.More = &link{human.Plural(rest, "more hit", "more hits") + " in this session", a.with(syntax.SetField(a.Text, "session", h.SessionID)).Address()}
		}
	}
	if len(res.Sessions) == a.Limit && (res.SessionTotal > a.Limit || !res.TotalIsExact) && a.Limit < mostLimit {
		more := a
		more.Limit = min(3*a.Limit, mostLimit)
		x.More = more.Address()
	}
	return x, nil
}

// latest answers an empty query with the latest sessions.
func (s *Server) latest(ctx context.Context, a asked, req search.Request) (*answer, error) {
	list := sessions.FromSearch(req)
	list.Scope = "" // a scope selects text, and there is no text to search for
	res, err := s.Sessions(ctx, list)
	if err != nil {
		return nil, err
	}
	x := &answer{Heading: "Latest sessions", Summary: human.Plural(res.Total, "session", "sessions"), Notes: res.Warnings}
	for i := range res.Sessions {
		x.Sessions = append(x.Sessions, found{sessionLine: s.sessionLine(&res.Sessions[i].SessionHit, a)})
	}
	if res.Total > len(x.Sessions) && a.Limit < mostLimit {
		more := a
		more.Limit = min(3*a.Limit, mostLimit)
		x.More = more.Address()
	}
	return x, nil
}

// summaryOf says how many hits there are.
func summaryOf(res *search.Response) string {
	in := " in " + human.Plural(res.SessionTotal, "session", "sessions")
	atLeast := ""
	if !res.TotalIsExact {
		atLeast = "at least "
	}
	switch partial := res.Partial(); {
	case res.TotalAny == 0:
		return "Nothing found"
	case res.Total == 0:
		return human.Plural(partial, "hit", "hits") + in + ", none with every word"
	case partial > 0:
		return fmt.Sprintf("%s%s%s, %s of them without some word", atLeast, human.Plural(res.Total+partial, "hit", "hits"), in, human.Number(partial))
	default:
		return atLeast + human.Plural(res.Total, "hit", "hits") + in
	}
}

// instead suggests other queries: a corrected word, or a filter removed.
func (x *answer) instead(a asked, res *search.Response) {
	if res.DidYouMean != "" {
		x.Instead = append(x.Instead, link{"Did you mean " + html.Line(res.DidYouMean) + "?", a.with(res.DidYouMean).Address()})
	}
	for _, r := range res.Removed {
		other := a
		switch other.Limit = firstLimit; {
		case r.Filter == "scope":
			other.Scope = scope.All
		case r.Filter == search.FilterAllWords:
			other.All = false
		case strings.Contains(a.Text, r.Filter):
			other.Text = strings.TrimSpace(strings.Replace(a.Text, r.Filter, "", 1))
		default:
			continue
		}
		x.Instead = append(x.Instead, link{fmt.Sprintf("%s %s", human.Plural(r.Hits, "hit", "hits"), html.Line(search.Without(r.Filter))), other.Address()})
	}
}

// hit converts a hit for the page.
func (s *Server) hit(h *search.Hit, a asked) foundHit {
	f := foundHit{
		Address: conversationAddress(h.SessionPath, h.SessionID, h.EntryID, a), What: string(h.Kind), Failed: h.IsError,
		When: s.when(h.Timestamp.Time), Text: pieces(h.Fragment),
	}
	if h.Tool != "" {
		f.What += " " + html.Line(h.Tool)
	}
	if h.Branch == "abandoned" {
		f.Notes = append(f.Notes, "abandoned branch")
	}
	if h.Label != "" {
		f.Notes = append(f.Notes, "label "+html.Line(h.Label))
	}
	for _, note := range h.Notes() {
		f.Notes = append(f.Notes, html.Line(note))
	}
	return f
}

// pieces splits a fragment at its highlighted spans.
func pieces(f match.Fragment) (list []piece) {
	text, spans := terminal.CleanSpans(f.Text, f.Spans)
	at := 0
	add := func(end int, mark bool) {
		if end > at {
			list = append(list, piece{html.Visible(text[at:end]), mark})
		}
		at = end
	}
	for _, m := range spans {
		add(m[0], false)
		add(m[1], true)
	}
	add(len(text), false)
	return list
}
