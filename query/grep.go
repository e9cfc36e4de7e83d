package query

import (
	"cmp"
	"context"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
)

// A grep finds every line of every part that a regular expression matches, and
// nothing else. The index only says where not to look:
//
//	patterns ── need ──▶ terms ──▶ documents ──▶ entries, read again ─┐
//	            (literals that every match holds)                    ├─▶ parts ─▶ lines
//	what is not indexed, or all when nothing is needed ── scan ──────┘
//
// Files are read by several goroutines, and their matches handed out in the
// order of their paths, offsets and parts. Where the bytes of a file show that a
// match cannot be there, they are not decoded.

// GrepRequest says what to look for and where. Of the Request its filters count.
type GrepRequest struct {
	Request

	Patterns  []string // regular expressions; one of them has to match
	Fixed     bool     // they are strings
	Case      CaseMode
	Word      bool // only matches between what is no part of a word
	Multiline bool // matches may go over lines
	Brief     bool // no lines, only how many match

	Before, After int // lines of the same part to show around a match
	MaxCount      int // matching lines of each session file; 0: all

	limits *grepLimits // nil: the usual ones

	// Idle is called when there is no result at the moment. May be nil.
	Idle func()
}

// GrepFile is a session file, and how much of it the index is right about.
type GrepFile struct {
	Path    string
	Known   *session.Summary // nil when it is not indexed
	Indexed int64            // entries that begin before are indexed; Whole for all of them
}

// Whole stands for the whole of a file.
const Whole = math.MaxInt64

// Opener opens session files for reading.
type Opener interface {
	Open(path string) (SessionFile, error)
}

// SessionFile is an open session file.
type SessionFile interface {
	io.ReaderAt
	io.Closer
	Size() int64        // when it was opened
	ModTime() time.Time // stands in for the time of an entry that has none
}

// GrepMatch is a part of an entry with lines that match.
type GrepMatch struct {
	SessionPath string
	SessionID   string
	EntryID     string
	Kind        session.Kind
	Role        string
	Timestamp   Time
	Line        int   // of the session file, from 1
	Offset      int64 // of the entry's JSON object
	Length      int
	Part        int
	Tool        string
	ToolCallID  string
	IsError     bool
	Provider    string
	Model       string
	CustomType  string

	Lines   []GrepLine // none when brief
	Matched int        // lines that match
	Matches int        // matches in them; not known when brief
}

// GrepSummary is the outcome of a grep.
type GrepSummary struct {
	Files    int // that the filters leave to be searched
	WithHits int // of them, that have a match
	Lines    int // that match
	Matches  int
	Scanned  bool // no literal helped: every file was read
	Errors   []FileError
}

// FileError is a session file that could not be read.
type FileError struct {
	Path string
	Err  error
}

// queued is how many matches of a file wait until it is its turn. It bounds the
// memory, and how far a goroutine runs ahead.
const queued = 64

