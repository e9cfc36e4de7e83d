// Package adapter says which agent wrote a session file, and how to read it. An Adapter
// makes a Parser, which turns the lines of a file into entries and searchable parts.
// An Agent, the central type, is an Adapter that also knows where its files are. Each
// agent is a package below this one. The Registry finds the agent of a file. Agents see
// bytes and an Environment, never the file system or the clock. The package imports
// only jsonl, scope and internal/session.
package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"

	"pigrep/internal/content"
	"pigrep/internal/human"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Adapter reads session files: an Agent those of one agent, the Registry those of all.
type Adapter interface {
	// Parse returns a parser for one session file that continues from the state.
	// A State with only a path starts at the beginning of the file.
	Parse(state State) Parser
}

// State is what a parser needs to continue in the middle of a file.
type State struct {
	// Path is the absolute path of the file, without the suffix of a compression. It is for
	// agents whose file names say what the lines do not.
	Path string
	// Header is what is known of the session. Version 0: no header seen yet. Its Agent and
	// Notes are set from the beginning, and are kept by the Registry, whatever the parser
	// makes of the rest.
	Header   session.Header
	Lines    int   // physical lines before the next one
	LastTime int64 // Unix milliseconds of the entry before, 0 when none
	Facts    bool  // whether the parser makes the facts of entries

	// Memo is what the parser remembers of earlier lines beside the rest of the state, in a
	// form of its own, of at most MaxMemo bytes. It is stored with the checkpoint: parsing
	// from there must equal parsing at once. It is nil at the start of a file, and when
	// entries are read alone or a part of the lines is: see session.Entry for what may
	// depend on it. A Memo is never changed in place; the parser may keep and share it.
	Memo []byte
}

// MaxMemo is the largest size of a Memo in bytes. What is too much, a parser forgets by a
// number of lines or entries, never by time or by how it was called.
const MaxMemo = 16 << 10

// Line is one physical line of a session file.
type Line = jsonl.Line

// Parser turns the lines of one file, in order, into entries. It may be given only some of
// the lines, each alone.
type Parser interface {
	// Parse passes every entry on the line to emit, in order. Headers go into
	// the state. Each piece of the line that is not an entry is returned as a
	// problem; blank lines are none. Entries are valid only during emit. An
	// unterminated last line that is not complete gives no entry, and one
	// problem with Torn set.
	Parse(line Line, emit func(*session.Entry)) []ParseError
	// State returns the state after the lines parsed so far.
	State() State
	// Reset makes the parser continue from another state, possibly of another file.
	// It keeps its memory and otherwise behaves like a new parser.
	Reset(state State)
}

// ParseError is a piece of a line that was skipped, and the reason.
type ParseError struct {
	Line   int
	Offset int64
	Reason string
	Torn   bool // the file ends within the piece: it is incomplete, not broken
}

func (e ParseError) Error() string {
	return fmt.Sprintf("line %d, offset %d: %s", e.Line, e.Offset, e.Reason)
}

// Viewer is a Parser that can lay entries out for a person.
type Viewer interface {
	// View lays out the entry that is being emitted. Both are valid only during emit.
	View(e *session.Entry) *session.View
}

// View parses a line as the Parser of the state does, and passes each entry to emit with its
// view. If the parser is not a Viewer, each part becomes a block.
func View(a Adapter, state State, line Line, emit func(*session.Entry, *session.View)) []ParseError {
	if r, ok := a.(*Registry); ok {
		a = r.Agent(state.Header.Agent)
	}
	p := a.Parse(state)
	viewer, ok := p.(Viewer)
	return p.Parse(line, func(e *session.Entry) {
		if ok {
			emit(e, viewer.View(e))
			return
		}
		view := &session.View{}
		for i := range e.Parts {
			view.Blocks = append(view.Blocks, session.Block{Kind: e.Parts[i].Kind, Text: e.Parts[i].Text})
		}
		emit(e, view)
	})
}

