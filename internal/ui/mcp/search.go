package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/rank"
	"pigrep/query/words"
)

// SearchInput are the arguments of search.
type SearchInput struct {
	Query string `json:"query" range:"0,20000" jsonschema:"words to look for; also \"a phrase\", +required, !without, a OR b, word*, re:pattern, tool:bash, file:main.go, cmd:\"git push\" (resource pigrep://help/query)"`
	Filters
	Sort       string `json:"sort,omitempty" jsonschema:"default relevance"`
	AllWords   bool   `json:"allWords,omitempty" jsonschema:"only hits with every word"`
	Flat       bool   `json:"flat,omitempty" jsonschema:"list hits by rank, not by session"`
	Limit      int    `json:"limit,omitempty" range:"1,200" jsonschema:"sessions on a page, default 10; with flat hits, default 20"`
	PerSession int    `json:"perSession,omitempty" range:"1,200" jsonschema:"hits of one session, default 3"`
	Context    int    `json:"context,omitempty" range:"0,10" jsonschema:"entries shown before and after each hit, default 0; read_session shows more"`
	Paging
}

// searchAnswer is the answer of the search command, with paging.
type searchAnswer struct {
	head
	Query        string             `json:"query"`
	Scope        string             `json:"scope,omitempty"`
	AllWords     bool               `json:"allWords,omitempty"`
	Hits         []query.Hit        `json:"hits"`
	Sessions     []query.SessionHit `json:"sessions,omitzero"`
	Total        int                `json:"total" jsonschema:"hits with every word"`
	TotalAny     int                `json:"totalAny" jsonschema:"all hits"`
	Minor        int                `json:"minor,omitempty" jsonschema:"hits with words that say little only; they are left out"`
	TotalIsExact bool               `json:"totalIsExact"`
	DidYouMean   string             `json:"didYouMean,omitempty"`
	Words        []query.WordCount  `json:"words,omitempty" jsonschema:"if no hit has every word: the hits of each word alone, with the same filters"`
	Removed      []query.Removed    `json:"removed,omitempty" jsonschema:"if no hit has every word: how many hits there are without a filter"`
	tail
}

func (s *server) addTools(m *mcp.Server) {
	add(m, s, tool[SearchInput]{
		name: "search", title: "Search past sessions",
		description: "Ranked full-text search over past sessions: what was asked, answered and done. Use it to find where something was discussed or solved. Hits with more of the query come first. Returns fragments; read_session reads more.",
		output:      open(schemaOf[searchAnswer]()), call: s.search,
	})
	s.addGrep(m)
	s.addFix(m)
	s.addSessions(m)
	s.addRead(m)
	s.addAudits(m)
	s.addStatus(m)
}

func (s *server) search(ctx context.Context, in *SearchInput) (*mcp.CallToolResult, error) {
	order, err := rank.ParseSort(in.Sort)
	if err != nil {
		return nil, &Error{codeInput, err.Error(), ""}
	}
	standard := query.DefaultLimit
	if in.Flat {
		standard = query.DefaultFlatLimit
	}
	q, err := s.ask(ctx, in, listing{tool: "search", text: in.Query, filters: in.Filters, limit: in.Limit, rows: standard, paging: &in.Paging})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	req, window := q.request, max(q.at.Window, q.limit)
	// One more than the page has, to know whether there is more.
	req.Limit, req.PerSession, req.Flat, req.Sort = window+1, in.PerSession, in.Flat, order
	req.AllWords, req.Before, req.After = in.AllWords, in.Context, in.Context
	res, err := query.Search(ctx, q.Reader, s.Adapter, s.Files, req)
	if err != nil {
		return nil, q.failed(err)
	}
	hits, more := res.Hits, false
	if in.Flat {
		more = len(hits) > window
		hits = hits[:min(len(hits), window)]
	} else if more = len(res.Sessions) > window; more {
		last := res.Sessions[window].SessionPath
		hits = hits[:slices.IndexFunc(hits, func(h query.Hit) bool { return h.SessionPath == last })]
	}
	answer := searchAnswer{
		head: head{printer.SchemaVersion, "search"}, Query: in.Query, Scope: in.scopeName(), AllWords: in.AllWords, Total: res.Total, TotalAny: res.TotalAny, Minor: res.Minor,
		TotalIsExact: res.TotalIsExact, DidYouMean: res.DidYouMean, Words: slices.Clone(res.Words), Removed: removed(res.Removed, in.Filters, q.leftOut),
	}
	for i := range answer.Words {
		answer.Words[i].Removed = removed(answer.Words[i].Removed, in.Filters, q.leftOut)
	}
	p := rowPage[query.Hit]{
		rows: hits[min(q.at.At, len(hits)):], more: more, tail: q.tail(res.Warnings, res.Index),
		line: func(h *query.Hit) string { return hitText(h, q.short) },
	}
	p.next = func(c *cursor, n int) {
		c.At, c.Window = c.At+n, window
		if n == len(p.rows) {
			c.Window += q.limit
		}
	}
	p.say = func(hits []query.Hit, t tail) (any, string) {
		a := answer
		a.Hits, a.tail = hits, t
		if !in.Flat {
			a.Sessions = sessionsOf(res.Sessions, hits)
		}
		return a, searchText(&a, q.short)
	}
	return p.cut(q)
}

