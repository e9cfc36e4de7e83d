package entry

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/internal/session"
)

// ErrChanged means that the session file does not have the indexed entry any more: it
// was edited, truncated or deleted. An error of the system, such as a missing
// permission, is never ErrChanged.
var ErrChanged = errors.New("the session file has changed since it was indexed")

// ErrTooLong means that an entry is longer than Reader.Limit.
var ErrTooLong = errors.New("the entry is too long")

// A Ref says where an entry is in its session file.
type Ref struct {
	Offset int64
	Length int   // bytes of its JSON object; 0 if unknown: it ends with its line
	Guess  int64 // estimated length of that line; 0 if unknown
	Line   int   // line number, from 1; 0 if unknown

	Context session.Context // which the entry itself does not say
	Tool    string          // nor this: the tool of the call that it answers
}

func RefOf(n *session.Node, c session.Context) Ref {
	return Ref{Offset: n.Offset, Length: n.Length, Line: n.Line, Context: c, Tool: n.Tool}
}

// complete adds to an entry what it does not say itself.
func (r *Ref) complete(e *session.Entry) {
	e.Context = r.Context
	e.Complete()
	e.Answer(r.Tool)
}

// An Identity says which entry was indexed. Zero fields are not compared.
type Identity struct {
	ID    string
	Copy  uint64 // session.Entry.Copy
	Parts int    // minimum number of parts
}

// A Reader reads entries of session files again and checks that each is the one that
// was indexed. It keeps one file open at a time; Use(nil) closes it. It is used by one
// goroutine.
type Reader struct {
	Limit int  // longest entry to read, in bytes; 0 for no limit
	Facts bool // Read and Parse return entries with their facts

	// Wanted, if not nil, reports whether the text in a piece of JSON is wanted: see
	// adapter.Line. View needs nil.
	Wanted func(json []byte) bool

	src     Source
	adapter adapter.Adapter
	parser  adapter.Parser // nil until the first entry
	session *session.Summary
	file    io.ReaderAt // nil until the first read
	opened  File        // the file, when the reader has to close it
	buf     []byte
	size    int
}

// NewReader returns a Reader of files of the source. Call Use before reading.
func NewReader(src Source, a adapter.Adapter) *Reader {
	return &Reader{src: src, adapter: a}
}

// Use selects the session whose entries are read from now on. Use(nil) closes the file. It
// releases the memory of a large entry.
func (r *Reader) Use(s *session.Summary) {
	if r.session == s {
		return
	}
	if r.opened != nil {
		_ = r.opened.Close() // it was only read
	}
	r.session, r.file, r.opened = s, nil, nil
	if cap(r.buf) > largeEntry {
		r.buf, r.parser = nil, nil
	}
}

// Size returns the bytes of the last entry or line that was read, Limit if it was too
// long.
func (r *Reader) Size() int { return r.size }

// Read calls use with the entry at ref if it is the indexed one, and fails with
// ErrChanged otherwise. The entry is valid during the call only.
func (r *Reader) Read(ref Ref, id Identity, use func(*session.Entry)) error {
	data, err := r.JSON(ref)
	if err != nil {
		return err
	}
	return r.Parse(ref, id, data, use)
}

// JSON returns the JSON object of the entry at ref or, if its length is unknown, the
// rest of its line. It does not check the identity. The bytes are valid until the next
// read.
func (r *Reader) JSON(ref Ref) ([]byte, error) {
	r.size = 0
	data, err := r.json(ref)
	if err == nil {
		r.size = len(data)
	}
	return data, err
}

func (r *Reader) json(ref Ref) ([]byte, error) {
	if ref.Length == 0 {
		return r.line(ref.Offset, ref.Guess)
	}
	if r.Limit > 0 && ref.Length > r.Limit {
		r.size = r.Limit
		return nil, ErrTooLong
	}
	err := r.readAt(ref.Offset, 0, ref.Length)
	return r.buf, err
}

// Parse is like Read for an entry whose JSON is at hand: data begins with it.
func (r *Reader) Parse(ref Ref, id Identity, data []byte, use func(*session.Entry)) error {
	state, line := r.parserInput(ref, data)
	if r.parser == nil || len(data) > largeEntry { // it keeps the memory of the entry before
		r.parser = r.adapter.Parse(state)
	} else {
		r.parser.Reset(state)
	}
	same := false
	r.parser.Parse(line, func(e *session.Entry) {
		if !same && id.matches(e, ref) {
			same = true
			ref.complete(e)
			use(e)
		}
	})
	if !same {
		return ErrChanged
	}
	return nil
}

