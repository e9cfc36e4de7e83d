package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readLines reads all lines, with copies of their data. It checks their raw bytes,
// which hold the data and follow one another, and leaves them out.
func readLines(t testing.TB, r *Reader) []Line {
	t.Helper()
	var lines []Line
	for {
		at := r.offset
		line, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if at+int64(len(line.Raw)) != r.offset || line.Ended != bytes.HasSuffix(line.Raw, []byte("\n")) ||
			!bytes.HasPrefix(line.Raw[line.Offset-at:], line.Data) {
			t.Fatalf("line %d at %d has raw bytes %q", line.Number, at, line.Raw)
		}
		if want := int64(len(bytes.TrimSuffix(line.Raw, []byte("\n")))); line.Length != want {
			t.Fatalf("line %d has length %d, want %d", line.Number, line.Length, want)
		}
		line.Raw, line.Data, line.Length = nil, bytes.Clone(line.Data), 0
		lines = append(lines, line)
	}
}

func line(data string, offset int64, number int, ended bool) Line {
	return Line{Data: []byte(data), Offset: offset, Number: number, Ended: ended}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name, file string
		want       []Line
	}{
		{"empty", "", nil},
		{"one newline", "\n", []Line{line("", 0, 1, true)}},
		{"lines", "a\nbc\n", []Line{line("a", 0, 1, true), line("bc", 2, 2, true)}},
		{"no newline at the end", "a\nbc", []Line{line("a", 0, 1, true), line("bc", 2, 2, false)}},
		{"carriage returns", "a\r\nb\r\r\n\r\n", []Line{line("a", 0, 1, true), line("b\r", 3, 2, true), line("", 7, 3, true)}},
		{"a lone carriage return is no end", "a\rb\n", []Line{line("a\rb", 0, 1, true)}},
		{"other separators are no ends", "a\u2028b\u2029c\u0085d\fe\n", []Line{line("a\u2028b\u2029c\u0085d\fe", 0, 1, true)}},
		{"byte order mark", "\ufeffa\n\ufeffb\n", []Line{line("a", 3, 1, true), line("\ufeffb", 5, 2, true)}},
		{"only a byte order mark", "\ufeff", []Line{line("", 3, 1, false)}},
		{"zero bytes", "\x00\x00\na", []Line{line("\x00\x00", 0, 1, true), line("a", 3, 2, false)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(tt.file),
				iotest.OneByteReader(strings.NewReader(tt.file)),
				iotest.DataErrReader(strings.NewReader(tt.file)),
			} {
				lr := NewReader(r, 0, 0)
				if diff := cmp.Diff(tt.want, readLines(t, lr)); diff != "" {
					t.Errorf("lines of %q (-want +got):\n%s", tt.file, diff)
				}
				if lr.offset != int64(len(tt.file)) || lr.lines != len(tt.want) {
					t.Errorf("after %q: offset %d, lines %d, want %d, %d", tt.file, lr.offset, lr.lines, len(tt.file), len(tt.want))
				}
			}
		})
	}
}

// Reading on after every line gives what reading in one go gives.
func TestReaderReadsOn(t *testing.T) {
	const file = "\ufeffone\r\n\n\r\nfour\nfive"
	want := readLines(t, NewReader(strings.NewReader(file), 0, 0))
	for k := range want {
		first := NewReader(strings.NewReader(file), 0, 0)
		for range k {
			if _, err := first.Next(); err != nil {
				t.Fatal(err)
			}
		}
		rest := NewReader(strings.NewReader(file[first.offset:]), first.offset, first.lines)
		if diff := cmp.Diff(want[k:], readLines(t, rest)); diff != "" {
			t.Errorf("after %d lines (-want +got):\n%s", k, diff)
		}
	}
}

// chunks gives its data in pieces that end at the given places.
type chunks struct {
	data []byte
	ends []int
	at   int
}

func (c *chunks) Read(b []byte) (int, error) {
	if c.at == len(c.data) {
		return 0, io.EOF
	}
	end := len(c.data)
	for _, e := range c.ends {
		if e > c.at {
			end = min(end, e)
		}
	}
	n := copy(b, c.data[c.at:end])
	c.at += n
	return n, nil
}

