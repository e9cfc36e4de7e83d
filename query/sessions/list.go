// Package sessions answers questions about whole sessions: which ones there are,
// which one a name means, and which one was forked from which.
//
// List is the central function. Without a text it reads the summaries that the index
// keeps of every session, and session records only for filters on single entries.
// With a text it runs a search and lists the sessions with hits.
//
// A session is a fork when its header names a parent; a family is a session with all
// its forks and theirs. Twins are files with the same session id, which imports and
// exports leave behind. A facet is a value that a field of the query language can be
// set to.
//
// The package imports query and everything below it. It knows no output format and
// no command line.
package sessions

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/lists"
	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/scope"
)

// Request asks for a list of sessions: all that pass the filters, or with a text
// those with hits.
type Request struct {
	Text string
	filter.Spec
	Sort   rank.Sort         // with a text
	Limit  int               // 0: all, with a text 20
	Env    filter.Env        // clock and home directory for the fields in the text
	Resume search.ResumeFunc `json:"-"` // how sessions are resumed; nil: rows have no resume command
	Redact bool              // mask what looks like a secret in the answer

	// Costs returns what sessions cost, by their paths; nil: as far as their summaries say it.
	Costs func(context.Context, *index.Reader, []*session.Summary) (map[string]price.Spent, error) `json:"-"`

	search.Among

	Order string // one of Orders; "": the latest first, or with a text the best match
	Any   bool   // as of search.Request
	Named bool   // only sessions with a name
	Forks bool   // only forks and sessions that have forks, each family together

	// Subagents lists subagents too. Without it, and without a text or sessions that are
	// named, the session that a subagent works for stands for it.
	Subagents bool
}

func FromSearch(r search.Request) Request {
	return Request{
		Text: r.Text, Spec: r.Spec, Sort: r.Sort, Any: r.Any, Limit: r.Limit, Env: r.Env, Resume: r.Resume, Redact: r.Redact,
	}
}

// Response is the answer to a Request.
type Response struct {
	Sessions     []Session
	Total        int                // sessions before the limit
	TotalIsExact bool               // false when a search stopped at the limit
	DidYouMean   string             `wire:"say"` // as in search.Response, like the next two
	Words        []search.WordCount // only for a request with a text
	Removed      []search.Removed
	search.About

	// With Request.Together:
	Found *search.Response `json:",omitempty"` // with a text: the search whose sessions these are
	Held  []uint64         `json:",omitempty"` // without a text: the session.Summary.Identity of each session, before the limit; 0 without an id
}

// Orders are the orders in which a list may be asked for, each with the largest first.
var Orders = []string{"cost", "tokens", "messages", "size", "newest"}

// Arrange puts a list into the order of the request, and leaves out what is beyond its limit.
func (r *Request) Arrange(list []Session) []Session {
	of := map[string]func(s *Session) float64{
		"cost": func(s *Session) float64 { return s.Cost }, "tokens": func(s *Session) float64 { return float64(s.Tokens) },
		"messages": func(s *Session) float64 { return float64(s.Messages) }, "size": func(s *Session) float64 { return float64(s.Size) },
		"newest": func(s *Session) float64 { return 0 },
	}[r.Order]
	if of == nil {
		return list
	}
	lists.SortStable(list, func(a, b Session) int {
		return cmp.Or(cmp.Compare(of(&b), of(&a)), b.Modified.Compare(a.Modified.Time), cmp.Compare(a.SessionPath, b.SessionPath))
	})
	if limit := r.most(); limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list
}

// most is how many sessions are listed; 0 for all.
func (r *Request) most() int {
	if r.Text != "" {
		return cmp.Or(max(r.Limit, 0), DefaultSessions)
	}
	return r.Limit
}

// Session is one row of the list. Score and the counts of hits are set when the
// request had a text.
type Session struct {
	search.SessionHit
	ParentPath string      `wire:"session"` // of the parent, when it is indexed
	Size       int64       // bytes of its file, as it is stored
	Subagents  int         // that work for it or for its subagents
	Depth      int         // with Request.Forks: how many of its ancestors are in the list
	Hit        *search.Hit // the best hit
}