// Agents returns the agents of an Adapter, which is one of them or the Registry.
func Agents(a Adapter) []Agent {
	switch a := a.(type) {
	case *Registry:
		return a.agents
	case Agent:
		return []Agent{a}
	}
	return nil
}

// Revision returns that of the agent with a name.
func Revision(a Adapter, agent string) int {
	for _, own := range Agents(a) {
		if own.Name() == agent {
			return own.Revision()
		}
	}
	return 0
}

// Volatile returns how many bytes at the start of a file its agent overwrites in place.
func Volatile(a Adapter, agent string, file io.ReaderAt) (n int64, err error) {
	for _, own := range Agents(a) {
		if o, ok := own.(Overwriter); ok && own.Name() == agent {
			err = withHead(file, func(head []byte) { n = o.Volatile(head) })
		}
	}
	return n, err
}

// Source is a whole session file. It is read from its beginning, and the head of it once more.
type Source interface {
	io.Reader
	io.ReaderAt
}

// Begin returns the state at the beginning of a file that is not indexed. With several
// agents, the head of the file says whose it is.
func Begin(a Adapter, path string, file io.ReaderAt) (State, error) {
	state := State{Path: path}
	if f, ok := file.(*content.File); ok && f.Virtual() != nil {
		state.Header = HeaderOf(f.Virtual())
		return state, nil
	}
	r, ok := a.(*Registry)
	if !ok || len(r.agents) == 1 {
		for _, own := range Agents(a) {
			state.Header.Agent = own.Name()
		}
		return state, nil
	}
	err := withHead(file, func(head []byte) {
		agent, sort := r.claim(path, head)
		state.Header.Agent, state.Header.Notes = agent.Name(), sort == Notes
		if p, ok := agent.(Placer); ok {
			state.Header.CWD = p.Place(r.env, path)
		}
	})
	return state, err
}

// Keep makes the header of a file that is read anew have what another header of it had from the
// beginning, and directories that names beside the file said then.
func Keep(a Adapter, to *session.Header, from session.Header) {
	to.Agent, to.Notes = from.Agent, from.Notes
	for _, own := range Agents(a) {
		if _, ok := own.(Placer); ok && own.Name() == from.Agent && to.CWD == "" {
			to.CWD = from.CWD
		}
	}
}

// HeaderOf returns what a database says of a file in it.
func HeaderOf(v *content.Virtual) (h session.Header) {
	if h.Agent, h.Notes, h.ParentSession = v.Agent, v.Notes, v.Parent; v.Parent != "" {
		h.Relation = session.Spawned
	}
	return h
}

func withHead(file io.ReaderAt, use func(head []byte)) error {
	head := heads.Get().(*[HeadLength]byte)
	defer heads.Put(head)
	n, err := file.ReadAt(head[:], 0)
	use(head[:n])
	if err == io.EOF || content.Ends(err) {
		return nil
	}
	return err
}

// heads are buffers for the heads of files.
var heads = sync.Pool{New: func() any { return new([HeadLength]byte) }}

// DefaultMaxLine is the length in bytes of the longest line that is read. The longest
// known lines of agents, which contain images, have a tenth of this length.
const DefaultMaxLine = 256e6

// DefaultMaxSession is the length in bytes of the longest text of a compressed file. The
// longest known ones have an eighth of it.
const DefaultMaxSession = 16e9

// DefaultMaxEntries bounds the entries of a file that an index takes. An entry takes memory while it is
// indexed and in each answer, however short its line is. Entries of real sessions have 1 to 4 kB on
// average, and 100 bytes or more when compressed.
const (
	DefaultMaxEntries = 2_000_000
	perStored         = 2       // bytes of a compressed file for each entry, at least,
	perPlain          = 32      // and of another file,
	fewEntries        = 100_000 // if the file has more entries than this
)

// Limits bound what is read of a session file.
type Limits struct {
	Line int64 // bytes of the longest line that is read; 0 for no limit
	Text int64 // bytes of the text of a compressed file; 0 for no limit

	Entries int // most entries of a file; four times as many documents, ten times as many lines; 0: DefaultMaxEntries
}

