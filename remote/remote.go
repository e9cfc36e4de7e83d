// Package remote lets sessions of other machines take part in an answer. There are two ways.
//
// Answers answers a question itself: the index of this machine, another machine, or several
// together. A Kind is a question that it answers.
//
// A Source streams the session files that may answer a Question: whole, or the lines that matter
// with the record of the rest. Gather indexes in memory what several sources send, with the
// sessions of this machine if they are wanted too. Questions then run on that index as on any
// other. So an answer has the same hits, marks, order and JSON wherever its sessions are. A
// Counter also says how frequent words are in all that it has, so that scores are the same too.
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
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
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

	Named  bool     // about whole sessions that the user named, by Names, or as the latest ones
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
	Lost     int  // session files of which the source says that it has lost what it had
	Damaged  int  // session files that are left out, or in part, because of what the source says of them

	Statistics *words.Statistics // of the words of the question in all that the source has; nil: a Counter says it
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

// ErrLost means that a source no longer has what it says.
var ErrLost = errors.New("parts of it are lost")

// Gathered is what sources sent, as an index. It is the search.Excerpt of its sessions.
type Gathered struct {
	Reader  *index.Reader // the caller closes it
	Missing []Missing
	Known   int  // sessions that may answer the question, in all sources
	Inexact bool // there may be more hits than there are here

	Here       entry.Source      // opens the session files that were not sent
	Statistics *words.Statistics // of all that may be asked; nil if they are not known

	sources []Source
	counted []*words.Statistics // of the sources
	ctx     context.Context     // for lines that are read later
	mu      sync.Mutex
	texts   map[string]entry.File
	seen    map[identity]string           // the host of each session; everywhere for those of base
	copies  map[identity]*Session         // of those that are sent as a whole
	own     map[identity]*session.Summary // sessions of this machine that a question names
	local   map[string]bool               // paths on this machine
}

// identity is what two copies of a session have in common.
type identity struct {
	agent, id string
	begun     int64
}

// everywhere is no host.
const everywhere = "/"

func identityOf(s *session.Summary) identity {
	return identity{session.ShortAgent(s.Agent), s.ID, s.Timestamp.UnixMilli()}
}

