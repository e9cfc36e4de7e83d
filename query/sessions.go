package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
)

// SessionsRequest asks for a list of sessions: all that the filters let through,
// or with a text those with hits.
type SessionsRequest struct {
	Request
	Named bool // only sessions with a name
	Forks bool // only sessions that are forks or were forked, families together
}

// SessionList is the answer to a SessionsRequest.
type SessionList struct {
	Sessions     []ListedSession
	Total        int  // sessions before the limit
	TotalIsExact bool // false when a search ended at the limit
	Warnings     []string
	DidYouMean   string    // as in a Response
	Removed      []Removed // likewise
	Index        IndexState
}

// ListedSession is a session of a list. Score and the counts of hits are set when
// there was a text to search for.
type ListedSession struct {
	SessionHit
	ParentPath string // of the parent, when it is indexed
	Depth      int    // forks above it that are in the list, when families stand together
	Hit        *Hit   // its best hit
}

// Sessions lists sessions, the latest activity first, or with a text the best
// match first. Without a text and without filters on single entries it reads
// nothing but the summaries.
func Sessions(ctx context.Context, r *index.Reader, a adapter.Adapter, src Source, req SessionsRequest) (*SessionList, error) {
	l := &sessionLister{r: r, req: &req, lineage: NewLineage(r.Summaries())}
	list := &SessionList{TotalIsExact: true}
	list.Index.Generation, list.Index.Files = r.Generation(), len(r.Summaries())
	for i := range r.Summaries() {
		list.Index.SkippedLines += r.Summaries()[i].Skipped
	}
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
	list.Sessions = make([]ListedSession, len(members))
	for at, i := range members {
		list.Sessions[at] = l.listed(i)
		list.Sessions[at].Depth = depth[at]
	}
	return list, nil
}

