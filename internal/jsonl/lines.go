// Package jsonl says where lines begin and end, and what is in their JSON. Reader cuts a
// file into lines with offsets, including a torn last line. Scanner, the central type,
// checks JSON as strictly as JSON.parse does and reads values from the bytes of a line,
// mostly without copying. Leaves turns a value of any shape into text. The package
// imports no package of the project but bytescan, and knows no agent.
package jsonl

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"slices"
)

// Sizes of a Reader's memory.
const (
	usualBuffer = 64 << 10
	keptLong    = 16 << 20 // more is released once its line is done
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
	in     *bufio.Reader // of r; nil before the first line
	long   []byte        // memory for lines that are longer than the buffer
	offset int64         // in the file, of the next line
	lines  int           // returned so far, including those before the first
	within int64         // bytes before offset of a line that is too long
	err    error         // what ended the reading
}

// NewReader reads lines from r, which starts at the given offset of the file, after
// that many complete lines. Both are 0 for a whole file.
func NewReader(r io.Reader, offset int64, lines int) *Reader {
	return &Reader{r: r, offset: offset, lines: lines}
}

// Lines cuts the start of a file, which is in memory, into its lines without copying them.
func Lines(head []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		var l Reader
		for raw := range bytes.Lines(head) {
			if !yield(l.take(raw)) {
				return
			}
		}
	}
}

// Reset makes the reader read another file, keeping its buffer and its exported fields.
func (l *Reader) Reset(r io.Reader, offset int64, lines int) {
	if l.in != nil {
		l.in.Reset(r)
	}
	*l = Reader{Limit: l.Limit, Buffer: l.Buffer, Uncounted: l.Uncounted, Skim: l.Skim, r: r, in: l.in, long: l.long, offset: offset, lines: lines}
}

// Within is called after Reset if the offset is inside a line that is too long, bytes
// after its start. 0 means the start of a line.
func (l *Reader) Within(bytes int64) { l.within = bytes }

// Next returns the next line. Its data lacks the "\n", one "\r" before it, and a
// byte order mark at the start of the file; it stays valid until the next call.
// The error is io.EOF after the last line, or the error of the underlying reader. If a
// read fails within a line, that line is not returned, because its rest is unknown.
func (l *Reader) Next() (Line, error) {
	l.begin()
	if l.err != nil {
		return Line{}, l.err
	}
	raw, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) && l.within == 0 {
		raw, err = l.readLong(raw)
	}
	if errors.Is(err, bufio.ErrBufferFull) || l.within > 0 || l.tooLong(len(bytes.TrimSuffix(raw, newline))) {
		return l.skip(raw, err)
	}
	if l.err = err; len(raw) == 0 || err != nil && !errors.Is(err, io.EOF) {
		return Line{}, err
	}
	return l.take(raw), nil
}

var newline = []byte{'\n'}

// Block is Next for many lines: it returns all complete lines in the buffer as one. Their
// Data is Raw; Length and Number belong to the first line. A line that is too long, that
// is longer than the buffer, or that has no newline, is returned alone.
func (l *Reader) Block() (Line, error) {
	l.begin()
	if l.err != nil || l.within > 0 {
		return l.Next()
	}
	_, _ = l.in.Peek(min(l.in.Buffered()+1, l.in.Size())) // fills the buffer; an error will come again
	buffer, _ := l.in.Peek(l.in.Buffered())
	if l.Limit > 0 && int64(len(buffer)) > l.Limit { // a line that ends before is not too long
		buffer = buffer[:l.Limit+1]
	}
	n := bytes.LastIndexByte(buffer, '\n') + 1
	if n == 0 {
		return l.Next()
	}
	before, offset := l.lines, l.offset
	line := l.take(buffer[:n])
	if !l.Uncounted {
		l.lines = before + bytes.Count(line.Raw, newline)
	}
	line.Data, line.Offset = line.Raw, offset
	_, err := l.in.Discard(n)
	return line, err
}

// begin makes the buffer, and releases the memory of a very long line.
func (l *Reader) begin() {
	if l.in == nil {
		l.in = bufio.NewReaderSize(l.r, cmp.Or(l.Buffer, usualBuffer))
	}
	if cap(l.long) > keptLong {
		l.long = nil
	}
}

func (l *Reader) tooLong(bytes int) bool { return l.Limit > 0 && int64(bytes) > l.Limit }

// readLong reads on in a line that fills the buffer, up to its end. If it is too long, the
// error is bufio.ErrBufferFull. Memory for it doubles. A huge line does not need twice its
// size: its memory grows to its length if ahead finds that, or else by a quarter.
func (l *Reader) readLong(raw []byte) ([]byte, error) {
	l.long = append(l.long[:0], raw...)
	for whole := 0; !l.tooLong(max(len(l.long), whole-1)); {
		if cap(l.long)-len(l.long) < l.in.Size() && whole == 0 {
			size := 2 * cap(l.long)
			if cap(l.long) >= keptLong {
				size = cap(l.long) + cap(l.long)/4
				if n, ok := l.ahead(); ok {
					whole = len(l.long) + n
					size = whole
				}
			}
			if l.tooLong(whole - 1) {
				break
			}
			l.long = append(make([]byte, 0, size), l.long...)
		}
		piece, err := l.in.ReadSlice('\n')
		l.long = append(l.long, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
	return l.long, bufio.ErrBufferFull
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
	block := make([]byte, 4*usualBuffer)
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

// skip reads to the end of a line that is too long. The piece, and the error after it, were
// read last.
func (l *Reader) skip(piece []byte, err error) (Line, error) {
	line := Line{Offset: l.offset - l.within, Number: l.lines + 1, TooLong: true}
	if len(piece) == 0 {
		l.err = err
		return Line{}, err
	}
	for {
		if l.Skim != nil {
			if l.err = l.Skim(piece); l.err != nil {
				return Line{}, l.err
			}
		}
		l.offset += int64(len(piece))
		l.within += int64(len(piece))
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		piece, err = l.in.ReadSlice('\n')
	}
	if l.err = err; err != nil && !errors.Is(err, io.EOF) {
		return Line{}, err
	}
	line.Ended, line.Length = err == nil, l.within
	if line.Ended {
		line.Length--
	}
	l.lines++
	l.within = 0
	return line, nil
}

// take returns the bytes of the next line as a line.
func (l *Reader) take(raw []byte) Line {
	l.lines++
	raw = slices.Clip(raw)
	data, ended := bytes.CutSuffix(raw, newline)
	line := Line{Data: data, Raw: raw, Offset: l.offset, Length: int64(len(data)), Number: l.lines, Ended: ended}
	l.offset += int64(len(raw))
	if line.Offset == 0 && bytes.HasPrefix(data, ByteOrderMark) {
		line.Data = line.Data[len(ByteOrderMark):]
		line.Offset += int64(len(ByteOrderMark))
	}
	if ended {
		line.Data = bytes.TrimSuffix(line.Data, []byte{'\r'})
	}
	return line
}
