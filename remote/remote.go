// Package remote is how sessions of other machines take part in an answer. A Source says what
// it has for a Question, and streams the session files that may answer it: whole, or the lines
// that matter with the record of the rest. Gather merges what several sources send, and the
// sessions of this machine if they are wanted too, into one index in memory. Questions then run
// on that index as on any other. So an answer has the same hits, marks, order and JSON wherever
// its sessions are. A Counter says how frequent words are in all that it has, so that scores are too.
//
// What a source sends is untrusted: it is only ever parsed as a session file or decoded as a
// record, and bounded.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/literal"
	"pigrep/query/engine/words"
)

// A Question says which sessions an answer may need. A source may send more, because the
// answer is found in what it sends, and never fewer, unless its Coverage says so.
type Question struct {
	Text string      // a query, as of search.Request; "" for none
	Spec filter.Spec // the filters beside it
	Env  filter.Env

	// Required is what every hit contains, for a question about lines; nil for nothing.
	Required *literal.Required

	Names  []string // only sessions with these names: ids, their beginnings or ends, or paths
	Brief  bool     // summaries are enough: no lines are sent
	Facts  bool     // records are enough: no lines are sent
	Whole  bool     // an answer without all sessions would be wrong: rather fail with ErrTooMuch
	Newest bool     // the newest sessions first, not the best
	Wanted int      // how many sessions the answer will show; 0 for all
	Bytes  int64    // how much text may be sent, 0 for DefaultBytes
}

// DefaultBytes is how much text of sessions a question may gather. In memory, text and index
// take about three times as much.
const DefaultBytes = 96 << 20

// A Session is a session file of another machine.
type Session struct {
	Host    string
	Path    string          // on that host
	Summary session.Summary // its Path is Name(Host, Path)
	Text    []byte          // its lines; nil if the question is Brief

	// Record, if there is no Text, is that of the session file, of which Lines are those that the
	// answer needs for sure, in order. Read reads others; without it they are blank.
	Record *session.Record
	Lines  []adapter.Line
	Read   func(ctx context.Context, number int) ([]adapter.Line, error)
}

// Name is the path by which answers call a session file of another machine.
func Name(host, path string) string { return host + ":" + path }

// Split undoes Name. ok is false for a path of this machine.
func Split(name string) (host, path string, ok bool) { return session.SplitHost(name) }

// Coverage says how much of what a source has is in an answer.
type Coverage struct {
	Sessions int // that may answer the question
	Sent     int
	Lower    int  // that were not sent because others rank higher, and the question wants a number
	Inexact  bool // some hits of sessions that were sent are missing for the same reason
	Damaged  int  // session files that are left out, or in part, because of what the source says of them
}

// A Source has sessions that are not on this machine.
type Source interface {
	Name() string
	// Sessions calls visit, from one goroutine at a time, for the sessions that a question
	// needs, those first that matter most. A session is the visitor's.
	Sessions(ctx context.Context, q *Question, visit func(*Session) error) (Coverage, error)
}

// A Counter is a Source that knows how many of its documents have a term. With that, the few that
// it sends rank as among all of them.
type Counter interface {
	Count(ctx context.Context, terms []string) (*words.Statistics, error)
}

// Missing says what an answer lacks, and why.
type Missing struct {
	Source   string
	Sessions int   // that may answer the question and were not sent; 0 if unknown
	Err      error // nil: there was no room for more
}

// ErrTooMuch means that a question which needs all sessions has too many.
var ErrTooMuch = errors.New("too many sessions for this question")

// ErrDamaged means that a source has what no pigrep has written.
var ErrDamaged = errors.New("not written by pigrep")

// Gathered is what sources sent, as an index. It is the entry.Source of its sessions.
type Gathered struct {
	Reader  *index.Reader // the caller closes it
	Missing []Missing
	Known   int  // sessions that may answer the question, in all sources
	Inexact bool // there may be more hits than there are here

	sources []Source
	ctx     context.Context // for lines that are read later
	mu      sync.Mutex
	texts   map[string]entry.File
	seen    map[identity]bool
	local   map[string]bool // paths on this machine
}

// identity is what two copies of a session have in common.
type identity struct {
	agent, id string
	begun     int64
}

func identityOf(s *session.Summary) identity {
	return identity{session.ShortAgent(s.Agent), s.ID, s.Timestamp.UnixMilli()}
}

