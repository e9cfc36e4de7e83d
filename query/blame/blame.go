// Package blame answers: which session wrote this line, and why? The index has every call of a
// tool, and session files have its text, so it answers for all sessions there are, with nothing
// installed beforehand.
//
//	name of the file ──▶ terms ──▶ calls, read again ──▶ changes ─┐
//	lines without an origin ──▶ terms ──▶ ───────────────────────┴─▶ replay ──▶ histories
//	                                                                              │
//	lines of the file as they are now ─────────────────────────────────── match ──┴─▶ origins
//
// A change is what one call did to one file: an edit, a patch, a write, a here-document, the
// swaps of sed, a rename. Replayed in the order of time, as the tools made them, they give the
// history of each file: its lines, each with the call that wrote it. A line that a later write
// repeats stays with the call that wrote it first, as in git blame.
//
// The lines of the file are matched with its history in order, then with lines that were there
// once, then with the same file in other checkouts, with other files of its name, and with files
// that have the same lines. A match that differs in white space, or is only alike, says so.
//
// Commit and Log answer the same for commits: by the hashes that git printed, and by the files
// that calls changed.
package blame

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/human"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
)

// Request asks who wrote the lines of a file.
type Request struct {
	Path     string    // absolute, with slashes
	Relative string    // the same within its repository; "" if it is in none
	Lines    []string  // all lines of the file, as they are now
	From, To int       // the lines that are asked for, from 1; 0: all
	Modified time.Time // when the file was written last; zero: unknown

	filter.Spec // on sessions and times: other sessions count as none
	Env         filter.Env
	Resume      search.ResumeFunc `json:"-"` // nil: answers have no resume command
	Redact      bool
}

// The ways a line can match what a call wrote.
const (
	Exact = "exact" // the same text
	Space = "space" // the same, white space aside; of a block, some lines at least
	Alike = "alike" // a similar line in the same place
	None  = "none"  // no session wrote it, as far as the index knows
)

// Why no session is said to have written lines.
const (
	Before    = "before"    // the file is older than the first session
	Untouched = "untouched" // no session changed the file
	Other     = "other"     // sessions changed the file, but none has this text: it is by a person or a program
	Filtered  = "filtered"  // the session does not pass the filters
	Short     = "short"     // the lines are too short, or too frequent, to tell
)

// Block is adjacent lines that the same call wrote. Its JSON is documented in "pigrep help json":
// fields are only ever added.
type Block struct {
	Type      string  `json:"type"` // "blame"
	Path      string  `json:"path"` // of the file that was asked for
	From      int     `json:"from"` // the first line, from 1
	To        int     `json:"to"`   // the last line
	Match     string  `json:"match"`
	Closeness float64 `json:"closeness,omitempty"` // of the least similar line, if they are only alike
	Why       string  `json:"why,omitempty"`       // no session wrote them
	*Origin
	Lines []string `json:"lines"`
}

// Blank reports whether it is blank lines that are of no session.
func (b *Block) Blank() bool {
	return b.Origin == nil && strings.TrimSpace(strings.Join(b.Lines, "")) == ""
}

// Origin is the call that wrote lines.
type Origin struct {
	session.EntryPlace
	Title     string         `json:"-" wire:"lines"`
	Timestamp session.Time   `json:"timestamp,omitzero"`
	Line      int            `json:"line"`
	Offset    int64          `json:"offset"`
	Tool      string         `json:"tool,omitempty"`
	Wrote     string         `json:"wrote,omitempty"`  // the file that the call wrote, if it is another path
	Prompt    *Said          `json:"prompt,omitempty"` // of its turn
	Reply     *Said          `json:"reply,omitempty"`  // that explains it
	Resume    *search.Resume `json:"resume,omitempty"`
}

// Said is the beginning of a text in a session.
type Said struct {
	session.EntryName
	Line int    `json:"line"`
	Text string `json:"text" wire:"lines"`
}

func (s *Said) String() string {
	if s == nil {
		return ""
	}
	return s.Text
}

// Response is the answer to a Request.
type Response struct {
	Blocks  []Block
	Total   int // lines that were asked for and are not blank
	Written int // by sessions
	search.About
}

// Run answers a request.
func Run(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Response, error) {
	c := newCollector(ctx, r, a, src)
	x := newAttribution(c, &req)
	if err := x.attribute(); err != nil {
		return nil, err
	}
	resp := &Response{About: search.About{Index: search.StateOf(r)}}
	resp.Warnings = c.warnings()
	return resp, x.answer(resp)
}

func newCollector(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source) *collector {
	c := &collector{ctx: ctx, reader: r, adapter: a, src: src, most: mostCalls, read: make(map[place]bool), looks: make(map[uint32][]look)}
	c.keep = c.collect
	return c
}

// warnings say what an answer lacks.
func (c *collector) warnings() (list []string) {
	if c.unread > 0 {
		list = append(list, fmt.Sprintf("%s could not be read: %v", human.Plural(c.unread, "session", "sessions"), c.reason))
	}
	if c.leftOut > 0 {
		list = append(list, fmt.Sprintf("read only the newest %s calls; %s older ones were left out", human.Number(mostCalls), human.Number(c.leftOut)))
	}
	return list
}