// List lists sessions, the latest activity first, or with a text the best match
// first. Without a text and without filters on single entries it reads only
// summaries.
func List(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	l := &lister{r: r, req: &req, lineage: NewLineage(r)}
	list := &Response{TotalIsExact: true, About: search.About{Index: search.StateOf(r)}}
	if req.Text != "" {
		return list, l.search(ctx, a, src, list)
	}
	members, err := l.filter(ctx)
	if err != nil {
		return nil, err
	}
	list.Total = len(members)
	if len(members) == 0 {
		if list.Warnings, err = search.Unknown(r, &req.Spec, nil); err != nil {
			return nil, err
		}
	}
	depth := make([]int, len(members))
	if req.Forks {
		members, depth = l.lineage.families(members)
	} else {
		slices.SortFunc(members, func(a, b int) int { return cmp.Or(cmp.Compare(l.modified[b], l.modified[a]), cmp.Compare(a, b)) }) // summaries are ordered by path
	}
	if req.Together {
		list.Held = lists.Map(members, func(i int) uint64 { return l.r.Summary(i).Identity() })
	}
	whole := req.Forks && req.Together // only all of a family says where it belongs
	if req.Limit > 0 && len(members) > req.Limit && !whole && req.Order == "" {
		members = members[:req.Limit]
	}
	list.Sessions = make([]Session, len(members))
	for at, i := range members {
		list.Sessions[at] = l.listed(i)
		list.Sessions[at].Depth = depth[at]
	}
	err = l.addCosts(ctx, list.Sessions)
	list.Sessions = req.Arrange(list.Sessions)
	return list, err
}

// addCosts adds what the sessions of a list cost.
func (l *lister) addCosts(ctx context.Context, list []Session) error {
	if l.req.Costs == nil {
		return nil
	}
	costs, err := l.req.Costs(ctx, l.r, lists.Map(list, func(s Session) *session.Summary { return l.lineage.Whole(l.lineage.IndexOf(s.SessionPath)) }))
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Spent = costs[list[i].SessionPath]
	}
	return nil
}

// lister answers one request.
type lister struct {
	r       *index.Reader
	req     *Request
	lineage *Lineage

	modified []int64 // of each file whose summary filter has read: the times of latest activity
}

// search lists the sessions with hits. Named and Forks restrict the search itself, so that only the
// hits of listed sessions are read, and the total is the total of the search.
func (l *lister) search(ctx context.Context, a adapter.Adapter, src entry.Source, list *Response) error {
	req := l.req.Search()
	if l.req.isNarrowed() {
		req.Only = func(s *session.Summary) bool {
			return l.passesLineage(l.lineage.Head(l.lineage.IndexOf(s.Path)))
		}
	}
	resp, err := search.Run(ctx, l.r, a, src, req)
	if err != nil {
		return err
	}
	l.req.Answer(list, resp)
	if req.Together {
		list.Found = resp
	}
	hits := make(map[string]*search.Hit, len(resp.Hits))
	for i := range resp.Hits {
		hits[l.r.Chains().Head(resp.Hits[i].SessionPath)] = &resp.Hits[i]
	}
	for _, hit := range resp.Sessions {
		i := l.lineage.IndexOf(hit.SessionPath)
		if i < 0 {
			continue
		}
		s := l.listed(i)
		s.Score, s.Hits, s.HitsAny, s.Looser, s.Resume = hit.Score, hit.Hits, hit.HitsAny, hit.Looser, hit.Resume
		s.Hit = hits[hit.SessionPath]
		list.Sessions = append(list.Sessions, s)
	}
	if err := l.addCosts(ctx, list.Sessions); err != nil {
		return err
	}
	list.Sessions = l.req.Arrange(list.Sessions)
	return nil
}

// Search returns the search that a request with a text makes.
func (r *Request) Search() search.Request {
	limit := r.most()
	if r.Order != "" {
		limit = everySession
	}
	return search.Request{
		Text: r.Text, Spec: r.Spec, Sort: r.Sort, Any: r.Any, Limit: limit, PerSession: 1,
		Env: r.Env, Resume: r.Resume, Redact: r.Redact, Among: r.Among,
	}
}

// isNarrowed reports whether the search has other sessions than its text and filters say.
func (r *Request) isNarrowed() bool { return r.Named || r.Forks }

