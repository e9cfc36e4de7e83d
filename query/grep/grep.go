// Package grep answers: which lines of which parts does a regular expression match?
// It finds all of them and nothing else. The index only says where not to look:
//
//	patterns ── required literals ──▶ terms ──▶ documents ──▶ entries, read again ─┐
//	                                                                               ├─▶ parts ─▶ lines
//	what is not indexed, or all files when no literal is required ── scan ─────────┘
//
// Patterns are matched by an automaton of each worker; together their states take a bounded
// number of bytes. Files are read by several goroutines, and their matches are emitted in the order of
// paths, offsets and parts. Entries whose raw JSON shows that they cannot match are
// not decoded.
//
// Run is the entry point; a Request says what to find. The package may import filter,
// entry and literal, which compiles the expression, and what is below them. A search
// never imports it.
package grep

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
)

// A Request says what to find and where.
type Request struct {
	filter.Spec

	Patterns  []string // regular expressions; a match of any of them counts
	Fixed     bool     // patterns are plain strings, not expressions
	Case      literal.CaseMode
	Word      bool // only whole words match
	Multiline bool // a match may span lines
	Brief     bool // count the matching lines of each session in one match, return none
	MaxStates int  // of an expression; see literal.Options

	Before, After int // lines of context from the same part
	MaxCount      int // matching lines per session file; 0 for all
	Limit         int // matching lines of all files; 0 for all
	MaxColumns    int // about how many bytes to return of a line, around its first match; 0 for all
	Order         Order
	Redact        bool // mask secrets in the returned lines
	Ahead         int  // matches that may be found ahead of the one that is emitted; 0 for all that fit into memory

	limits *limits // nil for defaultLimits

	// Counted says, once it is true, that matches found from then on need
	// neither Lines nor Matches. May be nil.
	Counted *atomic.Bool `json:"-"`

	// Idle is called before Run waits for the next match. May be nil.
	Idle func() `json:"-"`
}

// An Order is the order of the session files of a search.
type Order string

// The orders. The time of a file is the time of its latest message.
const (
	OrderPath   Order = "path"
	OrderNewest Order = "newest"
	OrderOldest Order = "oldest"
)

// Orders are all orders; "" is the first.
var Orders = []Order{OrderPath, OrderNewest, OrderOldest}

// A File is a session file and how much of it the index covers.
type File struct {
	Path    string
	Time    time.Time        // for orders by time
	Kept    bool             // it is gone, and a copy is read
	Known   *session.Summary // nil if the file is not indexed
	Indexed int64            // entries that begin before this offset are indexed; Whole if all are
}

// Whole is the value of File.Indexed for a file that is indexed to its end.
const Whole = math.MaxInt64

// A Match is a part of an entry with matching lines or, with Request.Brief, a session.
type Match struct {
	Location           // with Request.Brief, only of the session
	Lines    []Line    // none with Request.Brief, or once Request.Counted
	Matched  int       // number of matching lines
	Matches  int       // number of matches in them; unknown with Request.Brief, and once Request.Counted
	Time     time.Time // of the file, as of File
}

// Compare orders matches of different files as Run does.
func (o Order) Compare(a, b *Match) int {
	return cmp.Or(o.compare(a.Time, b.Time), cmp.Compare(a.SessionPath, b.SessionPath))
}

// A Summary has the totals of a grep.
type Summary struct {
	Files    int // files that passed the filters
	WithHits int // files with a match
	Lines    int // matching lines
	Matches  int
	Limited  bool        // there are more matching lines than Request.Limit
	Searches int         // matching lines that Spec.NoSearches left out; 0 if Run stops early
	Scanned  bool        // the index ruled nothing out: every file was read
	Skipped  int         `json:"-"` // malformed lines of these files, which cannot be read
	Errors   []FileError `json:"-"`
}

// A FileError says why a session file could not be read.
type FileError struct {
	Path string
	Err  error
}

func (req *Request) compile() (*literal.Pattern, error) {
	return literal.Compile(req.Patterns, literal.Options{Fixed: req.Fixed, Case: req.Case, Word: req.Word, Multiline: req.Multiline, MaxStates: req.MaxStates})
}

// Required returns what every text with a match contains; nil for nothing, and if a pattern is
// invalid.
func (req *Request) Required() *literal.Required {
	p, err := req.compile()
	if err != nil {
		return nil
	}
	return p.Required
}

// Check returns a *literal.PatternError if a pattern is invalid.
func (req *Request) Check() error {
	_, err := req.compile()
	return err
}

// Input is what is searched.
type Input struct {
	Reader  *index.Reader // nil: every file is read from its beginning to its end
	Adapter adapter.Adapter
	Source  entry.Source
	Files   []File
}