// failed explains an error in answering. A damaged index is rebuilt before the next call.
func (q *question) failed(err error) error {
	if errors.Is(err, index.ErrDamaged) {
		q.Damaged()
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

// removed names filters as the arguments do.
func removed(list []query.Removed, f Filters, out *leftOut) []query.Removed {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Filter == "exclude" && len(f.Exclude) == 0 && out != nil {
			list[i].Filter = "includeCurrent"
		}
	}
	return list
}

// sessionsOf returns the sessions of these hits.
func sessionsOf(all []query.SessionHit, hits []query.Hit) []query.SessionHit {
	list := []query.SessionHit{}
	for i := range all {
		if slices.ContainsFunc(hits, func(h query.Hit) bool { return h.SessionPath == all[i].SessionPath }) {
			list = append(list, all[i])
		}
	}
	return list
}

// searchText is the answer as text.
func searchText(a *searchAnswer, short func(string) string) string {
	var b strings.Builder
	switch {
	case a.TotalAny == 0:
		fmt.Fprintf(&b, "No hits in %d session files.\n", a.Index.Files)
	case a.Total == a.TotalAny-a.Minor:
		fmt.Fprintf(&b, "%s.\n", human.Plural(a.Total, "hit", "hits"))
	default:
		fmt.Fprintf(&b, "%s, %d with every word.\n", human.Plural(a.TotalAny-a.Minor, "hit", "hits"), a.Total)
	}
	if why := query.ExplainWords(a.Words, a.Removed, without); why != "" {
		b.WriteString(why + ".\n")
	}
	if a.Minor > 0 {
		fmt.Fprintf(&b, "%s left out.\n", human.Plural(a.Minor, "weaker hit", "weaker hits"))
	}
	if a.DidYouMean != "" {
		fmt.Fprintf(&b, "Did you mean: %s\n", a.DidYouMean)
	}
	all := ""
	if a.TotalAny > 0 {
		all = " with every word"
	}
	for _, r := range a.Removed {
		fmt.Fprintf(&b, "%s%s %s.\n", human.Plural(r.Hits, "hit", "hits"), all, without(r.Filter))
	}
	last := ""
	for i := range a.Hits {
		h := &a.Hits[i]
		if a.Sessions != nil && h.SessionPath != last {
			last = h.SessionPath
			for k := range a.Sessions {
				if a.Sessions[k].SessionPath == last {
					b.WriteString("\n" + sessionText(&a.Sessions[k], short) + "\n")
				}
			}
		}
		b.WriteString(hitText(h, short) + "\n")
	}
	a.tail.write(&b)
	return b.String()
}

// without says how to drop a filter.
func without(filter string) string {
	switch filter {
	case "includeCurrent":
		return "with includeCurrent"
	case "all":
		return "without any filter"
	case "scope":
		return "with scope all"
	case query.FilterAllWords:
		return "without allWords"
	}
	return "without " + filter
}

// hitText is a hit on two lines.
func hitText(h *query.Hit, short func(string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s %s", h.Rank, reference(short, h.SessionID, h.SessionPath, h.EntryID), h.Kind)
	if h.Tool != "" {
		b.WriteString(" " + h.Tool)
	}
	b.WriteString(" " + dayOf(h.Timestamp))
	if h.IsError {
		b.WriteString(" error")
	}
	if h.Branch == entry.BranchAbandoned {
		b.WriteString(" abandoned")
	}
	for _, note := range h.Notes() {
		b.WriteString(" " + note)
	}
	for _, n := range h.Before {
		fmt.Fprintf(&b, "\n   before: %s %s", n.Kind, n.Text)
	}
	b.WriteString("\n   " + h.Fragment.Text)
	for _, n := range h.After {
		fmt.Fprintf(&b, "\n   after: %s %s", n.Kind, n.Text)
	}
	return b.String()
}

// reference is the name of an entry that read_session accepts.
func reference(short func(string) string, id, path, entry string) string {
	if id == "" {
		id = path
	} else {
		id = short(id)
	}
	if entry == "" {
		return id
	}
	return id + ":" + entry
}

// sessionText is a session on one line.
func sessionText(x *query.SessionHit, short func(string) string) string {
	title := beginning(x.Title, 80)
	parts := []string{reference(short, x.SessionID, x.SessionPath, ""), dayOf(x.Modified), x.CWD, human.Plural(x.Messages, "message", "messages"), title}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func dayOf(t session.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// beginning returns the first bytes of a text on one line.
func beginning(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}