// Gather asks all sources at once. base has the sessions of this machine, whose name is host; it
// is index.Empty() if they are not wanted. here opens the files of base. A session that several
// sources have counts once, and a session of base comes before its copies. If whole sessions are
// sent, the lines of all copies are joined, with the lines of base if the question names the
// session. Gather fails if no source answers and base has no sessions.
func Gather(ctx context.Context, a adapter.Adapter, base *index.Reader, here entry.Source, host string, sources []Source, q Question) (*Gathered, error) {
	g := &Gathered{Here: here, own: make(map[identity]*session.Summary), texts: make(map[string]entry.File), seen: make(map[identity]string), copies: make(map[identity]*Session), local: make(map[string]bool)}
	for i := range base.Summaries() {
		s := &base.Summaries()[i]
		g.local[s.Path] = true
		if s.ID != "" {
			g.seen[identityOf(s)] = everywhere
			if len(q.Names) > 0 {
				g.own[identityOf(s)] = s
			}
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
	for id, s := range g.copies {
		if own := g.own[id]; own != nil {
			if s.Host == "" && s.Summary.Size == int64(len(s.Text)) { // others have nothing more
				continue
			}
			index.Drop(own.File)
		}
		if err := g.whole(ctx, index, s); err != nil {
			return nil, err
		}
	}
	for i, source := range sources {
		c := &results[i]
		m := Missing{source.Name(), c.Sessions - c.Sent - c.Lower, failed[i]}
		g.Known += c.Sessions
		g.counted = append(g.counted, c.Statistics)
		g.Inexact = g.Inexact || c.Inexact || c.Lower > 0
		if m.Err != nil || m.Sessions > 0 {
			g.Missing = append(g.Missing, m)
		}
		if c.Lost > 0 {
			g.Missing = append(g.Missing, Missing{source.Name(), c.Lost, ErrLost})
		}
		if c.Damaged > 0 {
			g.Missing = append(g.Missing, Missing{source.Name(), c.Damaged, ErrDamaged})
		}
	}
	if i := slices.IndexFunc(g.Missing, func(m Missing) bool { return q.Whole && m.Err == nil }); i >= 0 {
		return nil, fmt.Errorf("%w: %d of %d session files that may count in %s do not fit into %d MB", ErrTooMuch, g.Missing[i].Sessions, g.Known, g.Missing[i].Source, cmp.Or(q.Bytes, DefaultBytes)>>20)
	}
	if !slices.Contains(failed, nil) && len(g.local) == 0 {
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
				return g.whole(ctx, to, s)
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
		if own := g.own[id]; own != nil && s.Text != nil && g.copies[id] == nil {
			if text := g.read(own.Path); text != nil {
				g.copies[id] = &Session{Path: own.Path, Summary: *own, Text: text}
				g.copies[id].Summary.Size = int64(len(text))
			}
		}
		host, again := g.seen[id]
		if again && host == s.Host { // another file of the host is no copy: the index knows what it is
			g.texts[s.Summary.Path] = s.file(g.ctx)
			return true
		}
		if other := g.copies[id]; other != nil && s.Text != nil { // the one that went on longer stands for both
			if c := other.Summary.Modified().Compare(s.Summary.Modified()); c < 0 || c == 0 && s.Summary.Path < other.Summary.Path {
				other, s = s, other
			}
			other.Text = withLines(other.Text, s.Text)
			g.copies[id] = other
			return false
		}
		if again {
			return false
		}
		if g.seen[id] = s.Host; s.Text != nil { // another source may have more lines of it
			g.copies[id] = s
			return false
		}
	}
	g.texts[s.Summary.Path] = s.file(g.ctx)
	return true
}

// read returns the text of a session file of this machine; nil if it cannot be had, or is too long
// to be joined.
func (g *Gathered) read(path string) []byte {
	f, err := g.Here.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if f.Size() > DefaultBytes {
		return nil
	}
	text := make([]byte, f.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size()), text); err != nil {
		return nil
	}
	return text
}

// whole indexes a session that was sent as a whole.
func (g *Gathered) whole(ctx context.Context, to *indexer.Elsewhere, s *Session) error {
	g.mu.Lock()
	g.texts[s.Summary.Path] = s.file(ctx)
	g.mu.Unlock()
	s.Summary.Size = int64(len(s.Text))
	return to.Add(ctx, s.Summary, bytes.NewReader(s.Text))
}

// withLines adds to a text the lines of another text that it lacks. Copies of a session that went on in
// two places have the same beginning. The lines go behind that beginning, so that the end of the text
// does not change. Lines that differ only because one of them is masked are the same.
func withLines(text, other []byte) []byte {
	masked := func(line []byte) string { return string(bytes.TrimSpace(redact.JSON(bytes.TrimSpace(line)))) }
	own, common := make(map[string]bool), make(map[string]bool)
	for line := range bytes.Lines(text) {
		own[masked(line)] = true
	}
	var more []byte
	for line := range bytes.Lines(other) {
		if key := masked(line); own[key] {
			common[key] = true
		} else {
			more = append(append(more, bytes.TrimSuffix(line, []byte("\n"))...), '\n')
		}
	}
	at, end := 0, 0 // the end of the last line that both have
	for line := range bytes.Lines(text) {
		if end += len(line); common[masked(line)] {
			at = end
		}
	}
	if at > 0 && text[at-1] != '\n' {
		more = append([]byte("\n"), more...)
	}
	return slices.Concat(text[:at], more, text[at:])
}

// Open implements entry.Source.
func (g *Gathered) Open(path string) (entry.File, error) {
	if f := g.texts[path]; f != nil {
		return f, nil
	}
	return g.Here.Open(path)
}

// Whole implements search.Excerpt.
func (g *Gathered) Whole() *words.Statistics { return g.Statistics }

// Count returns what is to be known of the words of a query in all that the sources have, from
// what it is in the index of what they sent; nil if one of them is no Counter.
func (g *Gathered) Count(ctx context.Context, sent *words.Statistics) (*words.Statistics, error) {
	terms := slices.Collect(maps.Keys(sent.Terms))
	whole := &words.Statistics{}
	for i, source := range g.sources {
		if of := g.counted[i]; of != nil {
			for t, n := range sent.Terms { // what the source does not say is about as rare as in what it sent
				of.Terms[t] = max(of.Terms[t], n)
			}
			whole.Add(of)
			continue
		}
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
	whole.More = g.Inexact
	return whole, nil
}

// file returns the file of a session as far as it was sent.
func (s *Session) file(ctx context.Context) entry.File {
	modified := time.Unix(0, s.Summary.Mtime)
	if s.Record == nil {
		return text{bytes.NewReader(s.Text), modified}
	}
	return &sparse{ctx: ctx, session: s, modified: modified, lines: merged(slices.Clone(s.Lines))}
}

// text is a file of which all is there.
type text struct {
	*bytes.Reader
	modified time.Time
}

func (t text) Close() error       { return nil }
func (t text) ModTime() time.Time { return t.modified }

// sparse is a file of which some lines are there. The line at which a read begins is read when it is
// not. What is missing is blank, with as many line ends as lines, so that places and numbers of the
// others are right. It may be used by several goroutines.
type sparse struct {
	ctx      context.Context
	session  *Session
	modified time.Time

	mu    sync.Mutex
	lines []adapter.Line // in order
}

func (s *sparse) Close() error       { return nil }
func (s *sparse) ModTime() time.Time { return s.modified }
func (s *sparse) Size() int64        { return s.session.Record.Checkpoint.Length }

// end is behind the line end of a line.
func end(l *adapter.Line) int64 { return l.Offset + int64(len(l.Data)) + 1 }

func (s *sparse) ReadAt(p []byte, offset int64) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := max(0, s.Size()-offset); int64(len(p)) > left {
		p, err = p[:left], io.EOF
	}
	if len(p) > 0 {
		if err := s.read(offset); err != nil {
			return 0, err
		}
	}
	s.fill(p, offset)
	return len(p), err
}

// fill fills a piece of the file at an offset.
func (s *sparse) fill(p []byte, offset int64) {
	for i := range p {
		p[i] = ' '
	}
	to := offset + int64(len(p))
	i := s.from(offset)
	number, at := 0, int64(0) // of the line before, and its end
	if i > 0 {
		number, at = s.lines[i-1].Number, end(&s.lines[i-1])
	}
	blank := func(lines int) {
		for k := max(at, offset); k < min(at+int64(lines), to); k++ {
			p[k-offset] = '\n'
		}
	}
	for ; i < len(s.lines) && at < to; i++ {
		l := &s.lines[i]
		blank(l.Number - number - 1)
		if from := max(l.Offset, offset); from < min(end(l), to) {
			copy(p[from-offset:], l.Data[min(from-l.Offset, int64(len(l.Data))):])
		}
		if number, at = l.Number, end(l); at > offset && at <= to {
			p[at-1-offset] = '\n'
		}
	}
	blank(s.session.Record.Lines - number)
}

// from returns the first line that ends behind an offset.
func (s *sparse) from(offset int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return end(&s.lines[i]) > offset })
}