// Run calls emit with every match, in order, on the caller's goroutine. Without a
// reader every file is scanned. Run stops at an error of emit and returns it.
func Run(ctx context.Context, in Input, req Request, emit func(*Match) error) (*Summary, error) {
	p, err := req.compile()
	if err != nil {
		return nil, err
	}
	g := &run{reader: in.Reader, adapter: in.Adapter, src: in.Source, req: &req, Pattern: p, limits: defaultLimits}
	if in.Reader != nil {
		g.names = entry.NewNaming(in.Reader)
	}
	if req.limits != nil {
		g.limits = *req.limits
	}
	spec := req.Spec
	spec.NoSearches = false // for each match, so that they can be counted
	g.filter = spec.Compile()
	g.searches = sync.OnceValue(g.indexedSearches)
	for _, f := range in.Files {
		if f.Known != nil && f.Indexed == Whole && !g.passes(f.Known) {
			continue
		}
		known := f.Known != nil && f.Indexed > 0 && g.reader != nil && g.Required != nil
		g.tasks = append(g.tasks, &task{File: f, scan: !known})
	}
	slices.SortStableFunc(g.tasks, func(a, b *task) int { return cmp.Or(g.req.Order.compare(a.Time, b.Time), cmp.Compare(a.Path, b.Path)) })
	if err := g.lookUp(ctx); err != nil {
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

	tasks   []*task
	queue   *queue
	workers int

	searches func() map[segment.ID]bool // those that are indexed
	leftOut  atomic.Int64               // matching lines
	names    *entry.Naming              // nil without a reader

	lookups      []segmentLookup
	indexUseless atomic.Bool // a segment ruled nothing out
}

// A task is the search of one session file.
type task struct {
	File
	last    *segment.Segment // the last one with a candidate, which mostly has the session record
	entries []int64          // offsets of the candidate entries, ascending, without duplicates
	scan    bool             // the whole file has to be searched

	// Guarded by the queue until done.
	queued  []*Match // found and not yet emitted
	done    bool
	err     error // reported in the Summary
	fatal   error // ends the search
	skipped bool  // a filter rejects the session
}

// passes reports whether a file may have matches. Of Notes, each line is about another session.
func (g *run) passes(s *session.Summary) bool {
	return g.reader != nil && s.Notes || g.filter.Session(s)
}

// compare compares the times of two files.
func (o Order) compare(a, b time.Time) int {
	switch o {
	case OrderNewest:
		return b.Compare(a)
	case OrderOldest:
		return a.Compare(b)
	}
	return 0
}

// run performs the tasks and emits their matches.
func (g *run) run(ctx context.Context, emit func(*Match) error) (*Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	g.queue = newQueue(ctx, g.req.Ahead)
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	g.workers = min(runtime.GOMAXPROCS(0), len(g.tasks))
	for range g.workers {
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
		if err := g.emit(t, sum, emit); err != nil {
			return sum, err
		}
		if sum.Limited {
			sum.Files++
			return sum, nil
		}
		if err := ctx.Err(); err != nil {
			return sum, err // the task may still be under way
		}
		if t.fatal != nil {
			return sum, t.fatal
		}
		if !t.skipped {
			sum.Files++
			if t.Known != nil {
				sum.Skipped += t.Known.Skipped
			}
		}
		if t.err != nil {
			sum.Errors = append(sum.Errors, FileError{t.Path, t.err})
		}
	}
	sum.Searches = int(g.leftOut.Load())
	sum.Scanned = g.reader == nil || g.Required == nil || g.indexUseless.Load()
	return sum, nil
}

// emit emits the matches of a task as they come, up to the limit, and counts them.
func (g *run) emit(t *task, sum *Summary, emit func(*Match) error) error {
	before := sum.Lines
	for !sum.Limited {
		matches := g.queue.take(t, g.req.Idle)
		if len(matches) == 0 {
			break
		}
		for _, m := range matches {
			if left := g.req.Limit - sum.Lines; g.req.Limit > 0 && m.Matched > left {
				sum.Limited = true
				m.Keep(left, g.req.After)
			}
			if m.Matched == 0 {
				break
			}
			m.Time = t.Time
			sum.Lines += m.Matched
			sum.Matches += m.Matches
			if err := emit(m); err != nil {
				return err
			}
		}
	}
	if sum.Lines > before {
		sum.WithHits++
	}
	return nil
}

// A queue has the matches that wait until the matches of all earlier tasks are emitted. It bounds
// their memory, and so how far goroutines run ahead.
type queue struct {
	ctx     context.Context
	mu      sync.Mutex
	changed *sync.Cond
	turn    *task // whose matches are emitted now
	size    int   // estimated bytes of all waiting matches
	waiting int   // matches
	most    int   // matches that may wait; 0 for all up to maxQueued
}

// stateBytes is how much the states of an expression take, of all workers together.
const stateBytes = 8 << 20

// maxQueued is the size that makes put wait. One match may exceed it.
const maxQueued = 4 << 20

func newQueue(ctx context.Context, most int) *queue {
	q := &queue{ctx: ctx, most: most}
	q.changed = sync.NewCond(&q.mu)
	context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	return q
}

// put adds a match of a task. It waits while the queue is full, unless the queue has no
// match of the task whose turn it is: then everybody would wait.
func (q *queue) put(t *task, m *Match) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.isFull() && (t != q.turn || len(t.queued) > 0) && q.ctx.Err() == nil {
		q.changed.Wait()
	}
	t.queued = append(t.queued, m)
	q.size += m.size()
	q.waiting++
	if t == q.turn && len(t.queued) == 1 {
		q.changed.Broadcast()
	}
	return q.ctx.Err()
}

func (q *queue) isFull() bool { return q.size > maxQueued || q.most > 0 && q.waiting >= q.most }

// end marks a task as done: it has no further matches.
func (q *queue) end(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done = true; t == q.turn {
		q.changed.Broadcast()
	}
}

// take removes the matches of a task from the queue. It waits until there are some, or
// returns none if the task is done. It calls idle, which may be nil, before waiting.
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
	q.waiting -= len(matches)
	if len(matches) > 0 {
		q.changed.Broadcast()
	}
	return matches
}

// size estimates the memory of a match: the struct with its strings, and for each line
// the struct, its text and 16 bytes a span.
func (m *Match) size() int {
	size := 512
	for i := range m.Lines {
		size += 128 + len(m.Lines[i].Text) + 16*len(m.Lines[i].Spans)
	}
	return size
}
