package blame

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/price"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// A Commit is one of a repository, as git tells it.
type Commit struct {
	Hash    string // the whole one
	Subject string
	Time    time.Time
	Added   map[string][]string // lines, by the path in the repository
	Unread  bool                // Added lacks lines
}

// CommitRequest asks which sessions made commits.
type CommitRequest struct {
	Commits []Commit
	Pull    string // the number of a pull request, instead of commits

	filter.Spec
	Env    filter.Env
	Resume search.ResumeFunc `json:"-"`
	Redact bool
}

// The ways a commit, or a pull request, can belong to a session.
const (
	ByHash = "hash"   // the session printed that git made it
	ByText = "text"   // the session wrote its lines before
	Unread = "unread" // nobody knows: no session printed its hash, and its lines could not be compared
)

// CommitRow is a commit, with the session that made it.
type CommitRow struct {
	Type      string       `json:"type"` // "commit"
	Hash      string       `json:"hash,omitempty"`
	Pull      string       `json:"pull,omitempty"`
	Subject   string       `json:"subject,omitempty"`
	Committed session.Time `json:"committed,omitzero"`
	Match     string       `json:"match"`           // hash, text, none or unread
	Share     float64      `json:"share,omitempty"` // of its lines that the session wrote, if it is found by them
	*Origin
	price.Spent // by the whole session
}

// CommitResponse is the answer to a CommitRequest, in its order.
type CommitResponse struct {
	Rows   []CommitRow
	Found  int
	Unread []string // hashes
	search.About
}

// Commits answers which sessions made commits. The answer for a commit does not depend on which others
// are asked for.
func Commits(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req CommitRequest) (*CommitResponse, error) {
	x := &committed{collector: newCollector(ctx, r, a, src), filter: req.Spec.Compile(), changed: make(map[string]*changed)}
	x.most, x.due, x.keep = 0, x.isDue, x.take
	if err := x.open(); err != nil {
		return nil, err
	}
	e := &explainer{collector: x.collector, redact: req.Redact, entries: entry.NewReader(x.src, x.adapter), names: entry.NewNaming(x.reader)}
	defer e.entries.Use(nil)
	resp := &CommitResponse{About: search.About{Index: search.StateOf(r)}}
	var prices price.Listed
	add := func(i int, how string, share float64, by *origin, unread bool) (err error) {
		row := CommitRow{Match: None}
		switch {
		case by != nil:
			row.Match, row.Share = how, share
			if row.Origin, err = e.origin(by, req.Resume); err != nil {
				return err
			}
			row.Spent = prices.Spending(by.session)
		case unread:
			row.Match = Unread
		}
		resp.add(&req, i, row)
		return ctx.Err()
	}
	if req.Pull != "" {
		by, over, err := x.printed([]string{"pull", req.Pull}, regexp.MustCompile(`/(?:pull|merge_requests)/`+regexp.QuoteMeta(req.Pull)+`(?:\D|$)`))
		if err == nil {
			err = add(0, ByHash, 0, by, over)
		}
		resp.Warnings = x.warnings()
		return resp, err
	}
	byHash := make([]*origin, len(req.Commits))
	for i := range req.Commits {
		var err error
		if byHash[i], err = x.byHash(req.Commits[i].Hash); err != nil {
			return nil, err
		}
		if byHash[i] == nil {
			x.ask(&req.Commits[i])
		}
	}
	if err := x.named(slices.Sorted(maps.Keys(x.changed))...); err != nil {
		return nil, err
	}
	for i := range req.Commits {
		c, by, how, share := &req.Commits[i], byHash[i], ByHash, 0.0
		if by == nil {
			how = ByText
			by, share = x.byText(c)
		}
		if err := add(i, how, share, by, c.Unread); err != nil {
			return nil, err
		}
	}
	resp.Warnings = x.warnings()
	return resp, nil
}

// add adds the row of a commit, or of the pull request, that a request asks for.
func (r *CommitResponse) add(req *CommitRequest, i int, row CommitRow) {
	row.Type, row.Pull = "commit", req.Pull
	if i < len(req.Commits) {
		c := &req.Commits[i]
		row.Hash, row.Subject, row.Committed = c.Hash, c.Subject, session.Time{Time: c.Time}
	}
	if req.Redact {
		row.Subject = redact.Text(row.Subject)
	}
	switch {
	case row.Origin != nil:
		r.Found++
	case row.Match == Unread:
		r.Unread = append(r.Unread, cmp.Or(row.Hash, "#"+row.Pull))
	}
	r.Rows = append(r.Rows, row)
}