// answer makes the blocks of an answer.
func (x *attribution) answer(resp *Response) error {
	req := x.req
	from, to := req.bounds()
	f := req.Spec.Compile()
	for i := range x.found {
		if by := x.found[i].by; by != nil && (!f.Session(by.session) || !f.Time(by.time)) {
			x.found[i] = found{filtered: true}
		}
	}
	origins := make(map[*origin]*Origin)
	e := &explainer{collector: x.collector, redact: req.Redact, entries: entry.NewReader(x.src, x.adapter), names: entry.NewNaming(x.reader)}
	defer e.entries.Use(nil)
	for i := from - 1; i < to; i++ {
		at := &x.found[i]
		if x.keys[i] != "" {
			if resp.Total++; at.by != nil {
				resp.Written++
			}
		}
		if n := len(resp.Blocks) - 1; n >= 0 && i >= from && x.found[i-1].isSameBlock(at) {
			b := &resp.Blocks[n]
			b.To, b.Lines = i+1, append(b.Lines, req.Lines[i])
			switch {
			case at.how == Alike:
				b.Closeness = min(b.Closeness, at.near)
			case at.how == Space:
				b.Match = Space
			case b.Why == Short:
				b.Why = x.whyUnattributed(i)
			}
			continue
		}
		b := Block{Type: "blame", Path: req.Path, From: i + 1, To: i + 1, Match: cmp.Or(at.how, None), Lines: []string{req.Lines[i]}}
		if at.how == Alike {
			b.Closeness = at.near
		}
		if at.by != nil {
			o := origins[at.by]
			if o == nil {
				var err error
				if o, err = e.origin(at.by, req.Resume); err != nil {
					return err
				}
				if at.by.path != req.Path {
					o.Wrote = at.by.path
				}
				origins[at.by] = o
			}
			b.Origin = o
		} else {
			b.Why = x.whyUnattributed(i)
		}
		resp.Blocks = append(resp.Blocks, b)
	}
	req.mask(resp)
	return x.ctx.Err()
}

// bounds returns the first and the last line that are asked for, from 1.
func (r *Request) bounds() (from, to int) {
	if from, to = max(r.From, 1), r.To; to == 0 || to > len(r.Lines) {
		to = len(r.Lines)
	}
	return from, to
}

// mask masks the lines of an answer, if the request asks for that.
func (r *Request) mask(resp *Response) {
	for i := range resp.Blocks {
		if b := &resp.Blocks[i]; r.Redact {
			b.Lines = strings.Split(redact.Text(strings.Join(b.Lines, "\n")), "\n")
		}
	}
}

// whyUnattributed says why no session is said to have written a line.
func (x *attribution) whyUnattributed(i int) string {
	began := func(s session.Summary) bool { return s.Messages > 0 && !s.Oldest.After(x.req.Modified) }
	switch {
	case x.found[i].filtered:
		return Filtered
	case !x.tell[i]:
		return Short
	case len(x.same) > 0:
		return Other
	case !x.req.Modified.IsZero() && !slices.ContainsFunc(x.reader.Summaries(), began): // changed before the first session began
		return Before
	}
	return Untouched
}

// isSameBlock reports whether two adjacent lines are in one block.
func (a *found) isSameBlock(b *found) bool {
	return (a.how == Alike) == (b.how == Alike) && a.filtered == b.filtered && (a.by == b.by || a.by != nil && b.by != nil && a.by.session == b.by.session && a.by.node.Offset == b.by.node.Offset && a.by.path == b.by.path)
}

// origin describes a call.
func (e *explainer) origin(by *origin, how search.ResumeFunc) (*Origin, error) {
	s := by.session
	hit := search.Describe(s, how)
	if e.redact {
		hit.Redact()
	}
	o := &Origin{
		EntryPlace: s.EntryPlace(by.node.ID), Title: hit.Title, Timestamp: session.Time{Time: s.TimeOf(&by.node)},
		Line: by.node.Line, Offset: by.node.Offset, Tool: by.tool, Resume: hit.Resume,
	}
	o.SessionName = hit.Name
	var err error
	o.Prompt, o.Reply, err = e.explain(s, &by.node)
	e.names.NameAll(o, "")
	return o, err
}

// rank returns how likely the path of a history names the file: 0 for the file itself, even by a symbolic
// link; larger numbers are less likely.
func (x *attribution) rank(p string) int {
	if path.Base(p) == path.Base(x.req.Path) && x.file.Is(p) {
		return 0
	}
	return x.req.rank(p)
}

// rank compares the names alone.
func (r *Request) rank(p string) int {
	switch rel := r.Relative; {
	case p == r.Path:
		return 0
	case rel != "" && strings.HasSuffix(p, "/"+rel):
		return 1
	case path.Base(p) == path.Base(r.Path):
		return 2
	}
	return 3
}
