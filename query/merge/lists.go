package merge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pigrep/internal/lists"
	"pigrep/query/blame"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/facets"
	"pigrep/query/fix"
	"pigrep/query/grep"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// Sessions joins lists of sessions that were asked for with Together. If several indexes have a session,
// the copy that went on longest is listed.
func Sessions(req *sessions.Request, list []*sessions.Response) *sessions.Response {
	m := &sessions.Response{TotalIsExact: true}
	m.Index = about(list).Index
	if req.Text != "" {
		sessionsFound(m, req, list)
		return m
	}
	held := make(search.Identities)
	for _, r := range list {
		m.Total += r.Total - held.Again(r.Held)
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
	}
	if m.Total == 0 {
		m.Warnings = said(lists.Map(list, func(r *sessions.Response) []string { return r.Warnings }))
	}
	rows := lists.Map(list, func(r *sessions.Response) []sessions.Session { return r.Sessions })
	if req.Forks {
		m.Sessions = families(rows)
	} else {
		m.Sessions = slices.Concat(rows...)
		lists.SortStable(m.Sessions, compareActivity)
	}
	m.Sessions = first(req.Arrange(distinct(m.Sessions)), req.Limit)
	return m
}

// distinct leaves the first of the copies of each session.
func distinct(list []sessions.Session) []sessions.Session {
	type copied struct {
		agent, id string
		begun     int64
	}
	rows := make(map[copied]int)
	var left []sessions.Session
	for _, s := range list {
		key := copied{s.Agent, s.SessionID, s.Created.UnixMilli()}
		if at, ok := rows[key]; ok && s.SessionID != "" && left[at].Host != s.Host {
			left[at].Copies = append(left[at].Copies, s.SessionPath)
			continue
		}
		rows[key], left = len(left), append(left, s)
	}
	return left
}

func compareActivity(a, b sessions.Session) int {
	return cmp.Or(b.Modified.Compare(a.Modified.Time), cmp.Compare(a.SessionPath, b.SessionPath))
}

// families orders sessions by family, the one with the latest activity first. A family begins
// with a session that has no ancestor in the list.
func families(rows [][]sessions.Session) (list []sessions.Session) {
	type family struct {
		list   []sessions.Session
		latest sessions.Session
	}
	var all []family
	for _, list := range rows {
		for i, s := range list {
			if s.Depth <= 0 || i == 0 {
				all = append(all, family{latest: s})
			}
			f := &all[len(all)-1]
			if f.list = append(f.list, s); s.Modified.After(f.latest.Modified.Time) {
				f.latest.Modified = s.Modified
			}
		}
	}
	slices.SortStableFunc(all, func(a, b family) int { return compareActivity(a.latest, b.latest) })
	for _, f := range all {
		list = append(list, f.list...)
	}
	return list
}

// sessionsFound fills in the sessions with hits.
func sessionsFound(m *sessions.Response, req *sessions.Request, list []*sessions.Response) {
	query := req.Search()
	found := Search(&query, lists.Map(list, func(r *sessions.Response) *search.Response { return cmp.Or(r.Found, &search.Response{}) }))
	rows := make(map[string]*sessions.Session)
	for _, r := range list {
		for i := range r.Sessions {
			rows[r.Sessions[i].SessionPath] = &r.Sessions[i]
		}
	}
	for i, s := range found.Sessions {
		if row := rows[s.SessionPath]; row != nil {
			row.Score, row.SessionHit.Hits, row.HitsAny, row.Looser, row.Copies = s.Score, s.Hits, s.HitsAny, s.Looser, s.Copies
			if i < len(found.Hits) { // one of each session
				row.Hit = &found.Hits[i]
			}
			m.Sessions = append(m.Sessions, *row)
		}
	}
	m.Sessions = req.Arrange(m.Sessions)
	req.Answer(m, found)
}

// Facets joins facets. Each index counts the hits that it would list on its own, and apart from that the
// hits that lack nothing. If the indexes together have enough of the latter, only these count.
func Facets(req *search.Request, list []*facets.Response) *facets.Response {
	if req.Text == "" {
		return facets.Merge(list)
	}
	opt := counting(req)
	tallies := lists.Map(list, func(r *facets.Response) *search.Tally { return r.Tally })
	least := newTotals(&opt, tallies).least
	var listed []*facets.Response
	for i, r := range list {
		t, one := tallies[i], &facets.Response{Agents: r.Agents}
		switch {
		case t == nil:
		case opt.LeastOf(&t.Counts, t.Open) >= least:
			one.Counted = r.Counted
		case least == rank.LevelWhole && r.Whole != nil:
			one.Counted = *r.Whole
		}
		listed = append(listed, one)
	}
	return facets.Merge(listed)
}

// counting returns the options of a request whose hits are only counted: they need not be complete.
func counting(req *search.Request) rank.Options {
	one := *req
	one.Limit = 1
	return one.Options()
}

// Count adds up the numbers of hits.
func Count(req *search.Request, list []*search.Tally) *search.Tally {
	opt := counting(req)
	return &search.Tally{Counts: newTotals(&opt, list).counts()}
}

