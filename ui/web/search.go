package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/scope"
	"pigrep/ui/html"
)

// searchParams is a query as the URL of the search page encodes it.
type searchParams struct {
	Text  string
	Scope scope.Scope
	Sort  rank.Sort
	All   bool // only hits with every word
	Any   bool // looser hits, too
	Limit int
}

// Limits of an answer.
const (
	firstLimit  = 10  // sessions at first
	latestLimit = 25  // at first without a query, a line each
	mostLimit   = 500 // sessions at most
	wholeLimit  = 200 // hits, if the query names a single session
)

// parseSearchParams reads a query from the parameters of a URL.
func parseSearchParams(v url.Values) (q searchParams, err error) {
	q = searchParams{Text: strings.TrimSpace(v.Get("q")), Scope: scope.Default, All: v.Get("all") != "", Any: v.Get("any") != "", Limit: firstLimit}
	if name := v.Get("scope"); name != "" {
		if q.Scope, err = scope.Parse(name); err != nil {
			return q, &Error{Status: http.StatusBadRequest, Message: err.Error()}
		}
	}
	if q.Sort, err = rank.ParseSort(v.Get("sort")); err != nil {
		return q, &Error{Status: http.StatusBadRequest, Message: err.Error()}
	}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		q.Limit = max(1, min(n, mostLimit))
	}
	return q, nil
}

// values returns the parameters of the query, without those that have their default. Without a
// text, the server would choose one.
func (q searchParams) values() url.Values {
	v := url.Values{"q": {q.Text}}
	set := func(name, value string, isDefault bool) {
		if !isDefault {
			v.Set(name, value)
		}
	}
	set("scope", string(q.Scope), q.Scope == scope.Default)
	set("sort", rank.SortNames[q.Sort], q.Sort == rank.Relevance)
	set("all", "1", !q.All)
	set("any", "1", !q.Any)
	set("limit", strconv.Itoa(q.Limit), q.Limit == firstLimit)
	return v
}

// Address returns the URL of the query.
func (q searchParams) Address() string { return withParams("/", q.values()) }

