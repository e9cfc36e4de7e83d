package opensearch

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// sessionOf returns a session of which the archive has some lines, and the text of all.
func sessionOf(rnd *rand.Rand, wanted func(int) bool) (s *sparse, text string) {
	s = &sparse{record: &session.Record{}}
	var all []adapter.Line
	for n := 1; n <= 40; n++ {
		data := strings.Repeat("x", rnd.IntN(9)*rnd.IntN(2))
		line := adapter.Line{Data: []byte(data), Offset: int64(len(text)), Number: n}
		all = append(all, line)
		if data != "" {
			s.record.Nodes = append(s.record.Nodes, session.Node{Offset: line.Offset, Length: len(data), Line: n})
		}
		if wanted(n) {
			s.lines = append(s.lines, line)
		}
		text += data + "\n"
	}
	s.record.Lines, s.record.Checkpoint.Length = 40, int64(len(text))
	s.more = func(_ context.Context, n int) ([]adapter.Line, error) { return all[n-1 : n], nil }
	return s, text
}

// fileOf returns the file of the lines of a session.
func fileOf(s *sparse) *sparse {
	return &sparse{ctx: context.Background(), record: s.record, more: s.more, lines: merged(slices.Clone(s.lines))}
}

// Lines are where they are in the whole file, and have their numbers; others are blank, but for that
// at which a read begins.
func TestSparse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		some := rnd.Uint64()
		s, text := sessionOf(rnd, func(n int) bool { return some>>(n%64)&1 == 1 })
		whole := fileOf(s)
		for range 20 {
			from := rnd.IntN(len(text))
			to := from + rnd.IntN(len(text)-from+1)
			got := make([]byte, to-from)
			if n, err := whole.ReadAt(got, int64(from)); n < len(got) || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			line, _, _ := strings.Cut(text[from:to], "\n")
			if !strings.HasPrefix(string(got), line) {
				t.Fatalf("bytes %d to %d are %q, want %q", from, to, got, text[from:to])
			}
		}
		s.more = nil
		blank, err := io.ReadAll(io.NewSectionReader(fileOf(s), 0, 1<<20))
		if err != nil || len(blank) != len(text) || strings.Count(string(blank), "\n") != 40 {
			t.Fatalf("%d bytes of %d, %v: %q", len(blank), len(text), err, blank)
		}
		for i := range s.lines {
			l := &s.lines[i]
			if got := string(blank[l.Offset:end(l)]); got != string(l.Data)+"\n" || strings.Count(string(blank[:l.Offset]), "\n") != l.Number-1 {
				t.Fatalf("line %d is %q, want %q, in %q", l.Number, got, l.Data, blank)
			}
		}
	}
}

// Lines that do not fit together are left out, whoever sent them; an error of reading others is
// one.
func TestSparseTakesAnything(t *testing.T) {
	s, _ := sessionOf(rand.New(rand.NewPCG(3, 4)), func(n int) bool { return n == 9 })
	good := s.lines[0]
	for _, odd := range []adapter.Line{
		{Number: 9, Offset: good.Offset}, {Number: 10, Offset: good.Offset - 1}, {Number: 1 << 40, Offset: good.Offset + 3}, {Number: 12, Offset: -5},
		{Number: -1, Offset: 0}, {Number: 11, Offset: 1 << 60, Data: []byte("far")},
	} {
		s.lines = []adapter.Line{good, odd}
		got := make([]byte, s.record.Checkpoint.Length)
		s.more = nil
		if _, err := fileOf(s).ReadAt(got, 0); err != nil || string(got[good.Offset:end(&good)]) != string(good.Data)+"\n" {
			t.Errorf("beside %+v: %q, %v", odd, got, err)
		}
	}
	broken := errors.New("gone")
	s.lines, s.more = nil, func(context.Context, int) ([]adapter.Line, error) { return nil, broken }
	if _, err := fileOf(s).ReadAt(make([]byte, 50), 0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// A record whose entries are out of order, or of sizes that nobody has, is not used.
func TestUsable(t *testing.T) {
	node := func(offset int64, length int) session.Node {
		return session.Node{Offset: offset, Length: length, Line: 1}
	}
	for want, list := range map[bool][][]session.Node{
		true:  {nil, {node(0, 10)}, {node(0, 10), node(10, 90)}, {node(5, 1), node(5, 1)}},
		false: {{node(-1, 10)}, {node(10, 1), node(0, 1)}, {node(0, -1)}, {node(95, 6)}, {node(1<<62, 1<<62)}, {node(0, 1<<40)}},
	} {
		for _, nodes := range list {
			r := &session.Record{Nodes: nodes}
			r.Checkpoint.Length, r.Lines = 100, 3
			if got := isUsable(r); got != want {
				t.Errorf("%+v: %v", nodes, got)
			}
		}
	}
}
