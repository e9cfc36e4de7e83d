// Package jsonl reads files of JSON lines in place. Reader cuts a file into lines and
// keeps their offsets, including a torn last line. Scanner, the central type, checks
// JSON as strictly as JSON.parse does and reads values from the bytes of a line,
// mostly without copying. Leaves turns a value of any shape into text. The package
// imports nothing of the project and knows no agent.
package jsonl

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of a Reader's buffer.
const (
	firstBuffer = 64 << 10
	keptBuffer  = 16 << 20 // a larger buffer is released once its line is done
	maxEmpty    = 100      // empty reads in a row before a reader counts as stuck
)

// ByteOrderMark may stand at the start of a file. It is not part of the first line.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// Line is one physical line of a session file.
type Line struct {
	Data   []byte // without its line end; valid until the next line is read
	Raw    []byte // all of its bytes, with byte order mark and line end
	Offset int64  // of its first byte in the file
	Number int    // 1-based
	Ended  bool   // a "\n" followed it

	// Wanted, if not nil, reports whether the text in a piece of the line's JSON is wanted.
	// The line was parsed before, as it is if it was indexed. A parser then takes its strings
	// for valid, and leaves out what takes time: texts that are not wanted (see session.Part),
	// and Copy and UserText of entries.
	Wanted func(json []byte) bool
}

// Reader cuts a session file into physical lines, at "\n" only. The longest line
// bounds its memory. It is not safe for concurrent use.
type Reader struct {
	r      io.Reader
	buf    []byte // buf[start:end] is read but not yet returned
	start  int
	end    int
	offset int64 // of buf[start] in the file
	lines  int   // returned so far, including those before the first
	err    error // from the last read; returned after its bytes
}

// NewReader reads lines from r, which starts at the given offset of the file, after
// that many complete lines. Both are 0 for a whole file.
func NewReader(r io.Reader, offset int64, lines int) *Reader {
	return &Reader{r: r, offset: offset, lines: lines}
}

// Reset makes the reader read another file, keeping its buffer.
func (l *Reader) Reset(r io.Reader, offset int64, lines int) {
	*l = Reader{r: r, buf: l.buf, offset: offset, lines: lines}
}

// Next returns the next line. Its data lacks the "\n", one "\r" before it, and a
// byte order mark at the start of the file; it stays valid until the next call.
// The error is io.EOF after the last line, or the reader's own. Bytes of a line that
// a failed read cuts short are not returned: nobody knows how the line goes on.
func (l *Reader) Next() (Line, error) {
	if left := l.end - l.start; len(l.buf) > keptBuffer && left < keptBuffer/4 {
		l.buf = append(make([]byte, 0, max(firstBuffer, left)), l.buf[l.start:l.end]...)
		l.buf = l.buf[:cap(l.buf)]
		l.start, l.end = 0, left
	}
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:l.end], '\n'); i >= 0 {
			return l.take(searched+i, true), nil
		}
		searched = l.end
		if l.err != nil {
			if !errors.Is(l.err, io.EOF) || l.start == l.end {
				return Line{}, l.err
			}
			return l.take(l.end, false), nil
		}
		searched -= l.makeRoom()
		l.fill()
	}
}

// take returns buf[start:end] as a line.
func (l *Reader) take(end int, ended bool) Line {
	l.lines++
	line := Line{Data: l.buf[l.start:end:end], Offset: l.offset, Number: l.lines, Ended: ended}
	next := end
	if ended {
		next++
	}
	line.Raw = l.buf[l.start:next:next]
	l.offset += int64(next - l.start)
	l.start = next
	if line.Offset == 0 && bytes.HasPrefix(line.Data, ByteOrderMark) {
		line.Data = line.Data[len(ByteOrderMark):]
		line.Offset += int64(len(ByteOrderMark))
	}
	if n := len(line.Data); ended && n > 0 && line.Data[n-1] == '\r' {
		line.Data = line.Data[:n-1]
	}
	return line
}

// makeRoom makes space after l.end and returns how far it moved the bytes. A small
// buffer doubles. A large one grows to the length of the line if that can be found
// out, else by a quarter, so that a huge line does not need twice its size.
func (l *Reader) makeRoom() (moved int) {
	if l.end < len(l.buf) {
		return 0
	}
	moved = l.start
	if l.start > len(l.buf)/2 {
		copy(l.buf, l.buf[l.start:l.end])
	} else {
		size := max(firstBuffer, 2*len(l.buf))
		if len(l.buf) >= keptBuffer {
			size = len(l.buf) + len(l.buf)/4
			if n, ok := l.ahead(); ok {
				size = l.end - l.start + n + 1
			}
		}
		grown := make([]byte, size)
		copy(grown, l.buf[l.start:l.end])
		l.buf = grown
	}
	l.start, l.end = 0, l.end-moved
	return moved
}

// ahead returns how many bytes follow up to and with the next "\n", or the end
// of the file. The reader must support reading at an offset, as files do.
func (l *Reader) ahead() (int, bool) {
	r, ok := l.r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return 0, false
	}
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, false
	}
	block := make([]byte, 4*firstBuffer)
	for n := 0; ; n += len(block) {
		k, err := r.ReadAt(block, at+int64(n))
		if i := bytes.IndexByte(block[:k], '\n'); i >= 0 {
			return n + i + 1, true
		}
		if err != nil {
			return n + k, errors.Is(err, io.EOF)
		}
	}
}

// fill reads once, and keeps the reader's error for later.
func (l *Reader) fill() {
	for range maxEmpty {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
