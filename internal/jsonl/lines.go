// Package jsonl says where lines begin and end, and what is in their JSON. Reader cuts a
// file into lines with offsets, including a torn last line. Scanner, the central type,
// checks JSON as strictly as JSON.parse does and reads values from the bytes of a line,
// mostly without copying. Leaves turns a value of any shape into text. The package
// imports no package of the project but bytescan, and knows no agent.
package jsonl

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// Sizes of a Reader's buffer.
const (
	firstBuffer = 64 << 10
	keptBuffer  = 16 << 20 // a larger buffer is released once its line is done
	maxEmpty    = 100      // empty reads in a row before a reader counts as stuck
)

// ByteOrderMark may begin a file. It is not part of the first line.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// Line is one physical line of a session file.
type Line struct {
	Data   []byte // without its line end; valid until the next line is read
	Raw    []byte // all of its bytes, with byte order mark and line end
	Offset int64  // of its first byte in the file
	Length int64  // of its bytes in the file, without "\n"
	Number int    // 1-based
	Ended  bool   // a "\n" followed it

	// TooLong says that the line is longer than Reader.Limit. It has neither Data nor Raw.
	TooLong bool

	// Wanted, if not nil, reports whether the text in a piece of the line's JSON is wanted.
	// It may only be set for a line that was parsed before, such as an indexed line. The
	// parser then does not validate strings, and omits what takes time: unwanted texts (see
	// session.Part), and Copy and UserText of entries.
	Wanted func(json []byte) bool

	// Count, which may be set beside Wanted, counts the wanted lines of a JSON string, given
	// without its quotes. What is wanted is never partly in a name, a separator or another
	// string. So the parser may count the lines of a part string by string, in place of making
	// its text: see session.Part.
	Count func(json []byte) int
}

// Reader cuts a session file into physical lines, at "\n" only. It needs memory for the
// longest line, or for Limit bytes if that is less. It is not safe for concurrent use.
type Reader struct {
	Limit  int64 // the longest line to return, in bytes without "\n"; 0 for any
	Buffer int   // size of the buffer for shorter lines; 0 for 64 kB

	// Uncounted says that nobody wants to know the numbers of the lines of a Block.
	Uncounted bool

	// Skim receives the bytes of lines that are too long, piece by piece. An error from it
	// ends the reading. It may be nil.
	Skim func(piece []byte) error

	r      io.Reader
	buf    []byte // buf[start:end] is read but not yet returned
	start  int
	end    int
	offset int64 // of buf[start] in the file
	lines  int   // returned so far, including those before the first
	within int64 // bytes before offset of a line that is too long
	err    error // from the last read; returned after its bytes
}

// NewReader reads lines from r, which starts at the given offset of the file, after
// that many complete lines. Both are 0 for a whole file.
func NewReader(r io.Reader, offset int64, lines int) *Reader {
	return &Reader{r: r, offset: offset, lines: lines}
}

// Lines cuts the start of a file, which is in memory, into its lines without copying them.
func Lines(head []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		l := Reader{buf: head, end: len(head), err: io.EOF}
		for line, err := l.Next(); err == nil && yield(line); {
			line, err = l.Next()
		}
	}
}

// Reset makes the reader read another file, keeping its buffer and its exported fields.
func (l *Reader) Reset(r io.Reader, offset int64, lines int) {
	*l = Reader{Limit: l.Limit, Buffer: l.Buffer, Uncounted: l.Uncounted, Skim: l.Skim, r: r, buf: l.buf, offset: offset, lines: lines}
}

// Within is called after Reset if the offset is inside a line that is too long, bytes
// after its start. 0 means the start of a line.
func (l *Reader) Within(bytes int64) { l.within = bytes }

// Next returns the next line. Its data lacks the "\n", one "\r" before it, and a
// byte order mark at the start of the file; it stays valid until the next call.
// The error is io.EOF after the last line, or the error of the underlying reader. If a
// read fails within a line, that line is not returned, because its rest is unknown.
func (l *Reader) Next() (Line, error) {
	l.shrink()
	return l.next(func(buf []byte) int { return bytes.IndexByte(buf, '\n') })
}

// Block is Next for many lines: it returns all complete lines in the buffer as one. Their
// Data is Raw; Length and Number are those of the first line. A line that is too long, or
// that has no newline, is returned alone.
func (l *Reader) Block() (Line, error) {
	l.shrink()
	if l.err == nil && l.within == 0 && l.end-l.start < len(l.buf) { // fill the buffer
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
		l.fill()
	}
	before, offset := l.lines, l.offset
	line, err := l.next(func(buf []byte) int { return bytes.LastIndexByte(buf, '\n') })
	if err == nil && line.Ended && !line.TooLong {
		if !l.Uncounted {
			l.lines = before + bytes.Count(line.Raw, []byte{'\n'})
		}
		line.Data, line.Offset = line.Raw, offset
	}
	return line, err
}

