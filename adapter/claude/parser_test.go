package claude

import (
	"bytes"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// parse reads a whole file of this path.
func parse(t testing.TB, path string, data []byte) ([]session.Entry, []adapter.ParseError, adapter.State) {
	r := adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, data)
	return r.Entries, r.Problems, r.End
}

const sessionFile = "/home/u/.claude/projects/-home-u-app/01234567-89ab-cdef-0123-456789abcdef.jsonl"

// parseLines reads a session of these lines.
func parseLines(t testing.TB, lines ...string) ([]session.Entry, []adapter.ParseError, adapter.State) {
	return parse(t, sessionFile, []byte(strings.Join(lines, "\n")+"\n"))
}

// BenchmarkParse reads the fixtures from memory.
func BenchmarkParse(b *testing.B) {
	var data []byte
	for _, d := range adapters.Fixtures(b, "claude") {
		data = append(append(data, d...), '\n')
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