// Uncompared returns a warning about commits that were not compared in full.
func (r *CommitResponse) Uncompared() []string {
	if len(r.Unread) == 0 {
		return nil
	}
	names := lists.Map(r.Unread[:min(len(r.Unread), mostNamed)], func(hash string) string { return hash[:min(len(hash), 8)] })
	more := ""
	if len(r.Unread) > len(names) {
		more = ", …"
	}
	return []string{fmt.Sprintf("%s could not be compared in full, and may be by a session: %s%s", human.Plural(len(r.Unread), "commit", "commits"), strings.Join(names, ", "), more)}
}

// mostNamed is how many commits a warning names.
const mostNamed = 10

// committed finds the sessions of commits.
type committed struct {
	*collector
	filter  *filter.Filter
	changed map[string]*changed // by the name of the file
	roots   map[*session.Summary]*session.Summary
}

// changed is what commits and calls changed in files with the same name.
type changed struct {
	lines map[string]int // the numbers of the lines that commits added, by key
	times []time.Time    // of the commits
	wrote []written
}

// written says which lines of commits a call wrote.
type written struct {
	by    *origin
	path  string
	lines []int
}

// Git prints this many characters of a hash; more, if fewer are not unique.
const shortHash, longHash = 7, 12

// byHash returns the call that printed that it made the commit: "[main 1a2b3c4] subject".
func (x *committed) byHash(hash string) (*origin, error) {
	for n := shortHash; n <= min(longHash, len(hash)); n++ {
		made := regexp.MustCompile(`(?m)^\W*\[[^\]\n]+ ` + regexp.QuoteMeta(hash[:n]) + `\] `)
		if by, _, err := x.printed([]string{hash[:n]}, made); by != nil || err != nil {
			return by, err
		}
	}
	return nil, nil
}

// mostResults is how many results with the terms are read at most.
const mostResults = 4000

// printed returns the first call whose result matches; over says that too many results have the terms.
func (x *committed) printed(terms []string, want *regexp.Regexp) (first *origin, over bool, err error) {
	places, over, err := x.candidates(session.KindResult, mostResults, terms)
	if err != nil {
		return nil, false, err
	}
	for _, p := range places {
		s := x.files[p.file]
		if s == nil || !x.filter.Session(s) {
			continue
		}
		matched := false
		x.result(s, p.offset, func(e *session.Entry, _ *session.View) {
			matched = slices.ContainsFunc(e.Parts, func(part session.Part) bool { return want.Match(part.Text) })
		})
		if !matched {
			continue
		}
		by, err := x.callOf(s, p.offset)
		if err != nil {
			return nil, false, err
		}
		if by != nil && x.filter.Time(by.time) && (first == nil || by.compare(first) < 0) {
			first = by
		}
	}
	return first, over, x.ctx.Err()
}

// callOf returns the call with a result.
func (x *committed) callOf(s *session.Summary, result int64) (by *origin, err error) {
	for p, err := range x.facts.WithoutDetails([]uint32{s.File}) {
		if err != nil {
			return nil, err
		}
		for i := range p.Calls.Len {
			if by == nil && p.Calls.Answered(i) && p.Calls.Result(i) == result && p.Calls.Deed(i) != session.DeedRead {
				if n, ok := x.node(s, p.Calls.Offset.At(i)); ok {
					n.Node.ID = strings.Clone(n.Node.ID)
					by = &origin{session: s, node: n.Node, part: int(p.Calls.Part.At(i)), tool: strings.Clone(p.Calls.Tool.At(i)), time: s.TimeOf(&n.Node).UnixMilli()}
				}
			}
		}
	}
	return by, nil
}

// What a session wrote before a commit counts for it.
const (
	longBefore = 14 * 24 * time.Hour
	shortAfter = time.Hour // of clocks that differ
	enoughText = 0.3       // of the lines of a commit
)

// ask adds the lines of a commit to those that calls are read for.
func (x *committed) ask(c *Commit) {
	for name, lines := range c.Added {
		base := path.Base(name)
		f := x.changed[base]
		if f == nil {
			f = &changed{lines: make(map[string]int)}
			x.changed[base] = f
		}
		for _, l := range lines {
			if key := squeezed(l); tells(l) && f.lines[key] == 0 {
				f.lines[key] = len(f.lines) + 1
			}
		}
		f.times = append(f.times, c.Time)
	}
}