// shrink releases a buffer that is much larger than what is in it.
func (l *Reader) shrink() {
	if left := l.end - l.start; len(l.buf) > keptBuffer && left < keptBuffer/4 {
		l.buf = append(make([]byte, 0, max(l.buffer(), left)), l.buf[l.start:l.end]...)
		l.buf = l.buf[:cap(l.buf)]
		l.start, l.end = 0, left
	}
}

// next returns the bytes up to the "\n" at the offset that find returns for the buffer. If
// the buffer has no "\n", it reads on up to the next one.
func (l *Reader) next(find func([]byte) int) (Line, error) {
	if l.within > 0 {
		return l.skip()
	}
	searched := l.start
	for {
		// A line that begins within the limit of these bytes is not too long.
		to := l.end
		if l.Limit > 0 && int64(to-l.start) > l.Limit+1 {
			to = l.start + int(l.Limit) + 1
		}
		if i := find(l.buf[searched:to]); i >= 0 {
			return l.take(searched+i, true), nil
		}
		if l.tooLong(l.end - l.start) {
			return l.skip()
		}
		searched = l.end
		if l.err != nil {
			if !errors.Is(l.err, io.EOF) || l.start == l.end {
				return Line{}, l.err
			}
			return l.take(l.end, false), nil
		}
		moved, long := l.makeRoom()
		if long {
			return l.skip()
		}
		searched -= moved
		l.fill()
	}
}

func (l *Reader) tooLong(bytes int) bool { return l.Limit > 0 && int64(bytes) > l.Limit }

// skip reads to the end of a line that is too long. The buffer begins within it.
func (l *Reader) skip() (Line, error) {
	line := Line{Offset: l.offset - l.within, Number: l.lines + 1, TooLong: true}
	for read := false; ; {
		piece := l.buf[l.start:l.end]
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			piece, line.Ended = piece[:i+1], true
		}
		if l.Skim != nil && len(piece) > 0 {
			if err := l.Skim(piece); err != nil {
				return Line{}, err
			}
		}
		read = read || len(piece) > 0
		l.start += len(piece)
		l.offset += int64(len(piece))
		l.within += int64(len(piece))
		switch {
		case line.Ended:
			line.Length = l.within - 1
		case l.err == nil:
			l.start, l.end = 0, 0
			if len(l.buf) == 0 {
				l.buf = make([]byte, l.buffer())
			}
			l.fill()
			continue
		case !errors.Is(l.err, io.EOF) || !read:
			return Line{}, l.err
		default:
			line.Length = l.within
		}
		l.lines++
		l.within = 0
		return line, nil
	}
}

func (l *Reader) buffer() int {
	if l.Buffer == 0 {
		return firstBuffer
	}
	return l.Buffer
}

// take returns buf[start:end] as a line.
func (l *Reader) take(end int, ended bool) Line {
	l.lines++
	line := Line{Data: l.buf[l.start:end:end], Offset: l.offset, Length: int64(end - l.start), Number: l.lines, Ended: ended}
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
// buffer doubles. A large buffer grows to the length of the line if ahead finds it, or
// else by a quarter, so that a huge line does not need twice its size. makeRoom may also
// find that the line is too long.
func (l *Reader) makeRoom() (moved int, tooLong bool) {
	if l.end < len(l.buf) {
		return 0, false
	}
	moved = l.start
	if l.start > len(l.buf)/2 {
		copy(l.buf, l.buf[l.start:l.end])
	} else {
		size := max(l.buffer(), 2*len(l.buf))
		if len(l.buf) >= keptBuffer {
			size = len(l.buf) + len(l.buf)/4
			if n, ok := l.ahead(); ok {
				size = l.end - l.start + n + 1
				if l.tooLong(size - 2) {
					return 0, true
				}
			}
		}
		grown := make([]byte, size)
		copy(grown, l.buf[l.start:l.end])
		l.buf = grown
	}
	l.start, l.end = 0, l.end-moved
	return moved, false
}

// ahead returns the number of bytes up to and including the next "\n", or to the end
// of the file. It stops as soon as the line is too long. The underlying reader must be an
// io.ReaderAt, as files are.
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
		if l.tooLong(n) {
			return n, true
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