// Grep hands every match to emit, in order, on the caller's goroutine. The
// reader may be nil: then every file is scanned. An error of emit ends the
// search and is returned.
func Grep(ctx context.Context, r *index.Reader, a adapter.Adapter, open Opener, files []GrepFile, req GrepRequest, emit func(*GrepMatch) error) (*GrepSummary, error) {
	p, err := compileGrep(&req)
	if err != nil {
		return nil, err
	}
	tests, err := req.tests()
	if err != nil {
		return nil, err
	}
	g := &grep{reader: r, adapter: a, open: open, req: &req, pattern: p, filter: grepFilter(tests), limits: grepUsual}
	if req.limits != nil {
		g.limits = *req.limits
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := g.plan(ctx, files); err != nil {
		return nil, err
	}
	return g.run(ctx, cancel, emit)
}

type grep struct {
	reader  *index.Reader
	adapter adapter.Adapter
	open    Opener
	req     *GrepRequest
	filter  grepFilter
	limits  grepLimits
	*pattern

	tasks   []*grepTask
	scanned bool
}

// grepTask is one session file.
type grepTask struct {
	GrepFile
	entries []int64 // where the index says that entries have to be looked at
	scan    bool    // all of the file has to be looked at
	out     chan *GrepMatch
	err     error // set before out is closed
	skipped bool  // by a filter
}

// plan makes the tasks, in order.
func (g *grep) plan(ctx context.Context, files []GrepFile) error {
	candidates, err := g.candidates(ctx, files)
	if err != nil {
		return err
	}
	g.scanned = candidates == nil
	for _, f := range files {
		t := &grepTask{GrepFile: f, scan: true, out: make(chan *GrepMatch, queued)}
		if f.Known != nil && f.Indexed == Whole && !g.filter.file(f.Known) {
			continue
		}
		if candidates != nil && f.Known != nil && f.Indexed > 0 {
			c := candidates[f.Known.File]
			t.scan, t.entries = c.all, c.offsets
			if !c.all && len(c.offsets) == 0 && f.Indexed == Whole {
				close(t.out)
				t.out = nil // there is nothing to look for
			}
		}
		g.tasks = append(g.tasks, t)
	}
	slices.SortStableFunc(g.tasks, func(a, b *grepTask) int { return cmp.Compare(a.Path, b.Path) })
	return nil
}

// run works the tasks off and hands the matches out.
func (g *grep) run(ctx context.Context, cancel func(), emit func(*GrepMatch) error) (*GrepSummary, error) {
	var work []*grepTask
	for _, t := range g.tasks {
		if t.out != nil {
			work = append(work, t)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		wg.Go(func() {
			w := newGrepWorker(ctx, g)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(work) {
					return
				}
				w.search(work[i])
				close(work[i].out)
			}
		})
	}
	sum := &GrepSummary{Scanned: g.scanned}
	for _, t := range work {
		found := false
		for {
			m, ok := g.receive(t.out)
			if !ok {
				break
			}
			found = true
			sum.Lines += m.Matched
			sum.Matches += m.Matches
			if err := emit(m); err != nil {
				return sum, err
			}
		}
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		if found {
			sum.WithHits++
		}
		if t.err != nil {
			sum.Errors = append(sum.Errors, FileError{t.Path, t.err})
		}
	}
	for _, t := range g.tasks {
		if !t.skipped {
			sum.Files++
		}
	}
	return sum, nil
}

func (g *grep) receive(out chan *GrepMatch) (*GrepMatch, bool) {
	if g.req.Idle == nil {
		m, ok := <-out
		return m, ok
	}
	select {
	case m, ok := <-out:
		return m, ok
	default:
	}
	g.req.Idle()
	m, ok := <-out
	return m, ok
}

// grepFilter is the filters of a request; all must let something through.
type grepFilter []test

func (f grepFilter) file(s *session.Summary) bool {
	for i := range f {
		if f[i].file != nil && !f[i].file(s) {
			return false
		}
	}
	return true
}

// branch is the branch that the filters ask for, "" for any.
func (f grepFilter) branch() string {
	for i := range f {
		if f[i].branch != "" {
			return f[i].branch
		}
	}
	return ""
}

// ofFiles reports whether some filter looks at the session.
func (f grepFilter) ofFiles() bool {
	return slices.ContainsFunc(f, func(t test) bool { return t.file != nil })
}

// part looks at what a part has of its own, as the fields of its document would
// have it, and at the time of its entry.
func (f grepFilter) part(e *session.Entry, p *session.Part, at time.Time) bool {
	for i := range f {
		t := &f[i]
		if t.timed && !t.contains(at.UnixMilli()) {
			return false
		}
		if t.keyword == nil {
			continue
		}
		if value := keywordOf(t.field, e, p); value == "" || !t.keyword(value) {
			return false
		}
	}
	return true
}

func keywordOf(f index.Field, e *session.Entry, p *session.Part) string {
	switch f {
	case index.FieldKind:
		return string(p.Kind)
	case index.FieldRole:
		return e.Role
	case index.FieldTool:
		return p.Tool
	case index.FieldModel:
		return modelName(e.Provider, e.Model)
	case index.FieldCustom:
		return e.CustomType
	case index.FieldEntry:
		return e.ID
	case index.FieldFlag:
		if e.IsError {
			return index.FlagError
		}
	}
	return ""
}
