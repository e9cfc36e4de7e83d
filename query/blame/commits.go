package blame

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
)

// A Commit is one of a repository, as git tells it.
type Commit struct {
	Hash    string // the whole one
	Subject string
	Time    time.Time
	Added   map[string][]string // lines, by the path in the repository
}

// CommitRequest asks which sessions made commits.
type CommitRequest struct {
	Commits []Commit
	Pull    string // the number of a pull request, instead of commits

	filter.Spec
	Env    filter.Env
	Resume search.ResumeFunc
	Redact bool
}

// The ways in which a commit, or a pull request, is that of a session.
const (
	ByHash = "hash" // the session printed that git made it
	ByText = "text" // the session wrote its lines before
)

// CommitRow is a commit, with the session that made it.
type CommitRow struct {
	Type      string       `json:"type"` // "commit"
	Hash      string       `json:"hash,omitempty"`
	Pull      string       `json:"pull,omitempty"`
	Subject   string       `json:"subject,omitempty"`
	Committed session.Time `json:"committed,omitzero"`
	Match     string       `json:"match"`           // hash, text or none
	Share     float64      `json:"share,omitempty"` // of its lines that the session wrote, if it is found by them
	*Origin
	Cost   float64 `json:"cost,omitempty"` // of the whole session
	Tokens int64   `json:"tokens,omitempty"`
}

// CommitResponse is the answer to a CommitRequest, in its order.
type CommitResponse struct {
	Rows  []CommitRow
	Found int
	search.About
}

// Commits answers which sessions made commits.
func Commits(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req CommitRequest) (*CommitResponse, error) {
	x := &committed{collector: newCollector(ctx, r, a, src), filter: req.Spec.Compile(), names: make(map[string]bool)}
	if err := x.open(); err != nil {
		return nil, err
	}
	e := &explainer{collector: x.collector, redact: req.Redact, entries: entry.NewReader(x.src, x.adapter)}
	defer e.entries.Use(nil)
	resp := &CommitResponse{About: search.About{Index: search.StateOf(r)}}
	add := func(row CommitRow, by *origin) (err error) {
		row.Type = "commit"
		if by == nil {
			row.Match, row.Share = None, 0
		} else {
			resp.Found++
			if row.Origin, err = e.origin(by, req.Resume); err != nil {
				return err
			}
			row.Cost, row.Tokens = by.session.UsedCost, by.session.UsedTokens
		}
		if req.Redact {
			row.Subject = redact.Text(row.Subject)
		}
		resp.Rows = append(resp.Rows, row)
		return ctx.Err()
	}
	if req.Pull != "" {
		by, err := x.printed([]string{"pull", req.Pull}, regexp.MustCompile(`/(?:pull|merge_requests)/`+regexp.QuoteMeta(req.Pull)+`(?:\D|$)`))
		if err == nil {
			err = add(CommitRow{Pull: req.Pull, Match: ByHash}, by)
		}
		resp.Warnings = x.warnings()
		return resp, err
	}
	for i := range req.Commits {
		c := &req.Commits[i]
		row := CommitRow{Hash: c.Hash, Subject: c.Subject, Committed: session.Time{Time: c.Time}, Match: ByHash}
		by, err := x.byHash(c.Hash)
		if err == nil && by == nil {
			row.Match = ByText
			by, row.Share, err = x.byText(c)
		}
		if err == nil {
			err = add(row, by)
		}
		if err != nil {
			return nil, err
		}
	}
	resp.Warnings = x.warnings()
	return resp, nil
}

// committed finds the sessions of commits.
type committed struct {
	*collector
	filter *filter.Filter
	names  map[string]bool // of files whose calls were read
}

// Git prints this many characters of a hash; more, if fewer are not unique.
const shortHash, longHash = 7, 12

// byHash returns the call that printed that it made the commit: "[main 1a2b3c4] subject".
func (x *committed) byHash(hash string) (*origin, error) {
	for n := shortHash; n <= min(longHash, len(hash)); n++ {
		made := regexp.MustCompile(`(?m)^\W*\[[^\]\n]+ ` + regexp.QuoteMeta(hash[:n]) + `\] `)
		if by, err := x.printed([]string{hash[:n]}, made); by != nil || err != nil {
			return by, err
		}
	}
	return nil, nil
}

// mostResults is how many results with the terms are read in a segment.
const mostResults = 400

// printed returns the first call whose result matches.
func (x *committed) printed(terms []string, want *regexp.Regexp) (first *origin, err error) {
	places, err := x.candidates(session.KindResult, mostResults, terms)
	if err != nil {
		return nil, err
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
			return nil, err
		}
		if by != nil && x.filter.Time(by.time) && (first == nil || by.compare(first) < 0) {
			first = by
		}
	}
	return first, x.ctx.Err()
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
	mostFiles  = 60        // whose calls are read for one question
	enoughText = 0.3       // of the lines of a commit
)

// byText returns the last call of the session that wrote most of the lines of a commit before it,
// and which share that is.
func (x *committed) byText(c *Commit) (best *origin, share float64, err error) {
	wanted := make(map[string]string) // path by line
	for name, lines := range c.Added {
		base := path.Base(name)
		if !x.names[base] {
			if len(x.names) >= mostFiles {
				continue
			}
			x.names[base] = true
			if err := x.named(base); err != nil {
				return nil, 0, err
			}
		}
		for _, l := range lines {
			if tells(l) {
				wanted[squeezed(l)] = name
			}
		}
	}
	wrote, last := make(map[*session.Summary]map[string]bool), make(map[*session.Summary]*origin)
	for _, ch := range x.ordered() {
		at, s := time.UnixMilli(ch.by.time), ch.by.session
		if at.Before(c.Time.Add(-longBefore)) || at.After(c.Time.Add(shortAfter)) || !x.filter.Session(s) || !x.filter.Time(ch.by.time) {
			continue
		}
		for _, l := range ch.lines() {
			key := squeezed(l)
			if name := wanted[key]; name == "" || ch.path != name && !strings.HasSuffix(ch.path, "/"+name) {
				continue
			}
			if wrote[s] == nil {
				wrote[s] = make(map[string]bool)
			}
			wrote[s][key], last[s] = true, ch.by
		}
	}
	for s, by := range last {
		n := float64(len(wrote[s])) / float64(len(wanted))
		if n >= enoughText && (n > share || n == share && by.compare(best) > 0) {
			best, share = by, n
		}
	}
	return best, share, nil
}
