package sessions

import (
	"cmp"
	"context"
	"slices"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/rank"
)

// Request asks for a list of sessions: all that the filters let through,
// or with a text those with hits.
type Request struct {
	Text string
	filter.Spec
	Sort   rank.Sort        // with a text
	Limit  int              // 0: all, with a text 20
	Env    filter.Env       // what fields in the text are read with
	Resume query.ResumeFunc // how sessions are resumed; nil: the list says nothing of it
	Redact bool             // what looks like a secret is masked in what is shown

	Named bool // only sessions with a name
	Forks bool // only sessions that are forks or were forked, families together
}

// Of returns the request for the sessions that a search would find.
func Of(r query.Request) Request {
	return Request{
		Text: r.Text, Spec: r.Spec, Sort: r.Sort, Limit: r.Limit, Env: r.Env, Resume: r.Resume, Redact: r.Redact,
	}
}

// Response is the answer to a SessionsRequest.
type Response struct {
	Sessions     []Session
	Total        int  // sessions before the limit
	TotalIsExact bool // false when a search ended at the limit
	Warnings     []string
	DidYouMean   string          // as in a Response
	Removed      []query.Removed // likewise
	Index        query.IndexState
}

// Session is a session of a list. Score and the counts of hits are set when
// there was a text to search for.
type Session struct {
	query.SessionHit
	ParentPath string     // of the parent, when it is indexed
	Depth      int        // forks above it that are in the list, when families stand together
	Hit        *query.Hit // its best hit
}

// List lists sessions, the latest activity first, or with a text the best
// match first. Without a text and without filters on single entries it reads
// nothing but the summaries.
func List(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	l := &sessionLister{r: r, req: &req, lineage: NewLineage(r.Summaries())}
	list := &Response{TotalIsExact: true, Index: query.StateOf(r)}
	if req.Text != "" {
		return list, l.search(ctx, a, src, list)
	}
	members, err := l.filter(ctx)
	if err != nil {
		return nil, err
	}
	list.Total = len(members)
	depth := make([]int, len(members))
	if req.Forks {
		members, depth = l.lineage.families(members)
	} else {
		l.sort(members)
	}
	if req.Limit > 0 && len(members) > req.Limit {
		members = members[:req.Limit]
	}
	list.Sessions = make([]Session, len(members))
	for at, i := range members {
		list.Sessions[at] = l.listed(i)
		list.Sessions[at].Depth = depth[at]
	}
	return list, nil
}

type sessionLister struct {
	r       *index.Reader
	req     *Request
	lineage *Lineage
}

// sort orders sessions by their latest activity.
func (l *sessionLister) sort(members []int) {
	modified := make([]int64, len(l.r.Summaries()))
	for _, i := range members {
		modified[i] = l.r.Summaries()[i].Modified().UnixNano()
	}
	slices.SortFunc(members, func(a, b int) int {
		return cmp.Or(cmp.Compare(modified[b], modified[a]), cmp.Compare(a, b)) // summaries are ordered by path
	})
}

// search lists the sessions with hits.
func (l *sessionLister) search(ctx context.Context, a adapter.Adapter, src entry.Source, list *Response) error {
	limit := cmp.Or(max(l.req.Limit, 0), DefaultSessions)
	req := query.Request{
		Text: l.req.Text, Spec: l.req.Spec, Sort: l.req.Sort, Limit: limit, PerSession: 1,
		Env: l.req.Env, Resume: l.req.Resume, Redact: l.req.Redact,
	}
	narrowed := l.req.Named || l.req.Forks
	if narrowed {
		req.Only = func(s *session.Summary) bool { return l.wanted(l.lineage.IndexOf(s.Path)) }
	}
	resp, err := query.Search(ctx, l.r, a, src, req)
	if err != nil {
		return err
	}
	list.Warnings, list.DidYouMean, list.Removed = resp.Warnings, resp.DidYouMean, resp.Removed
	hits := make(map[string]*query.Hit, len(resp.Hits))
	for i := range resp.Hits {
		hits[resp.Hits[i].SessionPath] = &resp.Hits[i]
	}
	for _, hit := range resp.Sessions {
		i := l.lineage.IndexOf(hit.SessionPath)
		if i < 0 {
			continue
		}
		s := l.listed(i)
		s.Score, s.Hits, s.HitsAny, s.Resume = hit.Score, hit.Hits, hit.HitsAny, hit.Resume
		s.Hit = hits[hit.SessionPath]
		list.Sessions = append(list.Sessions, s)
	}
	list.Total, list.TotalIsExact = len(list.Sessions), len(resp.Sessions) < limit
	if narrowed {
		list.Total, list.TotalIsExact = resp.SessionTotal, true
	}
	return nil
}