// Values merges useful values of fields: those of each field in the order of its counts, of
// projects in that of their hosts.
func Values(lists [][]sessions.Facet) []sessions.Facet {
	all := newRows(func(sum, f *sessions.Facet) { sum.Count += f.Count })
	fields := make(map[string]int)
	for _, list := range lists {
		for _, f := range list {
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
	return all.list
}

// Fix joins lists of sessions with an error. Copies of a session are listed once.
func Fix(req *fix.Request, list []*fix.Response) *fix.Response {
	m := &fix.Response{
		Text: list[0].Text, TotalIsExact: true, About: about(list),
	}
	seen := make(map[string]string) // the host of each session
	total := 0
	for _, r := range list {
		if total += r.Total; len(r.Sessions) > 0 {
			m.Missing = append(m.Missing, first(r.Missing, mostSaid)...)
		}
		for _, s := range r.Sessions {
			key := s.Agent + "\x00" + s.SessionID
			if host, ok := seen[key]; ok && s.SessionID != "" && host != s.Host {
				total--
				continue
			}
			seen[key] = s.Host
			s.Lacks = first(s.Lacks, mostSaid)
			m.Sessions = append(m.Sessions, s)
		}
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
	}
	missing := m.Missing
	m.List(req.Limit)
	m.Total = max(m.Total, total)
	m.Missing = slices.DeleteFunc(m.Missing, func(name string) bool { return !slices.Contains(missing, name) })
	return m
}

// Similar joins lists of sessions that are like a session. Copies of a session are listed once.
func Similar(req *similar.Request, list []*similar.Response) *similar.Response {
	m := &similar.Response{TotalIsExact: true, About: about(list)}
	seen := make(map[string]string) // the host of each session
	for _, r := range list {
		if len(m.Terms) == 0 {
			m.Terms = r.Terms
		}
		m.Total += r.Total
		for _, s := range r.Sessions {
			key := s.Agent + "\x00" + s.SessionID
			if host, ok := seen[key]; ok && s.SessionID != "" && host != s.Host {
				m.Total--
				continue
			}
			seen[key] = s.Host
			m.Sessions = append(m.Sessions, s)
		}
		m.TotalIsExact = m.TotalIsExact && r.TotalIsExact
	}
	lists.SortStable(m.Sessions, func(a, b similar.Session) int { return cmp.Compare(b.Score, a.Score) })
	m.Sessions = first(m.Sessions, cmp.Or(max(req.Limit, 0), similar.DefaultLimit))
	return m
}

// Blame joins answers about the lines of a file.
func Blame(req *blame.Request, list []*blame.Response) *blame.Response {
	m := blame.Join(req, list)
	m.About = about(list)
	return m
}

// Commits joins answers about commits.
func Commits(req *blame.CommitRequest, list []*blame.CommitResponse) *blame.CommitResponse {
	m := blame.JoinCommits(req, list)
	m.About = about(list)
	return m
}

// Recap joins what indexes tell of their sessions.
func Recap(req *recap.Request, list []*recap.Response) *recap.Response {
	m := recap.Join(req, list)
	m.About = about(list)
	return m
}

// Lessons learns from the repairs of several indexes.
func Lessons(list []*recap.Lessons) *recap.Lessons {
	m := recap.JoinLessons(list)
	m.About = about(list)
	return m
}

// A Grepper runs a grep on one host.
type Grepper func(ctx context.Context, visit func(*grep.Match) error) (*grep.Summary, error)

// Grep visits the matches of several hosts in the order of the request, as they come, up to its
// limit. It waits for hosts that may have an earlier match. A match that copies of a session have is
// visited once. If the matches are numbers of lines, the largest number of a session is visited.
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
	take := func(x *grep.Match) error {
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
	}
	seen := make(map[string]*grep.Match) // by keyOfMatch
	var counted []*grep.Match
	err := interleave(ctx, streams, req.Order.Compare, func(x *grep.Match) error {
		key := keyOfMatch(x, req.Brief)
		other := seen[key]
		switch {
		case x.SessionID == "" || other == nil:
			seen[key] = &grep.Match{Location: grep.Location{Host: x.Host}}
		case other.Host != x.Host:
			other.Matched = max(other.Matched, x.Matched)
			return nil
		}
		if !req.Brief {
			return take(x)
		}
		one := *x
		seen[key], counted = &one, append(counted, &one)
		return nil
	})
	for i := 0; i < len(counted) && err == nil; i++ {
		err = take(counted[i])
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
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

// keyOfMatch returns a key that a match shares with its copies or, if brief, with all matches of its session.
func keyOfMatch(x *grep.Match, brief bool) string {
	if brief {
		return x.Agent + "\x00" + x.SessionID
	}
	return fmt.Sprint(x.Agent, "\x00", x.SessionID, "\x00", x.EntryID, x.Timestamp.UnixMilli(), " ", x.Length, " ", x.Part)
}
