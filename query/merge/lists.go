package merge

import (
	"cmp"
	"context"
	"slices"

	"pigrep/internal/lists"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Sessions merges lists of sessions that were asked for with Request.Shared.
func Sessions(req *sessions.Request, list []*sessions.Response) *sessions.Response {
	m := &sessions.Response{TotalIsExact: true}
	m.Index = about(list, func(r *sessions.Response) *search.About { return &r.About }).Index
	if req.Text != "" {
		sessionsFound(m, req, list)
		return m
	}
	for _, r := range list {
		m.Total += r.Total
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
	}
	if m.Total == 0 {
		m.Warnings = said(lists.Map(list, func(r *sessions.Response) []string { return r.Warnings }))
	}
	if req.Forks {
		m.Sessions = families(list)
	} else {
		m.Sessions = ordered(lists.Map(list, func(r *sessions.Response) []sessions.Session { return r.Sessions }), compareActivity)
	}
	m.Sessions = first(m.Sessions, req.Limit)
	return m
}

func compareActivity(a, b *sessions.Session) int {
	return cmp.Or(b.Modified.Compare(a.Modified.Time), cmp.Compare(a.SessionPath, b.SessionPath))
}

// families orders sessions by family, the one with the latest activity first. A family begins
// with a session that has no ancestor in the list.
func families(lists []*sessions.Response) (list []sessions.Session) {
	type family struct {
		list   []sessions.Session
		latest sessions.Session
	}
	var all []family
	for _, r := range lists {
		for i, s := range r.Sessions {
			if s.Depth <= 0 || i == 0 {
				all = append(all, family{latest: s})
			}
			f := &all[len(all)-1]
			if f.list = append(f.list, s); s.Modified.After(f.latest.Modified.Time) {
				f.latest.Modified = s.Modified
			}
		}
	}
	slices.SortStableFunc(all, func(a, b family) int { return compareActivity(&a.latest, &b.latest) })
	for _, f := range all {
		list = append(list, f.list...)
	}
	return list
}

// AgainSessions is Again for a list of sessions.
func AgainSessions(req *sessions.Request, lists []*sessions.Response) []*sessions.Request {
	if req.Text == "" {
		return make([]*sessions.Request, len(lists))
	}
	found := req.Search()
	return agreed(req, Again(&found, searches(lists)), func(r *sessions.Request) *search.Joint { return &r.Joint })
}

// agreed returns copies of a request that say what searches do.
func agreed[Req any](req *Req, again []*search.Request, joint func(*Req) *search.Joint) []*Req {
	list := make([]*Req, len(again))
	for i, r := range again {
		if r != nil {
			more := *req
			joint(&more).Agreed = r.Agreed
			list[i] = &more
		}
	}
	return list
}

func searches(list []*sessions.Response) []*search.Response {
	return lists.Map(list, func(r *sessions.Response) *search.Response { return cmp.Or(r.Found, &search.Response{}) })
}

// sessionsFound fills in the sessions with hits.
func sessionsFound(m *sessions.Response, req *sessions.Request, lists []*sessions.Response) {
	query := req.Search()
	found := Search(&query, searches(lists))
	rows := make(map[string]*sessions.Session)
	for _, r := range lists {
		for i := range r.Sessions {
			rows[r.Sessions[i].SessionPath] = &r.Sessions[i]
		}
	}
	for i, s := range found.Sessions {
		if row := rows[s.SessionPath]; row != nil {
			if i < len(found.Hits) { // one of each session
				row.Hit = &found.Hits[i]
			}
			m.Sessions = append(m.Sessions, *row)
		}
	}
	req.Answer(m, found)
}

// AgainFacets is Again for facets.
func AgainFacets(req *search.Request, list []*facets.Response) []*search.Request {
	found := make([]*search.Response, len(list))
	for i, r := range list {
		if found[i] = (&search.Response{}); r.Part != nil && req.Text != "" {
			found[i].Part = &r.Part.Part
		}
	}
	return Again(counting(req), found)
}

// counting is a request as it is when its hits are only counted: they need not be complete.
func counting(req *search.Request) *search.Request {
	one := *req
	one.Limit = 1
	return &one
}

// Count adds up the numbers of hits.
func Count(req *search.Request, list []*search.Counts) *search.Counts {
	opt := counting(req).Options()
	sum := opt.Sum(lists.Map(list, func(n *search.Counts) search.Counts { return *n }))
	return &sum
}

// Values merges useful values of fields: those of each field in the order of its counts, of
// projects in that of their hosts.
func Values(lists []*[]sessions.Facet) *[]sessions.Facet {
	all := newRows(func(sum, f *sessions.Facet) { sum.Count += f.Count })
	fields := make(map[string]int)
	for _, list := range lists {
		for _, f := range *list {
			if f.Field == filter.Host && len(lists) == 1 { // there is no other
				continue
			}
			if _, ok := fields[f.Field]; !ok {
				fields[f.Field] = len(fields)
			}
			all.add(f.Field+"\x00"+f.Value, f)
		}
	}
	slices.SortStableFunc(all.list, func(a, b sessions.Facet) int {
		if a.Field != b.Field {
			return cmp.Compare(fields[a.Field], fields[b.Field])
		}
		if a.Field == "project" { // by their latest activity
			return 0
		}
		return cmp.Compare(b.Count, a.Count)
	})
	return &all.list
}

// AgainFix is Again for the fixes of an error: of copies on several hosts one counts.
func AgainFix(req *fix.Request, list []*fix.Response) []*fix.Request {
	again := make([]*fix.Request, len(list))
	for i, lost := range lostHits(lists.Map(list, func(r *fix.Response) *search.Part { return r.Part })) {
		if p := list[i].Part; p != nil && p.Lost != len(lost) {
			more := *req
			more.Agreed = &rank.Agreed{Lost: lost}
			again[i] = &more
		}
	}
	return again
}

// Fix merges answers that were asked for with Request.Shared.
func Fix(req *fix.Request, list []*fix.Response) *fix.Response {
	m := &fix.Response{
		Text: list[0].Text, TotalIsExact: true, About: about(list, func(r *fix.Response) *search.About { return &r.About }),
	}
	for _, r := range list {
		for _, s := range r.Sessions {
			s.Lacks = first(s.Lacks, mostSaid)
			m.Sessions = append(m.Sessions, s)
		}
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
	}
	m.List(req.Limit)
	return m
}

// A Grepper runs a grep on one host.
type Grepper func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error)