// Of returns the limits for a file.
func (l Limits) Of(file io.ReaderAt) Limits {
	l.Entries = cmp.Or(l.Entries, DefaultMaxEntries)
	if f, ok := file.(*content.File); ok {
		per := int64(perPlain)
		if f.Packed() {
			per = perStored
		}
		l.Entries = min(l.Entries, max(fewEntries, int(f.Info.Size()/per)))
	}
	return l
}

// Reached reports whether a record has all the entries, documents or lines that an index takes.
func (l Limits) Reached(rec *session.Record) bool {
	return rec.Entries >= l.Entries || rec.Documents >= 4*l.Entries || rec.Lines >= 10*l.Entries
}

// A FullError says that a file has more entries or lines than an index takes.
type FullError struct {
	Lines int // that the index has
}

func (e *FullError) Error() string {
	return fmt.Sprintf("only its first %s lines are indexed: it has more entries than an index takes from a file", human.Number(e.Lines))
}

// LimitsOf returns the limits with which an adapter reads.
func LimitsOf(a Adapter) Limits {
	if r, ok := a.(*Registry); ok {
		return r.limits
	}
	return Limits{Line: DefaultMaxLine, Text: DefaultMaxSession}
}

// MaxLine returns the length of the longest line that is read; 0 means no limit.
func MaxLine(a Adapter) int64 { return LimitsOf(a).Line }

// Lines returns a reader for the lines of a session file. r starts at the given offset of
// the file, after the given number of complete lines. Every reader of session files must
// skip the same lines as too long.
func Lines(a Adapter, r io.Reader, offset int64, lines int) *jsonl.Reader {
	reader := jsonl.NewReader(r, offset, lines)
	reader.Limit = MaxLine(a)
	return reader
}

// TooLong is the reason of a problem with a line that is too long.
const TooLong = "longer than max-line"

// Parse is Parser.Parse, but returns a problem for a line that is too long.
func Parse(p Parser, line Line, emit func(*session.Entry)) []ParseError {
	if line.TooLong {
		return []ParseError{{Line: line.Number, Offset: line.Offset, Reason: TooLong}}
	}
	return p.Parse(line, emit)
}

// NoteEnd records that reading stopped before the end of the file, if err says so: the file is
// damaged there, or has more text than is read. It reports whether it did. Other errors are
// the caller's.
func NoteEnd(rec *session.Record, err error) bool {
	tooLong, ok := errors.AsType[*content.TooLongError](err)
	rec.LeftOut, rec.Damaged = ok, errors.Is(err, content.ErrDamaged)
	switch {
	case rec.LeftOut:
		err = tooLong
	case rec.Damaged:
		err = content.ErrDamaged
	default:
		return false
	}
	rec.AddProblem(session.Problem{Line: rec.Lines + 1, Offset: rec.Checkpoint.Offset, Reason: err.Error()})
	return true
}

// EndOf says why text after that of the checkpoint was not read; nil if all was.
func EndOf(c *session.Checkpoint) error {
	switch {
	case c.Damaged, c.Spoilt:
		return content.ErrDamaged
	case c.LeftOut:
		return &content.TooLongError{Limit: c.Length}
	case c.Full:
		return &FullError{c.Lines}
	}
	return nil
}

// A TooLongError reports that lines of a file were skipped because they are too long.
type TooLongError struct {
	Line   int   // the first of them, from 1
	Offset int64 // of that line
	Lines  int   // how many
	Limit  int64
}

func (e *TooLongError) Error() string {
	more := ""
	if e.Lines > 1 {
		more = fmt.Sprintf(" and %d more", e.Lines-1)
	}
	return fmt.Sprintf("line %d (offset %d)%s: longer than %s", e.Line, e.Offset, more, human.Bytes(e.Limit))
}

// Add counts a line that is too long. The error may be nil; the result is not.
func (e *TooLongError) Add(line int, offset, limit int64) *TooLongError {
	if e == nil {
		return &TooLongError{line, offset, 1, limit}
	}
	e.Lines++
	return e
}
