package query

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// errChanged says that a session file no longer holds what was indexed.
var errChanged = errors.New("the session file has changed since it was indexed")

// errTooLong says that an entry is longer than a reader takes.
var errTooLong = errors.New("the entry is too long")

// entryReader reads entries of session files again, and holds the memory that
// looking at them takes. It is used by one goroutine at a time. It needs no
// session record: an entry ends where its line does.
type entryReader struct {
	src    Source
	file   *file // whose entries are read
	handle SessionFile
	buf    []byte
	parser adapter.Parser
	facts  bool // entries are read with their facts

	most int // bytes of an entry; 0 for any
	size int // of the line last read

	raw              rawFolder
	folder, commands folder
	marks            *highlighter
}

// reader returns a reader that no goroutine uses. The caller gives it back with
// done.
func (s *searcher) reader() *entryReader {
	s.idle.Lock()
	defer s.idle.Unlock()
	if n := len(s.readers); n > 0 {
		r := s.readers[n-1]
		s.readers = s.readers[:n-1]
		return r
	}
	return &entryReader{src: s.src, facts: needFacts(s.plans), parser: s.a.Parse(adapter.State{}), marks: newHighlighter(s.plans)}
}

// done takes back a reader.
func (s *searcher) done(r *entryReader) {
	r.of(nil)
	r.most = 0
	s.idle.Lock()
	defer s.idle.Unlock()
	s.readers = append(s.readers, r)
}

// of makes a reader read the entries of a file from now on.
func (r *entryReader) of(f *file) {
	if r.file == f {
		return
	}
	if r.handle != nil {
		_ = r.handle.Close() // it was only read
		r.handle = nil
	}
	r.file = f
}

// readAt reads bytes from the file into the reader's memory, where so many stand
// already. It fails with errChanged when the file is gone, unreadable, or shorter now.
func (r *entryReader) readAt(offset int64, have, length int) error {
	if r.handle == nil {
		handle, err := r.src.Open(r.file.Path)
		if err != nil {
			return errChanged
		}
		r.handle = handle
	}
	r.buf = slices.Grow(r.buf[:have], length-have)[:length]
	if n, err := r.handle.ReadAt(r.buf[have:], offset+int64(have)); n < length-have || err != nil && !errors.Is(err, io.EOF) {
		return errChanged
	}
	return nil
}

// How much is read at first of an entry whose length is not known, and how much
// more each time.
const (
	firstRead  = 16 << 10
	readGrowth = 8
)

// line reads the line from offset on. guess is how long it may be, 0 when that
// is not known.
func (r *entryReader) line(offset, guess int64) ([]byte, error) {
	if offset >= r.file.Size {
		return nil, errChanged
	}
	left := r.file.Size - offset
	if guess <= 0 {
		guess = firstRead
	}
	have := 0
	for n := guess; ; n *= readGrowth {
		if r.most > 0 {
			n = min(n, int64(r.most))
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
		if r.most > 0 && have == r.most {
			r.size = r.most
			return nil, errTooLong
		}
	}
}

// read reads the JSON of the entry at offset, or more of its line, and returns the
// number of the line too, 1 when that is not known. guess is as of line. The bytes
// are valid until the next call.
func (r *entryReader) read(offset, guess int64) (data []byte, number int, err error) {
	number, r.size = 1, 0
	if o := r.file.outline; o != nil {
		e, ok := o.At(offset)
		if !ok {
			return nil, 0, errChanged
		}
		if r.most > 0 && e.Length > r.most {
			r.size = r.most
			return nil, 0, errTooLong
		}
		number, err = e.Line, r.readAt(offset, 0, e.Length)
		data = r.buf
	} else {
		data, err = r.line(offset, guess)
	}
	if err == nil {
		r.size = len(data)
	}
	return data, number, err
}

// entry reads the entry of a candidate, whose id must be resolved, and hands it
// over, or fails with errChanged.
func (r *entryReader) entry(c *candidate, guess int64, use func(*session.Entry)) error {
	data, number, err := r.read(c.offset, guess)
	if err != nil {
		return err
	}
	return r.parse(c, data, number, use)
}

// parse hands over the entry of a candidate, with which the data begins, or fails
// with errChanged.
func (r *entryReader) parse(c *candidate, data []byte, number int, use func(*session.Entry)) error {
	state := adapter.State{Path: r.file.Path, Lines: number - 1, Facts: r.facts}
	if r.file.Header.Offset <= c.offset {
		state.Header = r.file.Header
	}
	r.parser.Reset(state)
	same := false
	line := adapter.Line{Data: data, Raw: data, Offset: c.offset, Number: number, Ended: true}
	r.parser.Parse(line, func(e *session.Entry) {
		if e.Offset == c.offset && !same && int(c.part) < len(e.Parts) && (c.copy == 0 || e.Copy == c.copy) && r.isNode(e) {
			same = true
			use(e)
		}
	})
	if !same {
		return errChanged
	}
	return nil
}

// isNode reports whether an entry is what the session record, if it is there,
// says of it.
func (r *entryReader) isNode(e *session.Entry) bool {
	if r.file.outline == nil {
		return true
	}
	n, ok := r.file.outline.At(e.Offset)
	return ok && n.ID == e.ID && n.Length == e.Length
}

// readFrom reads bytes of a session file.
func readFrom(src Source, path string, offset int64, length int) ([]byte, error) {
	f, err := src.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, length)
	if n, err := f.ReadAt(data, offset); n < length {
		return nil, fmt.Errorf("read %d bytes at %d of %s: %w", length, offset, path, err)
	}
	return data, nil
}

// eachReader calls work with the numbers below n, on all cores, each with a reader.
// Those of one call share it.
func (s *searcher) eachReader(n int, work func(r *entryReader, k int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(s.ctx)
	for range min(n, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			r := s.reader()
			defer s.done(r)
			for {
				k := int(next.Add(1)) - 1
				if k >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := work(r, k); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// lengthOf guesses how long the line of a resolved candidate is: not longer than
// up to the next entry with documents. It returns 0 when it knows of none.
func (s *searcher) lengthOf(c *candidate) int64 {
	seg := s.segs[c.segment]
	s.touch(seg)
	for doc := c.doc + 1; int(doc) < seg.Len() && doc < c.doc+8 && seg.files.Of(doc) == s.files[c.file].File; doc++ {
		if id, ok := seg.ID(doc); ok && id.Offset != c.offset {
			return id.Offset - c.offset
		}
	}
	return 0
}