// read reads the line of the entry at an offset, unless it is there. Who reads more looks for the end
// of that line.
func (s *sparse) read(offset int64) error {
	if i := s.from(offset); i < len(s.lines) && s.lines[i].Offset <= offset {
		return nil
	}
	nodes := s.session.Record.Nodes
	i := sort.Search(len(nodes), func(i int) bool { return nodes[i].Offset+int64(nodes[i].Length) > offset })
	if i == len(nodes) || s.session.Read == nil {
		return nil
	}
	more, err := s.session.Read(s.ctx, nodes[i].Line)
	if err == nil {
		s.lines = merged(slices.Concat(more, s.lines))
	}
	return err
}

// merged returns lines in order, each once, as far as they fit together.
func merged(lines []adapter.Line) []adapter.Line {
	lists.SortStable(lines, func(a, b adapter.Line) int { return cmp.Compare(a.Number, b.Number) })
	var last *adapter.Line
	return slices.DeleteFunc(lines, func(l adapter.Line) bool {
		number, at := 0, int64(0)
		if last != nil {
			number, at = last.Number, end(last)
		}
		gap := int64(l.Number) - int64(number) - 1
		if gap < 0 || l.Offset < 0 || l.Offset-at < gap {
			return true
		}
		last = &l
		return false
	})
}

// Usable reports whether a record that comes from elsewhere may stand for a session file: its
// entries must be in order and of sizes that can be read.
func Usable(r *session.Record) bool {
	if r.Lines < 0 || r.Checkpoint.Length < int64(r.Lines) {
		return false
	}
	at := int64(0)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Offset < at || n.Length < 0 || n.Length > DefaultBytes || n.Offset > r.Checkpoint.Length-int64(n.Length) || n.Line < 0 {
			return false
		}
		at = n.Offset
	}
	return true
}