// Answer takes over what a search says of the whole list.
func (r *Request) Answer(list *Response, found *search.Response) {
	list.Warnings, list.DidYouMean, list.Words, list.Removed = found.Warnings, found.DidYouMean, found.Words, found.Removed
	list.Total, list.TotalIsExact = len(found.Sessions), len(found.Sessions) < r.Search().Limit
	if r.isNarrowed() {
		list.Total, list.TotalIsExact = found.SessionTotal, found.TotalIsExact
	}
}

// DefaultSessions is the limit of a request with a text that names none.
const DefaultSessions = 20

// everySession is the limit of a search whose sessions are then put into another order.
const everySession = 1 << 20

// passesLineage applies Named and Forks, which search does not know.
func (l *lister) passesLineage(i int) bool {
	if !l.req.Named && !l.req.Forks {
		return true
	}
	s := l.r.Summary(i)
	return (!l.req.Named || s.Name != "") && (!l.req.Forks || s.ParentSession != "" || len(l.lineage.forks[i]) > 0)
}

// filter returns the sessions that pass the filters. A session passes filters on documents
// when one of its documents passes all of them.
func (l *lister) filter(ctx context.Context) ([]int, error) {
	spec := l.req.Spec.WithAllKinds()
	models := spec.Models // tested on the summary, which lists them
	spec.Models = nil
	f := spec.Compile()
	var files map[uint32]bool
	if f.TestsKeywords() {
		var err error
		if files, err = filesWith(l.r, f); err != nil {
			return nil, err
		}
	}
	var members []int
	listed := make(map[int]bool)
	l.modified = make([]int64, l.r.Table().Len())
	for i := range l.modified {
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		head := l.lineage.Head(i)
		if !l.req.Subagents && len(spec.Sessions) == 0 && l.lineage.Owner(head) >= 0 {
			continue // before its summary is read: there may be very many
		}
		s := l.r.Summary(i)
		l.modified[i] = s.Modified().UnixNano()
		switch {
		case !s.IsSession(), files != nil && !files[s.File], !l.passesLineage(head), !f.Session(s):
			continue
		case len(models) > 0 && !slices.ContainsFunc(s.Models, func(m string) bool { return filter.IsModel(m, models) }):
			continue
		}
		ok, err := l.hasEntry(f, s)
		if err != nil {
			return nil, err
		}
		if ok && head != i {
			listed[head] = true
		} else if ok {
			members = append(members, i)
		}
	}
	for _, i := range members {
		delete(listed, i)
	}
	return append(members, slices.Sorted(maps.Keys(listed))...), nil
}

// hasEntry reports whether a session has an entry on the branch of a filter, and one
// within its times; they need not be the same entry.
func (l *lister) hasEntry(f *filter.Filter, s *session.Summary) (bool, error) {
	if !f.TestsEntries() {
		return true, nil
	}
	inTime, onBranch := !f.TestsTime(), f.Branch() == ""
	switch v := f.EntryVerdict(s); {
	case v == filter.None:
		return false, nil
	case f.TestsTime() && s.Oldest.IsZero():
		inTime = f.Time(s.Created().UnixMilli())
	case f.TestsTime():
		inTime = f.Time(s.Oldest.UnixMilli()) || f.Time(s.Newest.UnixMilli())
	}
	if inTime && onBranch {
		return true, nil
	}
	rec, err := l.r.Record(s.File)
	if err != nil || rec == nil {
		return false, err
	}
	for i := range rec.Nodes {
		inTime = inTime || !s.Oldest.IsZero() && f.Time(rec.TimeOf(&rec.Nodes[i]).UnixMilli())
	}
	return inTime && (onBranch || entry.HasBranch(rec, f.Branch())), nil
}

// filesWith returns the files with a document that has the keywords of a filter.
func filesWith(r *index.Reader, f *filter.Filter) (map[uint32]bool, error) {
	found := make(map[uint32]bool)
	for _, seg := range r.Segments() {
		files, docs := seg.Files(), f.Keywords(seg)
		for doc := range uint32(seg.Len()) {
			if file := files.File(doc); docs.Has(doc) && file != segment.NoFile { // of live documents
				found[file] = true
			}
		}
	}
	return found, r.Fault()
}

// listed makes a row from the summary alone.
func (l *lister) listed(i int) Session {
	s := Session{SessionHit: search.Describe(l.lineage.Whole(i), l.req.Resume), Subagents: l.lineage.Subagents(i), Size: l.r.Summary(i).Size}
	s.Forks = len(l.lineage.forks[i])
	if p := l.lineage.Parent(i); p != nil {
		s.ParentPath = p.Path
	}
	if l.req.Redact {
		s.Redact()
	}
	return s
}