func withParams(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// SearchAddress returns the URL of a search.
func SearchAddress(text string, in scope.Scope) string {
	return searchParams{Text: text, Scope: in, Limit: firstLimit}.Address()
}

// withText returns the query with another text, and with the limit reset.
func (q searchParams) withText(text string) searchParams {
	q.Text, q.Limit = text, firstLimit
	return q
}

// Scopes and Sorts return the choices of the form.
func (q searchParams) Scopes() []choice {
	return lists.Map(scope.Scopes, func(s scope.Scope) choice { return choice{string(s), s == q.Scope} })
}

func (q searchParams) Sorts() (list []choice) {
	for i, name := range rank.SortNames {
		list = append(list, choice{name, rank.Sort(i) == q.Sort})
	}
	return list
}

type choice struct {
	Name   string
	Chosen bool
}

type link struct{ Text, Address string }

// searchPage is the data of the template "search".
type searchPage struct {
	searchParams
	Answer *answer
	Start  *startPage    // nil with a question
	Facets *distribution // nil without one
	Later  bool          // the script loads both, so that what one machine has answered waits for no other
	Whole  string        // URL of the page with both
	Forms  []syntax.Form
	Fields []*filter.Row
}

// answer is the data of the template "answer".
type answer struct {
	Summary     string // the number of hits or sessions
	Looser      *link  // the number of looser hits; the URL lists them, "" if they are listed
	Heading     string // of the list
	Notes       []string
	Suggestions []link // suggested queries
	Sessions    []sessionResult
	Latest      []sessionRow // sessions without a query
	More        string       // URL with a higher limit; "" if all sessions are shown
}

// sessionResult is a session in an answer.
type sessionResult struct {
	sessionLine
	Hits []hitResult
	More *link // to all hits of the session
}

// hitResult is a hit in an answer.
type hitResult struct {
	Address string
	What    string // kind, and the name of the tool
	Failed  bool
	Kind    session.Kind
	When    *when
	Text    []fragmentPart
	Notes   []string

	Answered []fragmentPart // the last reply of the turn of a prompt
}

type fragmentPart struct {
	Text string
	Mark bool
}

// when is a time as a page shows it.
type when struct{ Text, Full, UTC string }

func (s *Server) newWhen(t time.Time) *when {
	if t.IsZero() {
		return nil
	}
	return &when{human.Ago(s.Now(), t), t.In(s.Zone).Format("2006-01-02 15:04:05 MST"), t.UTC().Format(time.RFC3339)}
}

// day returns the day of a time, for a list, below an age; in the current year with the time of day.
func (s *Server) day(t time.Time) *when {
	w := s.newWhen(t)
	if w == nil {
		return nil
	}
	local, form := t.In(s.Zone), "2 Jan 2006"
	if local.Year() == s.Now().In(s.Zone).Year() {
		form = "2 Jan 15:04"
	}
	w.Text = local.Format(form)
	return w
}

// sessionLine is what both lists show of a session.
type sessionLine struct {
	Title, Address string
	Agent          string // "" if all sessions are of one
	Boss           string // that a subagent works for
	Project        string // the last element of its directory
	Dir            string
	When           *when
	Messages       string
	Labels         []string
	Command, ID    string // to copy; "" for none
}

func (s *Server) sessionLine(h *search.SessionHit, in *search.IndexState, q searchParams) sessionLine {
	dir := human.Path(h.CWD, s.Home)
	project := dir
	if i := strings.LastIndexAny(strings.TrimRight(dir, `/\`), `/\`); i >= 0 {
		project = dir[i+1:]
	}
	l := sessionLine{
		Title: html.Line(human.Headline(h.Title)), Address: conversationAddress(h.SessionPath, h.SessionID, "", q),
		Project: html.Line(project), Dir: html.Line(dir), When: s.newWhen(h.Modified.Time), Messages: human.Plural(h.Messages, "message", "messages"),
	}
	l.Agent, l.Boss = html.Line(human.Badge(h.Host, h.Agent, in.Several, h.Kept)), html.Line(h.Boss())
	l.Labels = lists.Map(h.Labels, html.Line)
	l.ID = session.Handle(h.SessionID, h.SessionPath)
	if h.Resume != nil {
		l.Command = s.Command(h.Resume)
	}
	return l
}

// showSearch shows the search page. The script adds the parameter part to get one part alone.
func (s *Server) showSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := parseSearchParams(s.filters(r))
	if err != nil {
		return err
	}
	p := &searchPage{searchParams: q, Forms: syntax.Forms, Fields: filter.Fields}
	v, ctx := r.URL.Query(), r.Context()
	part := v.Get("part")
	if p.Later = s.Hosts != nil && part == "" && !v.Has("whole"); p.Later {
		v.Set("whole", "1")
		p.Whole = withParams("/", v)
		return s.show(w, r, "search", p.title(), p)
	}
	if p.Text == "" && part == "" && !v.Has("whole") && s.Hosts == nil {
		return s.showStart(w, r, p)
	}
	begun := false // the script is shown what has come so far, until the answer takes its place
	if part == "answer" {
		ctx = remote.WithEarly(ctx, func(res any) {
			some := *p
			switch res := res.(type) {
			case *search.Response:
				some.Answer = s.found(q, res)
			case *sessions.Response:
				some.Answer = s.listed(q, res)
			}
			if s.write(w, http.StatusOK, "early", &some) == nil {
				begun = true
				_ = http.NewResponseController(w).Flush() // fails only if the browser has disconnected
			}
		})
	}
	if err := s.ask(ctx, p, part, s.redacts(r)); begun && err != nil {
		p.Answer = &answer{Summary: "Not everything could be asked", Notes: []string{err.Error()}}
	} else if err != nil {
		return err
	}
	if part == "answer" || part == "facets" {
		return s.write(w, http.StatusOK, part, p)
	}
	return s.show(w, r, "search", p.title(), p)
}

func (p *searchPage) title() string {
	if p.Text == "" {
		return "Search"
	}
	return terminal.Clip(html.Line(p.Text), 60)
}

// ask fills in a part of the search page, or all of it. No more searches run at a time than
// there are cores, because they would only slow each other down.
func (s *Server) ask(ctx context.Context, p *searchPage, part string, redact bool) (err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if part != "facets" {
		if p.Answer, err = s.answer(ctx, p.searchParams, redact); err != nil {
			return err
		}
	}
	if part != "answer" && p.Text != "" { // without a question, sessions are listed, and facets would count entries
		p.Facets, err = s.distribution(ctx, p.searchParams, redact)
	}
	return err
}

func (s *Server) request(q searchParams, redact bool) search.Request {
	req := search.Request{
		Answers: true,
		Text:    q.Text, Spec: filter.Spec{Scope: q.Scope}, Sort: q.Sort, AllWords: q.All, Any: q.Any, Limit: q.Limit, Redact: redact,
		PhraseBytes: search.FastPhraseBytes,
		Env:         filter.Env{Now: s.Now().In(s.Zone)},
	}
	if len(syntax.FieldValues(q.Text, "session")) == 1 {
		req.PerSession = wholeLimit
	}
	return req
}

func (s *Server) answer(ctx context.Context, q searchParams, redact bool) (*answer, error) {
	req := s.request(q, redact)
	if q.Text == "" { // the latest sessions
		list := sessions.FromSearch(req)
		list.Limit = max(list.Limit, latestLimit)
		list.Scope = "" // a scope selects text, and there is no text to search for
		res, err := s.Sessions(ctx, list)
		if err != nil {
			return nil, err
		}
		return s.listed(q, res), nil
	}
	res, err := s.Search(ctx, req)
	if e, ok := errors.AsType[*words.TextError](err); ok {
		return &answer{Summary: "Nothing to search for", Notes: []string{human.Joined("; ", e.Reason, e.Hint)}}, nil
	}
	if err != nil {
		return nil, err
	}
	return s.found(q, res), nil
}

// found shows the hits of a query.
func (s *Server) found(q searchParams, res *search.Response) *answer {
	x := &answer{Heading: "Hits by session", Summary: summaryOf(res), Looser: looserOf(q, res), Notes: slices.Clone(res.Warnings)}
	if why := search.ExplainWords(res.Words, res.Removed, res.DidYouMean, search.Without); why != "" {
		x.Notes = append(x.Notes, why)
	}
	x.suggest(q, res)
	hits, owner := make(map[string][]hitResult, len(res.Sessions)), res.Owners()
	for i := range res.Hits {
		h := &res.Hits[i]
		if in := owner(h); in != nil {
			hits[in.SessionPath] = append(hits[in.SessionPath], s.hit(h, q))
		}
	}
	for i := range res.Sessions {
		h := &res.Sessions[i]
		f := sessionResult{sessionLine: s.sessionLine(h, &res.Index, q), Hits: hits[h.SessionPath]}
		if len(f.Hits) > 0 {
			f.Address = f.Hits[0].Address
		}
		if rest := h.Hits + h.Looser - len(f.Hits); rest > 0 && h.SessionID != "" && s.request(q, false).PerSession == 0 {
			f.More = &link{human.Plural(rest, "more hit", "more hits") + " in this session", q.withText(syntax.SetField(q.Text, "session", h.SessionID)).Address()}
		}
		x.Sessions = append(x.Sessions, f)
	}
	if len(res.Sessions) == q.Limit && (res.SessionTotal > q.Limit || !res.TotalIsExact) {
		x.More = q.moreAddress()
	}
	return x
}

// moreAddress returns the URL of the query with a higher limit; "" if it has the highest.
func (q searchParams) moreAddress() string {
	if q.Limit >= mostLimit {
		return ""
	}
	q.Limit = min(3*q.Limit, mostLimit)
	return q.Address()
}

func (s *Server) listed(q searchParams, res *sessions.Response) *answer {
	x := &answer{Heading: "Latest sessions", Summary: human.Plural(res.Total, "session", "sessions"), Notes: res.Warnings}
	for i := range res.Sessions {
		x.Latest = append(x.Latest, s.sessionRow(&res.Sessions[i], &res.Index, q))
	}
	if res.Total > len(x.Latest) {
		x.More = q.moreAddress()
	}
	return x
}

// summaryOf says how many hits there are.
func summaryOf(res *search.Response) string {
	if res.TotalAny == 0 {
		return "Nothing found"
	}
	return search.Found(res.Counts()) + human.When(res.Total == 0, ", none with every word")
}

// looserOf says how many looser hits there are, with a link that lists them if they are not
// listed; nil if there are none.
func looserOf(q searchParams, res *search.Response) *link {
	text := search.Apart(res.Counts())
	if text == "" {
		return nil
	}
	l := &link{Text: text}
	if res.Folded > 0 {
		q.Any, q.Limit = true, firstLimit
		l.Address = q.Address()
	}
	return l
}

// suggest suggests other queries: a corrected word, or a filter removed.
func (x *answer) suggest(q searchParams, res *search.Response) {
	if res.DidYouMean != "" {
		x.Suggestions = append(x.Suggestions, link{"Did you mean " + html.Line(res.DidYouMean) + "?", q.withText(res.DidYouMean).Address()})
	}
	for _, r := range res.Removed {
		other := q
		switch other.Limit = firstLimit; {
		case r.Filter == "scope":
			other.Scope = scope.All
		case r.Filter == search.FilterAllWords:
			other.All = false
		case strings.Contains(q.Text, r.Filter):
			other.Text = strings.TrimSpace(strings.Replace(q.Text, r.Filter, "", 1))
		default:
			continue
		}
		x.Suggestions = append(x.Suggestions, link{fmt.Sprintf("%s %s", human.Plural(r.Hits, "hit", "hits"), html.Line(search.Without(r.Filter))), other.Address()})
	}
}

func (s *Server) hit(h *search.Hit, q searchParams) hitResult {
	f := hitResult{
		Address: conversationAddress(h.SessionPath, h.SessionID, h.EntryID, q), What: string(h.Kind), Failed: h.IsError,
		Kind: h.Kind, When: s.day(h.Timestamp.Time), Text: fragmentParts(withoutSigns(h.Kind, h.Fragment)),
	}
	if h.Answered != nil {
		f.Answered = fragmentParts(withoutSigns(session.KindReply, h.Answered.Fragment))
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
	f.Notes = append(f.Notes, lists.Map(h.Notes(), html.Line)...)
	return f
}

// signs matches the Markdown signs that are only noise in a line: of headings, emphasis and code.
// The one group is what stays.
var signs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|\\s)#{1,6} |\\*\\*|`+") })

// withoutSigns drops the signs of Markdown from text that was written as Markdown.
func withoutSigns(kind session.Kind, f match.Fragment) match.Fragment {
	switch kind {
	case session.KindPrompt, session.KindReply, session.KindThinking, session.KindSummary, session.KindNote:
	default:
		return f
	}
	f.Spans = slices.Clone(f.Spans)
	found := signs().FindAllStringSubmatchIndex(f.Text, -1)
	for _, sign := range slices.Backward(found) {
		from, to := max(sign[0], sign[3]), sign[1]
		f.Text = f.Text[:from] + f.Text[to:]
		for i := range f.Spans {
			for k, at := range f.Spans[i] {
				f.Spans[i][k] = at - max(0, min(at, to)-from)
			}
		}
	}
	return f
}

// fragmentParts splits a fragment at its highlighted spans.
func fragmentParts(f match.Fragment) (list []fragmentPart) {
	text, spans := terminal.CleanSpans(f.Text, f.Spans)
	at := 0
	add := func(end int, mark bool) {
		if end > at {
			list = append(list, fragmentPart{html.Visible(text[at:end]), mark})
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

// sessionsPage is the data of the template "sessions".
type sessionsPage struct {
	filterForm
	Text         string
	Named, Forks bool
	Subagents    bool // they are listed too
	Summary      string
	Notes        []string
	Rows         []sessionRow
	More         string // URL with a higher limit; "" if all sessions are shown
}

// sessionRow is a session in a table.
type sessionRow struct {
	sessionLine
	Count, Unit, Tokens, Cost string
	Facts                     []string // forks, subagents, whose subagent it is
	Depth                     int
}

func (s *Server) sessionRow(h *sessions.Session, in *search.IndexState, q searchParams) sessionRow {
	r := sessionRow{
		sessionLine: s.sessionLine(&h.SessionHit, in, q), Count: human.Number(h.Messages), Tokens: human.When(h.Tokens > 0, human.Short(h.Tokens)), Cost: h.CostText(), Depth: min(h.Depth, 8),
	}
	_, r.Unit, _ = strings.Cut(r.Messages, " ")
	for _, fact := range []string{human.Some(h.SessionHit.Forks, "fork", "forks"), human.Some(h.Subagents, "subagent", "subagents"), human.When(r.Boss != "", "subagent of "+r.Boss)} {
		if fact != "" {
			r.Facts = append(r.Facts, fact)
		}
	}
	return r
}

// sessionLimit is the number of sessions that the list shows at first.
const sessionLimit = 100

func (s *Server) showSessions(w http.ResponseWriter, r *http.Request) error {
	v := s.filters(r)
	p := &sessionsPage{
		filterForm: filterForm{Since: v.Get("since")}, Text: strings.TrimSpace(v.Get("q")),
		Named: v.Get("named") != "", Forks: v.Get("forks") != "", Subagents: v.Get("subagents") != "",
	}
	req := sessions.Request{Text: p.Text, Named: p.Named, Forks: p.Forks, Subagents: p.Subagents, Limit: sessionLimit, Redact: s.redacts(r), Env: filter.Env{Now: s.Now()}}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		req.Limit = max(1, n)
	}
	var err error
	if req.Spec, err = s.spec(v, filter.Since, filter.Project, filter.Agent); err != nil {
		p.Summary, p.Notes = "No list", []string{err.Error()}
	} else if err := s.list(r.Context(), p, req, v); err != nil {
		return err
	}
	if v.Get("part") == "list" {
		return s.write(w, http.StatusOK, "sessionlist", p)
	}
	if err := s.offer(r, &p.filterForm, v); err != nil {
		return err
	}
	return s.show(w, r, "sessions", "Sessions", p)
}

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
	if why := search.ExplainWords(res.Words, res.Removed, res.DidYouMean, search.Without); why != "" {
		p.Notes = append(p.Notes, why)
	}
	p.Summary = human.When(!res.TotalIsExact, "at least ") + human.Plural(res.Total, "session", "sessions")
	for i := range res.Sessions {
		p.Rows = append(p.Rows, s.sessionRow(&res.Sessions[i], &res.Index, searchParams{Text: p.Text, Scope: scope.Default}))
	}
	if len(p.Rows) == req.Limit && (res.Total > req.Limit || !res.TotalIsExact) {
		v.Set("limit", strconv.Itoa(4*req.Limit))
		v.Del("part")
		p.More = "/sessions?" + v.Encode()
	}
	return nil
}