// isBefore reports whether a time is soon enough before a commit.
func isBefore(at, commit time.Time) bool {
	return !at.Before(commit.Add(-longBefore)) && !at.After(commit.Add(shortAfter))
}

// isDue reports whether an entry may have contributed to a commit that changed a file with this name.
func (x *committed) isDue(s *session.Summary, n *session.Node, name string) bool {
	at := s.TimeOf(n)
	return x.filter.Session(s) && x.filter.Time(at.UnixMilli()) && slices.ContainsFunc(x.changed[name].times, func(t time.Time) bool { return isBefore(at, t) })
}

// take keeps the lines of commits that calls wrote in files with these names.
func (x *committed) take(_ place, list []*change, names []string) {
	for _, c := range list {
		base := path.Base(c.path)
		if !slices.Contains(names, base) {
			continue
		}
		w := written{by: c.by, path: c.path}
		for _, l := range c.lines() {
			if n := x.changed[base].lines[squeezed(l)]; n > 0 {
				w.lines = append(w.lines, n)
			}
		}
		if len(w.lines) == 0 {
			continue
		}
		w.by.change = nil // its text
		x.mu.Lock()
		x.changed[base].wrote = append(x.changed[base].wrote, w)
		x.mu.Unlock()
	}
}

// root returns the session that a session works for, or is a part of.
func (x *committed) root(s *session.Summary) *session.Summary {
	if x.roots == nil {
		x.roots = make(map[*session.Summary]*session.Summary)
		lineage := sessions.NewLineage(x.reader)
		for i := range x.reader.Summaries() {
			x.roots[x.reader.Summary(i)] = x.reader.Summary(lineage.Root(lineage.Head(i)))
		}
	}
	return x.roots[s]
}

// byText finds the session that, together with its subagents, wrote most lines of a commit before it was
// made. It returns the last call of the one among them that wrote most, and the share of all of them.
func (x *committed) byText(c *Commit) (best *origin, share float64) {
	type place struct { // of a line, however often the file has it
		name string
		line int
	}
	wanted, names := make(map[place]bool), make(map[string][]string) // names by the last part
	for name, lines := range c.Added {
		base := path.Base(name)
		names[base] = append(names[base], name)
		for _, l := range lines {
			if tells(l) {
				wanted[place{name, x.changed[base].lines[squeezed(l)]}] = true
			}
		}
	}
	var list []written
	for base := range names {
		list = append(list, slices.DeleteFunc(slices.Clone(x.changed[base].wrote), func(w written) bool { return !isBefore(time.UnixMilli(w.by.time), c.Time) })...)
	}
	slices.SortFunc(list, func(a, b written) int { return cmp.Or(a.by.compare(b.by), cmp.Compare(a.path, b.path)) })
	list = slices.DeleteFunc(list, repeated(func(w written) (*origin, string) { return w.by, w.path }))
	type part struct { // of a commit
		lines map[place]bool
		last  *origin // the last call that wrote one of them
	}
	own, families := make(map[*session.Summary]*part), make(map[*session.Summary]*part)
	wrote := func(of map[*session.Summary]*part, s *session.Summary, at place, by *origin) {
		if of[s] == nil {
			of[s] = &part{lines: make(map[place]bool)}
		}
		of[s].lines[at], of[s].last = true, by
	}
	for _, w := range list {
		s := w.by.session
		for _, name := range names[path.Base(w.path)] {
			if w.path != name && !strings.HasSuffix(w.path, "/"+name) {
				continue
			}
			for _, n := range w.lines {
				if at := (place{name, n}); wanted[at] {
					wrote(own, s, at, w.by)
					wrote(families, x.root(s), at, w.by)
				}
			}
		}
	}
	var family *session.Summary
	for s, p := range families {
		n := float64(len(p.lines)) / float64(len(wanted))
		if n >= enoughText && (n > share || n == share && p.last.compare(best) > 0) {
			family, best, share = s, p.last, n
		}
	}
	most := 0
	for s, p := range own { // the one of the family that wrote most of it
		if n := len(p.lines); x.root(s) == family && (n > most || n == most && p.last.compare(best) > 0) {
			best, most = p.last, n
		}
	}
	return best, share
}