// Row is a row of the list in JSON. Score and hits are present when the request had a
// text.
type Row struct {
	search.SessionHit
	Size              int64    `json:"size,omitempty"` // bytes
	Score             *float64 `json:"score,omitempty"`
	Hits              *int     `json:"hits,omitempty"`
	HitsAny           *int     `json:"hitsAny,omitempty"`
	ParentPath        string   `json:"parentPath,omitempty"`
	Subagents         int      `json:"subagents,omitempty"`
	Depth             int      `json:"depth,omitempty"`
	session.EntryName          // of the best hit
}

// Row returns the JSON form of a session.
func (s *Session) Row(searched bool) Row {
	r := Row{SessionHit: s.SessionHit, Size: s.Size, ParentPath: s.ParentPath, Subagents: s.Subagents, Depth: s.Depth}
	if searched {
		r.Score, r.Hits, r.HitsAny = &s.Score, &s.Hits, &s.HitsAny
		if s.Hit != nil {
			r.EntryName = s.Hit.EntryName
		}
	}
	return r
}

// Facet is a useful value of a field of the query language.
type Facet struct {
	Field string
	Value string `wire:"exact"`
	Count int    // how many of Unit have it; 0: not counted
	Unit  string // "session" or "part"
}

// facetTimes are the usual values of after:.
var facetTimes = []string{"today", "yesterday", "1w", "2w", "1mo", "3mo", "1y"}

// Facets lists useful values of fields: kinds in the order of their table, tools, agents
// and models by descending count, projects by their latest activity. It reads no session
// records and no text.
func Facets(r *index.Reader) ([]Facet, error) {
	var list []Facet
	for _, row := range scope.Kinds {
		list = append(list, Facet{Field: "kind", Value: string(row.Kind)})
	}
	tools := make(map[string]int)
	for _, s := range r.Segments() {
		s.Terms(segment.FieldTool, nil, func(term []byte, count int) bool {
			tools[string(term)] += count
			return true
		})
	}
	list = append(list, byCount("tool", "part", session.JoinTools(tools))...)
	hosts, agents, models, projects := make(map[string]int), make(map[string]int), make(map[string]int), make(map[string]int)
	latest := make(map[string]time.Time) // activity in a project
	lineage := NewLineage(r)
	for i := range r.Summaries() {
		if lineage.Head(i) != i || r.Summaries()[i].Notes {
			continue
		}
		s, listed := lineage.Whole(i), 0 // what only subagents have is not counted
		if s.IsSession() && lineage.Listed(i) {
			listed = 1
		}
		agents[session.ShortAgent(s.Agent)] += listed
		hosts[filter.HostOf(s, "")] += listed
		names := make([]string, 0, 4)
		for _, m := range s.Models {
			names = append(names, m[strings.LastIndexByte(m, '/')+1:])
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			models[name] += listed
		}
		if name := path.Base(session.Slashed(s.CWD)); s.CWD != "" && name != "/" {
			projects[name] += listed
			if at := s.Modified(); at.After(latest[name]) {
				latest[name] = at
			}
		}
	}
	inOrder := byCount("project", "session", projects)
	lists.SortStable(inOrder, func(a, b Facet) int { return latest[b.Value].Compare(latest[a.Value]) })
	list = append(list, inOrder...)
	if len(hosts) > 1 {
		list = append(list, byCount(filter.Host, "session", hosts)...)
	}
	if len(agents) > 1 {
		list = append(list, byCount("agent", "session", agents)...)
	}
	list = append(list, byCount("model", "session", models)...)
	for _, t := range facetTimes {
		list = append(list, Facet{Field: "after", Value: t})
	}
	for _, b := range []string{entry.BranchActive, entry.BranchAbandoned} {
		list = append(list, Facet{Field: "branch", Value: b})
	}
	return list, r.Fault()
}

func byCount(field, unit string, counts map[string]int) []Facet {
	var list []Facet
	for v, n := range counts {
		if v != "" {
			list = append(list, Facet{field, v, n, unit})
		}
	}
	lists.Sort(list, func(a, b Facet) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
	return list
}