// View is like Read with the entry's view for people. Both are valid during the call only.
func (r *Reader) View(ref Ref, id Identity, use func(*session.Entry, *session.View)) error {
	data, err := r.JSON(ref)
	if err != nil {
		return err
	}
	state, line := r.parserInput(ref, data)
	same := false
	adapter.View(r.adapter, state, line, func(e *session.Entry, v *session.View) {
		if !same && id.matches(e, ref) {
			same = true
			ref.complete(e)
			use(e, v)
		}
	})
	if !same {
		return ErrChanged
	}
	return nil
}

func (id Identity) matches(e *session.Entry, ref Ref) bool {
	return e.Offset == ref.Offset && (ref.Length == 0 || e.Length == ref.Length) &&
		(id.ID == "" || e.ID == id.ID) && (id.Copy == 0 || e.Copy == id.Copy) && len(e.Parts) >= id.Parts
}

func (r *Reader) parserInput(ref Ref, data []byte) (adapter.State, adapter.Line) {
	number := max(ref.Line, 1)
	state := adapter.State{Path: r.session.Path, Lines: number - 1, Facts: r.Facts}
	if h := &r.session.Header; h.Offset <= ref.Offset {
		state.Header = *h
	} else {
		state.Header.Agent, state.Header.Notes = h.Agent, h.Notes
	}
	return state, adapter.Line{Data: data, Raw: data, Offset: ref.Offset, Number: number, Ended: true, Wanted: r.Wanted}
}

// readAt reads the bytes [offset, offset+length) into the buffer, which already has
// the first have of them.
func (r *Reader) readAt(offset int64, have, length int) error {
	if r.file == nil {
		f, err := r.src.Open(r.session.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %v", ErrChanged, err)
		}
		if err != nil {
			return err
		}
		r.file, r.opened = f, f
	}
	r.buf = slices.Grow(r.buf[:have], length-have)[:length]
	n, err := r.file.ReadAt(r.buf[have:], offset+int64(have))
	switch {
	case n == length-have:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return ErrChanged
	}
	return fmt.Errorf("cannot read byte %d of %s: %w", offset, r.session.Path, err)
}

// An entry of unknown length is read in steps: FirstRead bytes, then readGrowth times
// as many each time.
const (
	FirstRead  = 16 << 10
	readGrowth = 8
)

// line reads the line from offset on, whose length is estimated by guess.
func (r *Reader) line(offset, guess int64) ([]byte, error) {
	if offset >= r.session.Checkpoint.Length {
		return nil, ErrChanged
	}
	left := r.session.Checkpoint.Length - offset
	if limit := adapter.MaxLine(r.adapter); limit > 0 {
		left = min(left, max(limit, r.session.LongestLine)+1)
	}
	if guess <= 0 {
		guess = FirstRead
	}
	have := 0
	for n := guess; ; n *= readGrowth {
		if r.Limit > 0 {
			n = min(n, int64(r.Limit))
		}
		n = min(n, left)
		if err := r.readAt(offset, have, int(n)); err != nil {
			return nil, err
		}
		if i := bytes.IndexByte(r.buf[have:], '\n'); i >= 0 {
			return r.buf[:have+i], nil
		}
		if have = int(n); n == left {
			return r.buf, nil
		}
		if r.Limit > 0 && have == r.Limit {
			r.size = r.Limit
			return nil, ErrTooLong
		}
	}
}

// Source opens session files for reading.
type Source interface {
	Open(path string) (File, error)
}

// File is an open session file.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64        // of the text, when it was opened; a bound if it is compressed: see content.File
	ModTime() time.Time // the time of entries that have none
}

// Problems reads a whole session file and calls emit for every piece that cannot be
// read. An incomplete last line without a newline is not a problem: it is still being
// written.
func Problems(a adapter.Adapter, path string, r adapter.Source, emit func(session.Problem)) error {
	state, err := adapter.Begin(a, path, r)
	if err != nil {
		return err
	}
	lines := adapter.Lines(a, r, 0, 0)
	parser := a.Parse(state)
	number, at := 0, int64(0) // of the last line, and where the next one begins
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if content.Ends(err) {
			emit(session.Problem{Line: number + 1, Offset: at, Reason: err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		number, at = line.Number, line.Offset+line.Length+1
		for _, p := range adapter.Parse(parser, line, func(*session.Entry) {}) {
			if !p.Torn {
				emit(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
			}
		}
	}
}
