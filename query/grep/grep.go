package grep

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/literal"
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

// Request says what to look for and where.
type Request struct {
	filter.Spec

	Patterns  []string // regular expressions; one of them has to match
	Fixed     bool     // they are strings
	Case      literal.CaseMode
	Word      bool // only matches between what is no part of a word
	Multiline bool // matches may go over lines
	Brief     bool // no lines, only how many match

	Before, After int  // lines of the same part to show around a match
	MaxCount      int  // matching lines of each session file; 0: all
	Redact        bool // what looks like a secret is masked in what is shown

	limits *limits // nil: the usual ones

	// Idle is called when there is no result at the moment. May be nil.
	Idle func()
}

// File is a session file, and how much of it the index is right about.
type File struct {
	Path    string
	Known   *session.Summary // nil when it is not indexed
	Indexed int64            // entries that begin before are indexed; Whole for all of them
}

// Whole stands for the whole of a file.
const Whole = math.MaxInt64

// Match is a part of an entry with lines that match.
type Match struct {
	SessionPath string
	SessionID   string
	EntryID     string
	Kind        session.Kind
	Role        string
	Timestamp   session.Time
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

	Lines   []Line // none when brief
	Matched int    // lines that match
	Matches int    // matches in them; not known when brief
}

// Summary is the outcome of a grep.
type Summary struct {
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

// compile compiles the patterns.
func (req *Request) compile() (*literal.Pattern, error) {
	return literal.Compile(req.Patterns, literal.Options{Fixed: req.Fixed, Case: req.Case, Word: req.Word, Multiline: req.Multiline})
}

// Run hands every match to emit, in order, on the caller's goroutine. The
// reader may be nil: then every file is scanned. An error of emit ends the
// search and is returned.
func Run(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, files []File, req Request, emit func(*Match) error) (*Summary, error) {
	p, err := req.compile()
	if err != nil {
		return nil, err
	}
	g := &run{reader: r, adapter: a, src: src, req: &req, Pattern: p, filter: req.Spec.Compile(), limits: defaultLimits}
	if req.limits != nil {
		g.limits = *req.limits
	}
	g.plan(files)
	if err := g.findLookups(); err != nil {
		return nil, err
	}
	return g.run(ctx, emit)
}

type run struct {
	reader  *index.Reader
	adapter adapter.Adapter
	src     entry.Source
	req     *Request
	filter  *filter.Filter
	limits  limits
	*literal.Pattern

	tasks []*task
	queue *queue

	lookups      []*segmentLookup
	nextLookup   atomic.Int64
	indexUseless atomic.Bool // the index says nothing
}

// task is one session file.
type task struct {
	File
	lookups []*segmentLookup // that say which entries to look at
	entries []int64          // these: where they begin, ascending, each once
	scan    bool             // all of the file has to be looked at

	queued  []*Match // found, and not taken
	done    bool
	err     error // of the file
	fatal   error // ends the search
	skipped bool  // by a filter
}

// plan makes the tasks, in order.
func (g *run) plan(files []File) {
	for _, f := range files {
		if f.Known != nil && f.Indexed == Whole && !g.filter.Session(f.Known) {
			continue
		}
		known := f.Known != nil && f.Indexed > 0 && g.reader != nil && g.Required != nil
		g.tasks = append(g.tasks, &task{File: f, scan: !known})
	}
	slices.SortStableFunc(g.tasks, func(a, b *task) int { return cmp.Compare(a.Path, b.Path) })
}

// run works the tasks off and hands the matches out.
func (g *run) run(ctx context.Context, emit func(*Match) error) (*Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	g.queue = newQueue(ctx)
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range min(runtime.GOMAXPROCS(0), len(g.lookups)) {
		wg.Go(func() { g.lookUp(ctx) })
	}
	for range min(runtime.GOMAXPROCS(0), len(g.tasks)) {
		wg.Go(func() {
			w := newWorker(ctx, g)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(g.tasks) {
					return
				}
				w.searchTask(g.tasks[i])
				g.queue.end(g.tasks[i])
			}
		})
	}
	sum := &Summary{}
	for _, t := range g.tasks {
		found := false
		for {
			matches := g.queue.take(t, g.req.Idle)
			if len(matches) == 0 {
				break
			}
			found = true
			for _, m := range matches {
				sum.Lines += m.Matched
				sum.Matches += m.Matches
				if err := emit(m); err != nil {
					return sum, err
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return sum, err // the task may still be under way
		}
		if t.fatal != nil {
			return sum, t.fatal
		}
		if found {
			sum.WithHits++
		}
		if !t.skipped {
			sum.Files++
		}
		if t.err != nil {
			sum.Errors = append(sum.Errors, FileError{t.Path, t.err})
		}
	}
	sum.Scanned = g.reader == nil || g.Required == nil || g.indexUseless.Load()
	return sum, nil
}

// A queue bounds the matches that wait for the turn of their task, and so the
// memory that they take and how far a goroutine runs ahead.
type queue struct {
	ctx     context.Context
	mu      sync.Mutex
	changed *sync.Cond
	turn    *task
	size    int // of what waits
}

const maxQueued = 4 << 20 // bytes

func newQueue(ctx context.Context) *queue {
	q := &queue{ctx: ctx}
	q.changed = sync.NewCond(&q.mu)
	context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	return q
}

// put adds a match of a task. It waits while there are too many, but never with
// none of the task whose turn it is.
func (q *queue) put(t *task, m *Match) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > maxQueued && (t != q.turn || len(t.queued) > 0) && q.ctx.Err() == nil {
		q.changed.Wait()
	}
	t.queued = append(t.queued, m)
	q.size += m.size()
	if t == q.turn && len(t.queued) == 1 {
		q.changed.Broadcast()
	}
	return q.ctx.Err()
}

// end says that there will be no more matches of a task.
func (q *queue) end(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done = true; t == q.turn {
		q.changed.Broadcast()
	}
}

// take waits for matches of a task, and returns none when there are no more. Idle,
// when not nil, is called before waiting.
func (q *queue) take(t *task, idle func()) []*Match {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.turn != t {
		q.turn = t
		q.changed.Broadcast()
	}
	for first := true; len(t.queued) == 0 && !t.done && q.ctx.Err() == nil; first = false {
		if first && idle != nil {
			q.mu.Unlock()
			idle()
			q.mu.Lock()
			continue
		}
		q.changed.Wait()
	}
	matches := t.queued
	t.queued = nil
	for _, m := range matches {
		q.size -= m.size()
	}
	if len(matches) > 0 {
		q.changed.Broadcast()
	}
	return matches
}

// size is about how many bytes of memory the match takes.
func (m *Match) size() int {
	size := 512
	for i := range m.Lines {
		size += 128 + len(m.Lines[i].Text) + 16*len(m.Lines[i].Spans)
	}
	return size
}
