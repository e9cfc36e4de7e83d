package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
)

// SearchInput are the arguments of search.
type SearchInput struct {
	Query string `json:"query" range:"0,20000" jsonschema:"words; also \"a phrase\", +required, !without, a OR b, word*, re:pattern, tool:bash, file:main.go, cmd:\"git push\""`
	Filters
	Sort       string `json:"sort,omitempty" jsonschema:"default relevance"`
	AllWords   bool   `json:"allWords,omitempty" jsonschema:"only hits with every word"`
	Any        bool   `json:"any,omitempty" jsonschema:"looser hits"`
	Flat       bool   `json:"flat,omitempty" jsonschema:"by rank, not by session"`
	Limit      int    `json:"limit,omitempty" range:"1,200" jsonschema:"sessions a page, default 3; flat: hits, 10"`
	PerSession int    `json:"perSession,omitempty" range:"1,200" jsonschema:"hits of a session, default 1, of the first 3"`
	Context    int    `json:"context,omitempty" range:"0,10" jsonschema:"entries around each hit, default 0"`
	Paging
}

// The defaults are fewer than people get: an agent pays for each hit, and asks again.
const (
	defaultSessions = 3
	defaultFlat     = 10
	hitsOfFirst     = 3   // of the first session; of the others, the best one
	longestFragment = 140 // bytes, about
)

// spare is how many sessions, or hits with flat, are ranked beyond a page, since those that lack the
// weightiest word are only counted.
const spare = 8

// searchAnswer is the answer of search: sessions with their hits, or hits by rank.
type searchAnswer struct {
	about
	Sessions   []sessionHits `json:"sessions,omitzero"`
	Hits       []hitRow      `json:"hits,omitzero" jsonschema:"with flat"`
	Total      int           `json:"total" jsonschema:"hits with every word"`
	Looser     int           `json:"looser,omitempty" jsonschema:"hits that lack a word"`
	Folded     int           `json:"folded,omitempty" jsonschema:"of them, those that any true lists"`
	Inexact    bool          `json:"inexact,omitempty" jsonschema:"the totals may be larger"`
	DidYouMean string        `json:"didYouMean,omitempty"`
	Notes      []string      `json:"notes,omitempty" jsonschema:"why there are no hits, or no more"`
}

// sessionHits is a session with its hits, which do not repeat its name.
type sessionHits struct {
	sessionRow
	Hits []hitRow `json:"hits"`
}

type hitRow struct {
	place
	Agent     string       `json:"agent,omitempty"`
	Kind      session.Kind `json:"kind,omitempty"`
	Tool      string       `json:"tool,omitempty"`
	Time      string       `json:"time,omitempty" jsonschema:"below a session, if on another day than modified"`
	Error     bool         `json:"error,omitempty"`
	Abandoned bool         `json:"abandoned,omitempty" jsonschema:"on an abandoned branch"`
	Missing   string       `json:"missing,omitempty" jsonschema:"words of the query that it lacks; (these) are elsewhere in its session"`
	Note      string       `json:"note,omitempty"`
	Before    []string     `json:"before,omitempty" jsonschema:"entries, with context"`
	Text      string       `json:"text"`
	Answered  string       `json:"answered,omitempty" jsonschema:"last reply of the turn of a prompt: ENTRY TEXT"`
	After     []string     `json:"after,omitempty"`

	session *sessionRow // which the hit is the first one of; nil if it is not, or with flat
}

// addTools adds the tools, in the order that agents see.
func (s *server) addTools() {
	addList[searchAnswer](s, "search", func(in *SearchInput) listing {
		limit := cmp.Or(in.Limit, defaultSessions)
		if in.Flat {
			limit = cmp.Or(in.Limit, defaultFlat)
		}
		return listing{text: in.Query, filters: in.Filters, limit: limit, paging: &in.Paging}
	}, s.search)
	addList[grepAnswer](s, "grep", func(in *GrepInput) listing {
		return listing{filters: in.Filters, limit: cmp.Or(in.Limit, defaultLines), paging: &in.Paging}
	}, s.grep)
	addList[fixAnswer](s, "find_fix", func(in *FixInput) listing {
		return listing{text: in.Error, filters: Filters{Where: in.Where}, limit: cmp.Or(in.Limit, fixSessions), paging: &in.Paging}
	}, s.fix)
	addList[sessionsAnswer](s, "list_sessions", func(in *SessionsInput) listing {
		return listing{text: in.Query, filters: in.Filters, limit: cmp.Or(in.Limit, listedSessions), paging: &in.Paging}
	}, s.sessions)
	add(s, "read_session", open(schemaOf[readAnswer]()), s.read)
	addList[callsAnswer](s, "tool_calls", func(in *CallsInput) listing {
		filters := Filters{Where: in.Where, IncludeSearches: in.IncludeSearches}
		filters.Given["tool"] = in.Tool
		return listing{text: in.Query, filters: filters, limit: cmp.Or(in.Limit, defaultCalls), paging: &in.Paging}
	}, s.calls)
	addList[usageAnswer](s, "usage", func(in *UsageInput) listing {
		return listing{filters: Filters{Where: in.Where}, limit: cmp.Or(in.Limit, defaultLines), paging: &in.Paging}
	}, s.usage)
	addList[recapAnswer](s, "recap", func(in *RecapInput) listing {
		return listing{filters: Filters{Where: in.Where}, limit: cmp.Or(in.Limit, recapLines), paging: &in.Paging}
	}, s.recap)
	addList[blameAnswer](s, "blame", func(in *BlameInput) listing {
		return listing{filters: Filters{Where: in.Where}, limit: cmp.Or(in.Limit, blameBlocks), paging: &in.Paging}
	}, s.blame)
	add(s, "status", open(schemaOf[statusAnswer]()), s.status)
}