// Gather asks all sources at once. base has the sessions of this machine, whose name is host; it
// is index.Empty() if they are not wanted. A session that several have counts once: that of
// base before others. It fails if no source answers.
func Gather(ctx context.Context, a adapter.Adapter, base *index.Reader, host string, sources []Source, q Question) (*Gathered, error) {
	g := &Gathered{texts: make(map[string]entry.File), seen: make(map[identity]bool), local: make(map[string]bool)}
	for i := range base.Summaries() {
		s := &base.Summaries()[i]
		g.local[s.Path] = true
		if s.ID != "" {
			g.seen[identityOf(s)] = true
		}
	}
	g.ctx, g.sources = ctx, sources
	index := indexer.NewElsewhere(a, base)
	var asking sync.WaitGroup
	results := make([]Coverage, len(sources))
	failed := make([]error, len(sources))
	for i, source := range sources {
		asking.Go(func() { results[i], failed[i] = g.ask(ctx, source, q, index, host) })
	}
	asking.Wait()
	for i, source := range sources {
		c := &results[i]
		m := Missing{source.Name(), c.Sessions - c.Sent - c.Lower, failed[i]}
		g.Known += c.Sessions
		g.Inexact = g.Inexact || c.Inexact || c.Lower > 0
		if m.Err != nil || m.Sessions > 0 {
			g.Missing = append(g.Missing, m)
		}
		if c.Damaged > 0 {
			g.Missing = append(g.Missing, Missing{source.Name(), c.Damaged, ErrDamaged})
		}
	}
	if i := slices.IndexFunc(g.Missing, func(m Missing) bool { return q.Whole && m.Err == nil }); i >= 0 {
		return nil, fmt.Errorf("%w: %d of %d session files that may count in %s do not fit into %d MB", ErrTooMuch, g.Missing[i].Sessions, g.Known, g.Missing[i].Source, cmp.Or(q.Bytes, DefaultBytes)>>20)
	}
	if !slices.Contains(failed, nil) {
		return nil, failed[0]
	}
	var err error
	g.Reader, err = index.Reader()
	return g, err
}

// ask indexes what one source sends: one session while the next one arrives.
func (g *Gathered) ask(ctx context.Context, source Source, q Question, to *indexer.Elsewhere, host string) (Coverage, error) {
	if q.Bytes == 0 {
		q.Bytes = DefaultBytes
	}
	indexing, ctx := errgroup.WithContext(ctx)
	indexing.SetLimit(2)
	coverage, err := source.Sessions(ctx, &q, func(s *Session) error {
		if !g.admit(s, host) {
			return nil
		}
		indexing.Go(func() error {
			switch {
			case s.Text != nil:
				s.Summary.Size = int64(len(s.Text))
				return to.Add(ctx, s.Summary, bytes.NewReader(s.Text))
			case s.Record == nil:
				return to.Add(ctx, s.Summary, nil)
			}
			to.AddLines(s.Record, s.Lines)
			return nil
		})
		return ctx.Err()
	})
	if failed := indexing.Wait(); failed != nil {
		err = failed
	}
	return coverage, err
}

// admit reports whether a session is not there yet, and remembers it.
func (g *Gathered) admit(s *Session, host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Host == "" || strings.ContainsAny(s.Host, `/\`) || s.Summary.Path != Name(s.Host, s.Path) { // it would pass for one of this machine
		return false
	}
	if g.texts[s.Summary.Path] != nil || s.Host == host && g.local[s.Path] {
		return false
	}
	if s.Summary.ID != "" {
		id := identityOf(&s.Summary)
		if g.seen[id] {
			return false
		}
		g.seen[id] = true
	}
	g.texts[s.Summary.Path] = s.file(g.ctx)
	return true
}

// Open implements entry.Source for the sessions that were sent.
func (g *Gathered) Open(path string) (entry.File, error) {
	if f := g.texts[path]; f != nil {
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// Has reports whether a path is that of a session which was sent.
func (g *Gathered) Has(path string) bool { return g.texts[path] != nil }

// Whole returns what is to be known of the words of a query in all that the sources have, from
// what it is in the index of what they sent; nil if one of them is no Counter.
func (g *Gathered) Whole(ctx context.Context, sent *words.Statistics) (*words.Statistics, error) {
	terms := slices.Collect(maps.Keys(sent.Terms))
	whole := &words.Statistics{}
	for _, source := range g.sources {
		counter, ok := source.(Counter)
		if !ok {
			return nil, nil
		}
		of, err := counter.Count(ctx, terms)
		if err != nil {
			return nil, err
		}
		whole.Add(of)
	}
	whole.Add(&words.Statistics{Compounds: sent.Compounds, More: g.Inexact})
	return whole, nil
}