// DefaultSessions is how many sessions a search lists that names no limit.
const DefaultSessions = 20

// wanted applies the filters that are about whole sessions and that searching
// does not know.
func (l *sessionLister) wanted(i int) bool {
	s := &l.r.Summaries()[i]
	switch {
	case l.req.Named && s.Name == "":
		return false
	case l.req.Forks && s.ParentSession == "" && len(l.lineage.forks[i]) == 0:
		return false
	}
	return true
}

// filter returns the sessions that the filters let through. Files that hold no
// session are none. A session passes filters on documents when one of its documents
// passes all of them.
func (l *sessionLister) filter(ctx context.Context) ([]int, error) {
	spec := l.req.Spec.WithAllKinds()
	models := spec.Models // the summary knows them
	spec.Models = nil
	f := spec.Compile()
	var files map[uint32]bool
	if f.TestsKeywords() {
		var err error
		if files, err = filesWith(l.r, f); err != nil {
			return nil, err
		}
	}
	summaries := l.r.Summaries()
	members := make([]int, 0, len(summaries))
	for i := range summaries {
		s := &summaries[i]
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case s.Version == 0 && s.Messages == 0, files != nil && !files[s.File], !l.wanted(i), !f.Session(s):
			continue
		case len(models) > 0 && !slices.ContainsFunc(s.Models, func(m string) bool { return filter.IsModel(m, models) }):
			continue
		}
		ok, err := l.hasEntry(f, s)
		if err != nil {
			return nil, err
		}
		if ok {
			members = append(members, i)
		}
	}
	return members, nil
}

// hasEntry reports whether a session has an entry on the branch that a filter asks
// for, and one inside of its times.
func (l *sessionLister) hasEntry(f *filter.Filter, s *session.Summary) (bool, error) {
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

// filesWith returns the files that have a document with the keywords that a filter
// asks for.
func filesWith(r *index.Reader, f *filter.Filter) (map[uint32]bool, error) {
	found := make(map[uint32]bool)
	for _, seg := range r.Segments() {
		files, err := seg.Files()
		if err != nil {
			return nil, err
		}
		docs, err := f.Keywords(seg)
		if err != nil {
			return nil, err
		}
		for doc := range uint32(seg.Len()) {
			if file := files.Of(doc); docs.Has(doc) && file != index.NoFile { // of live documents
				found[file] = true
			}
		}
	}
	return found, nil
}

// listed makes a row of the list from the summary alone.
func (l *sessionLister) listed(i int) Session {
	s := describe(l.lineage, i, l.req.Resume)
	if l.req.Redact {
		s.Redact()
	}
	return s
}

// Describe returns what a list says about session i of the lineage.
func (l *Lineage) Describe(i int, how query.ResumeFunc) query.SessionHit {
	return describe(l, i, how).SessionHit
}

func describe(l *Lineage, i int, how query.ResumeFunc) Session {
	s := &l.sessions[i]
	d := Session{SessionHit: query.Describe(s, how)}
	d.Forks = len(l.forks[i])
	if p := l.Parent(i); p != nil {
		d.ParentPath = p.Path
	}
	return d
}

// Row is a session of a list in JSON. Score and hits are there when there
// was a text to search for.
type Row struct {
	query.SessionHit
	Score      *float64 `json:"score,omitempty"`
	Hits       *int     `json:"hits,omitempty"`
	HitsAny    *int     `json:"hitsAny,omitempty"`
	ParentPath string   `json:"parentPath,omitempty"`
	Depth      int      `json:"depth,omitempty"`
	Best       string   `json:"entryId,omitempty"` // of the best hit
}

// Row returns the session as it is in JSON.
func (s *Session) Row(searched bool) Row {
	r := Row{SessionHit: s.SessionHit, ParentPath: s.ParentPath, Depth: s.Depth}
	if searched {
		r.Score, r.Hits, r.HitsAny = &s.Score, &s.Hits, &s.HitsAny
		if s.Hit != nil {
			r.Best = s.Hit.EntryID
		}
	}
	return r
}