func (s *server) search(ctx context.Context, q *question, in *SearchInput) (*rowPage[hitRow], error) {
	order, _ := rank.ParseSort(in.Sort) // it is one of the names: see enums
	req, window := q.request, max(q.at.Window, q.limit)
	req.Limit, req.PerSession, req.Flat, req.Sort = window+spare, cmp.Or(in.PerSession, hitsOfFirst), in.Flat, order
	req.UntilDeadline, req.PhraseBytes, req.Answers = true, search.FastPhraseBytes, true
	req.AllWords, req.Any, req.Before, req.After = in.AllWords, in.Any, in.Context, in.Context
	res, err := q.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	owner := res.Owners()
	hits, folded, more := in.chosen(res, owner, window)
	answer := searchAnswer{
		Total: res.Total, Looser: res.Looser(), Folded: folded, Inexact: !res.TotalIsExact, DidYouMean: res.DidYouMean,
		Notes: notes(res, q.leftOut != nil && len(in.Given[filter.Exclude]) == 0),
	}
	if res.Late {
		res.Warnings = append(res.Warnings, s.late())
	}
	p := &rowPage[hitRow]{more: more, about: q.about(&res.Index, res.Warnings), head: answer.head(res), line: (*hitRow).text}
	p.about.leaveOut(res.Searches)
	p.about.Complete = p.about.Complete && !res.Late
	var known *search.SessionHit // of the hit before
	var session sessionRow       // the same
	p.rows = rowsFrom(q, hits, func(h *search.Hit) hitRow {
		row := q.hit(h)
		if len(q.request.Kinds) == 1 {
			row.Kind = "" // which the reader knows
		}
		if in.Flat {
			return row
		}
		if of := owner(h); of != known {
			known, session = of, q.row(row.Session, of)
			session.Messages = 0 // its hits say more
			if !s.Reveal {
				redact.Strings(&session)
			}
			row.session = new(session)
		}
		row.Session, row.Agent = session.Session, "" // which stands above the hits
		if strings.HasPrefix(session.Modified, row.Time[:min(len(row.Time), len("2006-01-02"))]) {
			row.Time = ""
		}
		return row
	})
	p.next = func(c *cursor, n int) {
		c.At, c.Window = c.At+n, window
		if n == len(p.rows) {
			c.Window += q.limit
		}
	}
	p.answer = func(hits []hitRow, f about) any {
		a := answer
		a.about = f
		if in.Flat {
			a.Hits = hits
		} else {
			a.Sessions = grouped(hits)
		}
		return a
	}
	return p, nil
}

// chosen returns the hits of the first sessions, or with flat the first hits; the number of looser hits
// that are only counted; and whether there are more of the others. After the first hit with every word, it
// only counts hits of sessions without the weightiest word.
func (in *SearchInput) chosen(res *search.Response, owner func(*search.Hit) *search.SessionHit, window int) (hits []search.Hit, folded int, more bool) {
	var last *search.SessionHit
	whole, taken, ofLast := false, 0, 0
	listed := 0 // looser hits of what is taken
	for i := range res.Hits {
		h := &res.Hits[i]
		if whole = whole || !h.Loose; whole && h.Loose && h.MissingRarest && !in.Any {
			continue
		}
		of := owner(h)
		if in.Flat || of != last {
			if taken == window {
				return hits, res.Folded, true
			}
			if taken, last, ofLast = taken+1, of, 0; of != nil {
				listed += of.Looser
			} else if h.Loose {
				listed++
			}
		}
		if ofLast++; ofLast == 1 || taken == 1 || in.PerSession > 0 {
			hits = append(hits, *h)
		}
	}
	return hits, max(0, res.Looser()-listed), false
}