// Grep visits the matches of several hosts in the order of the request, as they come, up to its
// limit. It waits for a match of each host that may have an earlier one.
func Grep(ctx context.Context, req *grep.Request, hosts []Grepper, visit func(*grep.Match) error) (*grep.Summary, error) {
	sums := make([]*grep.Summary, len(hosts))
	streams := make([]func(context.Context, func(*grep.Match) error) error, len(hosts))
	for i, run := range hosts {
		streams[i] = func(ctx context.Context, visit func(*grep.Match) error) (err error) {
			sums[i], err = run(ctx, visit)
			return err
		}
	}
	m := &grep.Summary{}
	last := ""
	err := interleave(ctx, streams, req.Order.Compare, func(x *grep.Match) error {
		if left := req.Limit - m.Lines; req.Limit > 0 && x.Matched > left {
			m.Limited = true
			x.Keep(left, req.After)
		}
		if x.Matched > 0 {
			m.Lines += x.Matched
			m.Matches += x.Matches
			if x.SessionPath != last {
				last = x.SessionPath
				m.WithHits++
			}
			if err := visit(x); err != nil {
				return err
			}
		}
		if m.Limited {
			return errEnough
		}
		return nil
	})
	if err != nil || m.Limited {
		m.Files = m.WithHits // at least
		return m, err
	}
	for _, s := range sums {
		m.Files += s.Files
		m.Limited = m.Limited || s.Limited
		m.Searches += s.Searches
		m.Scanned = m.Scanned || s.Scanned
		m.Errors = append(m.Errors, s.Errors...)
	}
	m.Files = max(m.Files, m.WithHits) // a host that was lost has said no number
	lists.SortStable(m.Errors, func(a, b grep.FileError) int { return cmp.Compare(a.Path, b.Path) })
	return m, nil
}
