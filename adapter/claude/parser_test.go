package claude

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// clone returns a copy of an entry that stays valid.
func clone(e *session.Entry) session.Entry {
	c := *e
	c.Images, c.Shadows, c.Parts = cloned(e.Images), cloned(e.Shadows), cloned(e.Parts)
	for i := range c.Parts {
		c.Parts[i].Text, c.Parts[i].JSON = bytes.Clone(c.Parts[i].Text), bytes.Clone(c.Parts[i].JSON)
	}
	if e.Facts != nil {
		f := *e.Facts
		f.Calls = cloned(f.Calls)
		for i := range f.Calls {
			f.Calls[i].Text, f.Calls[i].Command = bytes.Clone(f.Calls[i].Text), bytes.Clone(f.Calls[i].Command)
		}
		c.Facts = &f
	}
	return c
}

// cloned returns a copy of a list, nil if it is empty.
func cloned[T any](list []T) []T { return append([]T(nil), list...) }

// linesOf cuts a file into lines that stay valid.
func linesOf(t testing.TB, data []byte) (lines []jsonl.Line) {
	for r := jsonl.NewReader(bytes.NewReader(data), 0, 0); ; {
		line, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Data, line.Raw = bytes.Clone(line.Data), bytes.Clone(line.Raw)
		lines = append(lines, line)
	}
}

// parse reads a whole file of this path.
func parse(t testing.TB, path string, data []byte) (entries []session.Entry, problems []adapter.ParseError, end adapter.State) {
	p := New().Parse(adapter.State{Path: path, Facts: true})
	for _, line := range linesOf(t, data) {
		problems = append(problems, p.Parse(line, func(e *session.Entry) { entries = append(entries, clone(e)) })...)
	}
	return entries, problems, p.State()
}

const sessionFile = "/home/u/.claude/projects/-home-u-app/01234567-89ab-cdef-0123-456789abcdef.jsonl"

// parseLines reads a session of these lines.
func parseLines(t testing.TB, lines ...string) ([]session.Entry, []adapter.ParseError, adapter.State) {
	return parse(t, sessionFile, []byte(strings.Join(lines, "\n")+"\n"))
}

// BenchmarkParse reads the fixtures from memory.
func BenchmarkParse(b *testing.B) {
	var data []byte
	for _, d := range fixtures(b) {
		data = append(append(data, d...), '\n')
	}
	if len(data) == 0 {
		b.Skip("no fixtures")
	}
	p := New().Parse(adapter.State{Path: sessionFile})
	r := jsonl.NewReader(nil, 0, 0)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(bytes.NewReader(data), 0, 0)
		for {
			line, err := r.Next()
			if err != nil {
				break
			}
			p.Parse(line, func(*session.Entry) {})
		}
	}
}