func (x *Index) hit(h *search.Hit) hitRow {
	missing, elsewhere := h.Told()
	for i, word := range missing {
		if slices.Contains(elsewhere, word) {
			missing[i] = "(" + word + ")"
		}
	}
	other := *h
	other.Missing = nil
	row := hitRow{
		place: x.place(h.SessionID, h.SessionPath, h.Entry()), Agent: human.Badge(h.Host, h.Agent, x.Several, h.Kept), Kind: h.Kind, Tool: h.Tool, Time: minute(h.Timestamp), Error: h.IsError,
		Abandoned: h.Branch == entry.BranchAbandoned, Missing: visible(strings.Join(missing, ", ")), Note: visible(strings.Join(other.Notes(), "; ")), Text: visible(strings.TrimSpace(around(h.Fragment.Text, h.Fragment.Spans, longestFragment))),
	}
	if a := h.Answered; a != nil {
		row.Answered = strings.TrimSpace(sessions.EntryName(a.Entry(), a.Offset) + " " + visible(around(a.Fragment.Text, a.Fragment.Spans, longestFragment)))
	}
	beside := func(n search.Neighbour) string { return fmt.Sprintf("%s %s", n.Kind, visible(n.Text)) }
	row.Before, row.After = lists.Map(h.Before, beside), lists.Map(h.After, beside)
	return row
}

func grouped(hits []hitRow) []sessionHits {
	list := []sessionHits{}
	for _, h := range hits {
		if h.session != nil {
			list = append(list, sessionHits{sessionRow: *h.session})
		}
		h.Session = ""
		last := &list[len(list)-1]
		last.Hits = append(last.Hits, h)
	}
	return list
}

// failed explains an error in answering. A damaged index is rebuilt before the next call.
func (q *question) failed(err error) error {
	if errors.Is(err, index.ErrDamaged) {
		q.Damaged()
	}
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return (*Error)(e)
	}
	if e, ok := errors.AsType[*words.TextError](err); ok {
		hint := e.Hint
		if e.Grep {
			hint += ": the tool grep with fixed true"
		}
		return &Error{codeQuery, e.Reason, hint}
	}
	return err
}

// notes says why there are no hits, or none with every word, and what would give more. Filters have
// the names of arguments; own: the only excluded session is the agent's own.
func notes(res *search.Response, own bool) (list []string) {
	named := func(removed []search.Removed) []search.Removed {
		return lists.Map(removed, func(r search.Removed) search.Removed {
			if own && r.Filter == filter.Exclude {
				r.Filter = "includeCurrent"
			}
			return r
		})
	}
	words, without := slices.Clone(res.Words), named(res.Removed)
	for i := range words {
		words[i].Removed = named(words[i].Removed)
	}
	if why := search.ExplainWords(words, without, res.DidYouMean, dropping); why != "" {
		list = append(list, visible(why)+".")
	}
	if n := res.Index.SkippedLines; n > 0 && res.Total+res.TotalAny == 0 {
		list = append(list, human.Plural(n, "malformed line was", "malformed lines were")+" not searched.")
	}
	all := ""
	if res.TotalAny > 0 {
		all = " with every word"
	}
	for _, r := range without {
		list = append(list, fmt.Sprintf("%s%s %s.", human.Plural(r.Hits, "hit", "hits"), all, visible(dropping(r.Filter))))
	}
	return list
}

// dropping says how to drop a filter.
func dropping(name string) string {
	switch name {
	case "includeCurrent":
		return "with includeCurrent"
	case filter.Searches:
		return "with includeSearches"
	case "all":
		return "without any filter"
	case "scope":
		return "with scope all"
	case search.FilterAllWords:
		return "without allWords"
	}
	return "without " + name
}

// head says how many hits there are, and what would give more.
func (a *searchAnswer) head(res *search.Response) string {
	found := search.Found(res.Counts()) + human.When(a.Total == 0, ", none with every word")
	if a.Total+a.Looser == 0 { // without files, nothing in an archive could have a hit
		found = "No hits" + human.When(res.Index.Files > 0, " in "+human.Plural(res.Index.Files, "session file", "session files"))
	}
	apart := search.Apart(res.Counts())
	if a.Folded > 0 {
		apart = human.When(a.Folded < a.Looser, human.Number(a.Folded)+" of ") + apart + " not listed (any true lists them)."
	} else if apart != "" {
		apart = "And " + apart + "."
	}
	return human.Joined("\n", found+".", apart, strings.Join(a.Notes, "\n"), human.When(a.DidYouMean != "", "Did you mean: "+a.DidYouMean))
}

// text returns a hit on two lines, below its session if it is the first one of it.
func (h *hitRow) text() string {
	var b strings.Builder
	if h.session != nil {
		b.WriteString("\n" + h.session.text() + "\n")
	}
	b.WriteString(human.Joined(" ", h.place.String(), string(h.Kind), h.Agent, h.Tool, h.Time, human.When(h.Error, "error"), human.When(h.Abandoned, "abandoned"), human.When(h.Missing != "", "missing: "+h.Missing), h.Note))
	for _, line := range h.Before {
		b.WriteString("\n   before: " + line)
	}
	b.WriteString("\n   " + h.Text)
	b.WriteString(human.When(h.Answered != "", "\n   answered: "+h.Answered))
	for _, line := range h.After {
		b.WriteString("\n   after: " + line)
	}
	return b.String()
}