type sessionLister struct {
	r       *index.Reader
	req     *SessionsRequest
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
func (l *sessionLister) search(ctx context.Context, a adapter.Adapter, src Source, list *SessionList) error {
	req := l.req.Request
	req.Flat, req.PerSession = false, 1
	req.Limit = cmp.Or(max(req.Limit, 0), DefaultSessions)
	limit := req.Limit
	if l.req.Named || l.req.Forks {
		req.Limit = math.MaxInt32 // the filters come after the search
	}
	resp, err := Search(ctx, l.r, a, src, req)
	if err != nil {
		return err
	}
	list.Warnings, list.DidYouMean, list.Removed = resp.Warnings, resp.DidYouMean, resp.Removed
	hits := make(map[string]*Hit, len(resp.Hits))
	for i := range resp.Hits {
		hits[resp.Hits[i].SessionPath] = &resp.Hits[i]
	}
	for _, hit := range resp.Sessions {
		i := l.lineage.IndexOf(hit.SessionPath)
		if i < 0 || !l.wanted(i) {
			continue
		}
		list.Total++
		if len(list.Sessions) == limit {
			continue
		}
		s := l.listed(i)
		s.Score, s.Hits, s.HitsAny, s.Resume = hit.Score, hit.Hits, hit.HitsAny, hit.Resume
		s.Hit = hits[hit.SessionPath]
		list.Sessions = append(list.Sessions, s)
	}
	list.TotalIsExact = len(resp.Sessions) < req.Limit
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
// session are none.
func (l *sessionLister) filter(ctx context.Context) ([]int, error) {
	tests, documents, err := l.req.sessionTests()
	if err != nil {
		return nil, err
	}
	var files map[uint32]bool
	if len(documents) > 0 {
		if files, err = filesWith(l.r, documents); err != nil {
			return nil, err
		}
	}
	summaries := l.r.Summaries()
	members := make([]int, 0, len(summaries))
next:
	for i := range summaries {
		s := &summaries[i]
		if i%1000 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if s.Version == 0 && s.Messages == 0 || files != nil && !files[s.File] || !l.wanted(i) {
			continue
		}
		for t := range tests {
			ok, err := l.passes(&tests[t], s)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue next
			}
		}
		members = append(members, i)
	}
	return members, nil
}

// sessionTests splits the filters into those on sessions and those on documents.
// A session passes the latter when one of its documents passes all of them.
func (req *SessionsRequest) sessionTests() (files, documents []test, err error) {
	plain := req.Request
	models := plain.Models
	plain.Models = nil
	if len(plain.Kinds) == 0 && plain.Scope == "" {
		plain.Scope = "all"
	}
	all, err := plain.tests()
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all {
		if t.keyword != nil {
			documents = append(documents, t)
		} else {
			files = append(files, t)
		}
	}
	if len(models) > 0 {
		files = append(files, test{file: func(s *session.Summary) bool {
			for _, m := range s.Models {
				for _, v := range models {
					if containsFold(m, v) {
						return true
					}
				}
			}
			return false
		}})
	}
	return files, documents, nil
}

// passes applies a test to a session. For a time it is enough that the session
// has an entry inside.
func (l *sessionLister) passes(t *test, s *session.Summary) (bool, error) {
	if !t.timed {
		return t.file == nil || t.file(s), nil
	}
	if t.branch != "" {
		rec, err := l.r.Record(s.File)
		return err == nil && rec != nil && hasBranch(rec, t.branch), err
	}
	if s.Oldest.IsZero() {
		return t.contains(s.Created().UnixMilli()), nil
	}
	oldest, newest := s.Oldest.UnixMilli(), s.Newest.UnixMilli()
	switch {
	case newest < t.since || oldest > t.until:
		return false, nil
	case t.contains(oldest) || t.contains(newest):
		return true, nil
	}
	rec, err := l.r.Record(s.File)
	if err != nil || rec == nil {
		return false, err
	}
	for i := range rec.Nodes {
		if t.contains(rec.TimeOf(&rec.Nodes[i]).UnixMilli()) {
			return true, nil
		}
	}
	return false, nil
}

// filesWith returns the files that have a document which passes all tests.
func filesWith(r *index.Reader, tests []test) (map[uint32]bool, error) {
	found := make(map[uint32]bool)
	for _, seg := range r.Segments() {
		files, err := seg.Files()
		if err != nil {
			return nil, err
		}
		s := &segment{Segment: seg, files: files}
		var allowed bitset
		for i := range tests {
			b, err := tests[i].bits(s, nil)
			if err != nil {
				return nil, err
			}
			if allowed == nil {
				allowed = b
			} else {
				allowed.and(b)
			}
		}
		live := make(map[uint32]bool) // files with documents that were not deleted
		for doc := range uint32(seg.Len()) {
			if file := files.Of(doc); allowed.has(doc) && file != index.NoFile {
				live[file] = true
			}
		}
		for f := range live {
			found[f] = true
		}
	}
	return found, nil
}

// listed makes a row of the list from the summary alone.
func (l *sessionLister) listed(i int) ListedSession {
	s := describe(l.lineage, i, l.req.Resume)
	if l.req.Redact {
		s.Redact()
	}
	return s
}

// Describe returns what a list says about session i of the lineage.
func (l *Lineage) Describe(i int, resume ResumeFunc) SessionHit {
	return describe(l, i, resume).SessionHit
}

func describe(l *Lineage, i int, resume ResumeFunc) ListedSession {
	s := &l.sessions[i]
	d := ListedSession{SessionHit: Facts(s, resume)}
	d.Forks = len(l.forks[i])
	if p := l.Parent(i); p != nil {
		d.ParentPath = p.Path
	}
	return d
}

// Facts returns what a summary says about a session.
func Facts(s *session.Summary, resume ResumeFunc) SessionHit {
	hit := SessionHit{
		Type: "session", SessionPath: s.Path, SessionID: s.ID, Name: s.Name, CWD: s.CWD,
		Created: Time{s.Created()}, Modified: Time{s.Modified()}, Messages: s.Messages, FirstPrompt: s.FirstPrompt,
		Labels: s.LabelNames, Models: s.Models, ParentSession: s.ParentSession, Tokens: s.UsedTokens, Cost: s.UsedCost,
	}
	if dir, argv := resume.command(s); len(argv) > 0 {
		hit.Resume = &Resume{dir, argv}
	}
	return hit
}
