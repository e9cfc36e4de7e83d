// Package remote lets sessions of other machines take part in an answer. Answers answers a question
// itself: the index of this machine, another machine, an archive, or several together. A Kind is a
// question that it answers. A Source sends whole session files that a user has named, and Join
// indexes these in memory, with the sessions of this machine if they are wanted too.
//
// What a source sends is untrusted: it is only ever parsed as a session file, and bounded.
package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
)

// Named are session files that a user names, with the other files of their sessions.
type Named struct {
	Names  []string // ids, their beginnings or ends, or paths
	Latest int      // without names: so many, the latest first
}

// Any reports whether any session is named.
func (n *Named) Any() bool { return len(n.Names) > 0 || n.Latest > 0 }

// MostText is how much text of session files a source sends. In memory, text and index take about
// three times as much.
const MostText = 96 << 20

// A Session is a session file of another machine.
type Session struct {
	Host    string
	Path    string          // on that host
	Summary session.Summary // its Path is Name(Host, Path)
	Text    []byte          // its lines
}

// Name is the path by which answers call a session file of another machine.
func Name(host, path string) string { return host + ":" + path }

// Split undoes Name. ok is false for a path of this machine.
func Split(name string) (host, path string, ok bool) { return session.SplitHost(name) }

// Coverage says how much of what a source has was sent.
type Coverage struct {
	Sessions int // that are named
	Sent     int
	Lost     int // session files of which the source says that it has lost what it had
	Damaged  int // session files that are left out, or in part, because of what the source says of them
}

// A Source has sessions that are not on this machine.
type Source interface {
	Name() string
	// Whole calls visit for the session files that are named, one after the other. A session is the visitor's.
	Whole(ctx context.Context, named Named, visit func(*Session) error) (Coverage, error)
}

// Missing says what an answer lacks, and why.
type Missing struct {
	Source   string
	Sessions int   // that may answer the question and were not sent; 0 if unknown
	Err      error // nil: there was no room for more
}

// The reasons why an answer is not what it could be.
var (
	ErrTooMuch = errors.New("too many sessions for this question")
	ErrDamaged = errors.New("not written by pigrep")
	ErrLost    = errors.New("parts of it are lost")
)

// Lacks returns what is missing of a source, given the error of asking it.
func (c *Coverage) Lacks(source string, err error) (list []Missing) {
	if n := c.Sessions - c.Sent; err != nil || n > 0 {
		list = append(list, Missing{source, n, err})
	}
	if c.Lost > 0 {
		list = append(list, Missing{source, c.Lost, ErrLost})
	}
	if c.Damaged > 0 {
		list = append(list, Missing{source, c.Damaged, ErrDamaged})
	}
	return list
}

// Identity is what two copies of a session have in common.
type Identity struct {
	agent, id string
	begun     int64
}

// IdentityOf returns the identity of a session.
func IdentityOf(s *session.Summary) Identity {
	return Identity{session.ShortAgent(s.Agent), s.ID, s.Timestamp.UnixMilli()}
}

// Joined is an index of session files that sources sent, and opens these.
type Joined struct {
	Reader  *index.Reader // the caller closes it
	Missing []Missing
	Known   int // session files that are named, in all sources

	here  entry.Source
	texts map[string]entry.File
}

// Join asks all sources at once. base has the sessions of this machine, whose name is host; it is
// index.Empty() if they are not wanted. here opens the files of base. A session of which several have
// copies counts once, with the lines of all copies; if others have nothing more than base, the file of base stands as it is.
// Join fails if no source answers and base has no sessions.
func Join(ctx context.Context, a adapter.Adapter, base *index.Reader, here entry.Source, host string, sources []Source, named Named) (*Joined, error) {
	sent, failed := make([][]*Session, len(sources)), make([]error, len(sources))
	g := &Joined{here: here, texts: make(map[string]entry.File)}
	coverage := make([]Coverage, len(sources))
	var asking sync.WaitGroup
	for i, source := range sources {
		asking.Go(func() {
			coverage[i], failed[i] = source.Whole(ctx, named, func(s *Session) error {
				sent[i] = append(sent[i], s)
				return nil
			})
		})
	}
	asking.Wait()
	for i, source := range sources {
		g.Known += coverage[i].Sessions
		g.Missing = append(g.Missing, coverage[i].Lacks(source.Name(), failed[i])...)
	}
	if len(base.Summaries()) == 0 && !slices.Contains(failed, nil) {
		return nil, failed[0]
	}
	to := indexer.NewElsewhere(a, base)
	list, own := g.joined(base, host, slices.Concat(sent...))
	for _, s := range list {
		if of := own[IdentityOf(&s.Summary)]; of != nil && s.Summary.ID != "" {
			to.Drop(of.File)
		}
		g.texts[s.Summary.Path] = Text(s.Text, time.Unix(0, s.Summary.Mtime))
		s.Summary.Size = int64(len(s.Text))
		if err := to.Add(ctx, s.Summary, bytes.NewReader(s.Text)); err != nil {
			return nil, err
		}
	}
	var err error
	g.Reader, err = to.Reader()
	return g, err
}

// joined returns the session files that stand for all that came, and the sessions of base, which some of them replace.
func (g *Joined) joined(base *index.Reader, host string, sent []*Session) (list []*Session, own map[Identity]*session.Summary) {
	local := make(map[string]bool)
	own = make(map[Identity]*session.Summary)
	for i := range base.Summaries() {
		s := &base.Summaries()[i]
		local[s.Path], own[IdentityOf(s)] = true, s
	}
	seen, copies := make(map[string]bool), make(map[Identity]*Session)
	for _, s := range sent {
		path, id := s.Summary.Path, IdentityOf(&s.Summary)
		if s.Host == "" || strings.ContainsAny(s.Host, `/\`) || path != Name(s.Host, s.Path) || seen[path] || s.Host == host && local[s.Path] { // it would pass for one of this machine
			continue
		}
		seen[path] = true
		if of := own[id]; of != nil && id.id != "" && copies[id] == nil {
			text := g.read(of.Path)
			if text == nil {
				continue
			}
			copies[id] = &Session{Path: of.Path, Summary: *of, Text: text}
			copies[id].Summary.Size = int64(len(text))
			list = append(list, copies[id])
		}
		other := copies[id]
		if id.id == "" || other == nil || other.Host == s.Host { // another file of a host is not a copy
			if list = append(list, s); other == nil {
				copies[id] = s
			}
			continue
		}
		// The copy that went on longer stands for both.
		if c := other.Summary.Modified().Compare(s.Summary.Modified()); c < 0 || c == 0 && path < other.Summary.Path {
			*other, *s = *s, *other
		}
		other.Text = withLines(other.Text, s.Text)
	}
	return slices.DeleteFunc(list, func(s *Session) bool { // others have nothing more
		return s.Host == "" && int64(len(s.Text)) == s.Summary.Size
	}), own
}

// read returns the text of a session file of this machine; nil if it cannot be had, or is too long
// to be joined.
func (g *Joined) read(path string) []byte {
	f, err := g.here.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if f.Size() > MostText {
		return nil
	}
	text := make([]byte, f.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size()), text); err != nil {
		return nil
	}
	return text
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
func (g *Joined) Open(path string) (entry.File, error) {
	if f := g.texts[path]; f != nil {
		return f, nil
	}
	return g.here.Open(path)
}

// Text returns a file of which all is there.
func Text(data []byte, modified time.Time) entry.File { return text{bytes.NewReader(data), modified} }

type text struct {
	*bytes.Reader
	modified time.Time
}

func (t text) Close() error       { return nil }
func (t text) ModTime() time.Time { return t.modified }