func TestReaderSplitAnywhere(t *testing.T) {
	file := "\ufeff{\"a\":1}\r\n\r\n\nx\u2028é\r\r\nlast\r"
	want := readLines(t, NewReader(strings.NewReader(file), 0, 0))
	for i := range len(file) {
		for j := i; j < len(file); j++ {
			got := readLines(t, NewReader(&chunks{data: []byte(file), ends: []int{i, j}}, 0, 0))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("split at %d and %d (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

func TestReaderAtBufferSizes(t *testing.T) {
	var lengths []int
	for _, size := range []int{usualBuffer / 2, usualBuffer, 2 * usualBuffer, 3 * usualBuffer} {
		lengths = append(lengths, size-2, size-1, size, size+1)
	}
	for _, before := range []int{0, 1, 100, usualBuffer/2 + 1} {
		for _, n := range lengths {
			for _, end := range []string{"\n", "\r\n", ""} {
				var file []byte
				var want []Line
				add := func(n int, c byte, end string) {
					data := bytes.Repeat([]byte{c}, n)
					want = append(want, Line{Data: data, Offset: int64(len(file)), Number: len(want) + 1, Ended: end != ""})
					file = append(append(file, data...), end...)
				}
				if before > 0 {
					add(before-1, 'b', "\n")
				}
				add(n, 'x', "\n")
				add(n, 'y', end)
				got := readLines(t, NewReader(bytes.NewReader(file), 0, 0))
				if !slices.EqualFunc(want, got, sameLine) {
					t.Fatalf("lines of %d bytes after %d bytes, end %q: wrong", n, before, end)
				}
			}
		}
	}
}

// Whatever the limit and however the file is read: the same lines are too long, their
// bytes are passed on, and the others are as without a limit.
func TestReaderLimit(t *testing.T) {
	var file []byte
	for i, n := range []int{3, 20, 0, 19, 40, 21, 1, 100, 20} {
		file = append(file, bytes.Repeat([]byte{byte('a' + i)}, n)...)
		if i < 8 {
			file = append(file, '\n')
		}
	}
	type reader func(*Reader) (Line, error)
	for _, file := range [][]byte{file, append(slices.Clone(file), "xy"...), append(slices.Clone(file), "xy\n"...)} {
		for limit := int64(1); limit < 110; limit++ {
			for _, buffer := range []int{1, 7, 64, 1 << 10} {
				for _, next := range []reader{(*Reader).Next, (*Reader).Block} {
					offset, number := int64(0), 1
					var skimmed, got []byte
					r := NewReader(iotest.OneByteReader(bytes.NewReader(file)), 0, 0)
					if buffer > 7 {
						r = NewReader(bytes.NewReader(file), 0, 0)
					}
					r.Limit, r.Buffer = limit, buffer
					r.Skim = func(b []byte) error { skimmed = append(skimmed, b...); return nil }
					for {
						line, err := next(r)
						if err == io.EOF {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						if line.Offset != offset || line.Number != number {
							t.Fatalf("limit %d: line %d at %d, want %d at %d", limit, line.Number, line.Offset, number, offset)
						}
						raw := line.Raw
						if line.TooLong {
							if line.Length <= limit || raw != nil || line.Data != nil || int64(len(bytes.TrimSuffix(skimmed, []byte("\n")))) != line.Length {
								t.Fatalf("limit %d: too long: %d bytes, %q, passed on %q", limit, line.Length, raw, skimmed)
							}
							raw, skimmed = skimmed, nil
						} else if int(limit) < longestIn(raw) {
							t.Fatalf("limit %d: %q is returned", limit, raw)
						}
						if line.Ended != bytes.HasSuffix(raw, []byte("\n")) {
							t.Fatalf("limit %d: %q: ended %v", limit, raw, line.Ended)
						}
						got = append(got, raw...)
						offset += int64(len(raw))
						number += bytes.Count(raw, []byte("\n"))
					}
					if !bytes.Equal(got, file) {
						t.Fatalf("limit %d: read %q, want %q", limit, got, file)
					}
				}
			}
		}
	}
}

func longestIn(lines []byte) (n int) {
	for line := range bytes.SplitSeq(lines, []byte("\n")) {
		n = max(n, len(line))
	}
	return n
}

// Reading on within a line that is too long is the same as reading it at once.
func TestReaderWithin(t *testing.T) {
	file := "short\n" + strings.Repeat("x", 50) + "\nlast\n"
	for at := 6 + 11; at < 6+50; at++ {
		r := NewReader(strings.NewReader(file[at:]), int64(at), 1)
		r.Within(int64(at - 6))
		r.Limit = 10
		long, err := r.Next()
		if want := (Line{Offset: 6, Length: 50, Number: 2, Ended: true, TooLong: true}); err != nil || long.Offset != want.Offset || long.Length != want.Length ||
			long.Number != want.Number || !long.Ended || !long.TooLong {
			t.Fatalf("at %d: %+v, %v, want %+v", at, long, err, want)
		}
		if last, err := r.Next(); err != nil || string(last.Data) != "last" || last.Number != 3 {
			t.Fatalf("at %d: then %+v, %v", at, last, err)
		}
	}
	r := NewReader(strings.NewReader(""), 20, 1)
	r.Within(14)
	if line, err := r.Next(); err != io.EOF {
		t.Errorf("nothing after what was read: %+v, %v", line, err)
	}
}

// A line that is too long is not kept, however long it is.
func TestReaderLimitMemory(t *testing.T) {
	const long = 400 << 20
	zeros := func(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }
	for _, file := range []io.Reader{
		io.MultiReader(zeros(long), strings.NewReader("\nshort\n")),
		io.NewSectionReader(zeroReader{}, 0, long),
	} {
		r := NewReader(file, 0, 0)
		r.Limit = 20 << 20
		line, err := r.Next()
		if err != nil || !line.TooLong || line.Length != long {
			t.Fatalf("the long line: %+v, %v", line, err)
		}
		if cap(r.long) > 30<<20 {
			t.Errorf("a buffer of %d bytes for a limit of %d", cap(r.long), r.Limit)
		}
	}
}

// zeroReader is a file without an end.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error)            { clear(b); return len(b), nil }
func (zeroReader) ReadAt(b []byte, _ int64) (int, error) { clear(b); return len(b), nil }

func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 0, 0)
	if got, err := r.Next(); err != nil || string(got.Data) != "a" {
		t.Fatalf("Next() = %q, %v, want a", got.Data, err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Fatalf("Next() = %v, want %v", err, broken)
		}
	}
	if r.offset != 2 {
		t.Errorf("offset %d, want 2: before the line that could not be read", r.offset)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderStuck(t *testing.T) {
	if _, err := NewReader(stuck{}, 0, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Next() = %v, want %v", err, io.ErrNoProgress)
	}
}

// The buffer follows the longest line, not the file, and a huge line does not
// leave a huge buffer behind.
func TestReaderMemory(t *testing.T) {
	const long = 40 << 20
	file := io.MultiReader(
		strings.NewReader(strings.Repeat("short\n", 50_000)),
		bytes.NewReader(bytes.Repeat([]byte("x"), long)),
		strings.NewReader("\n"+strings.Repeat("short\n", 50_000)),
	)
	r := NewReader(file, 0, 0)
	most, last := 0, 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.lines == 50_000 && cap(r.long) > 0 {
			t.Errorf("short lines took a buffer of %d", cap(r.long))
		}
		last = cap(r.long)
		most = max(most, last)
	}
	if most > long*5/4+keptLong {
		t.Errorf("a line of %d bytes took a buffer of %d", long, most)
	}
	if last > keptLong {
		t.Errorf("buffer at the end is %d, want at most %d", last, keptLong)
	}
}

// A huge line of a file takes a buffer of its size, not more.
func TestHugeLineMemory(t *testing.T) {
	const long = 60 << 20
	file := []byte("{}\n" + strings.Repeat("line  ", long/6) + "\n{}\n")
	before := allocated()
	r := NewReader(io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file))), 0, 0)
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		}
	}
	if got := allocated() - before; got > long+3*keptLong {
		t.Errorf("a line of %d bytes allocated %d in all", long, got)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// referenceLines is Reader written plainly.
func referenceLines(file []byte) []Line {
	var lines []Line
	offset := int64(0)
	for n := 1; len(file) > 0; n++ {
		data, rest, ended := bytes.Cut(file, []byte("\n"))
		l := Line{Data: data, Offset: offset, Number: n, Ended: ended}
		offset += int64(len(file) - len(rest))
		file = rest
		if n == 1 && bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
			l.Data, l.Offset = data[3:], 3
		}
		if ended {
			l.Data = bytes.TrimSuffix(l.Data, []byte("\r"))
		}
		lines = append(lines, l)
	}
	return lines
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "\n", "a\r\nb", "\xef\xbb\xbf{}\r\n", "\xef\xbb\nx", "\r", "a\r\r\n\x00", "long enough for some buffers\nto fill\n"} {
		f.Add([]byte(s), byte(1), byte(7), byte(3))
	}
	f.Fuzz(func(t *testing.T, file []byte, a, b, buffer byte) {
		want := referenceLines(file)
		r := NewReader(&chunks{data: file, ends: []int{int(a), int(b)}}, 0, 0)
		r.Buffer = int(buffer)
		got := readLines(t, r)
		if len(got) != len(want) {
			t.Fatalf("%d lines of %q, want %d", len(got), file, len(want))
		}
		for k := range want {
			if !sameLine(got[k], want[k]) {
				t.Fatalf("line %d of %q = %s, want %s", k, file, show(got[k]), show(want[k]))
			}
		}
	})
}

func sameLine(a, b Line) bool {
	return bytes.Equal(a.Data, b.Data) && a.Offset == b.Offset && a.Number == b.Number && a.Ended == b.Ended
}

func show(l Line) string { return fmt.Sprintf("%q at %d, ended %t", l.Data, l.Offset, l.Ended) }
