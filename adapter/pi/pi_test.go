package pi

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// clone copies what a parser hands out.
func clone(e *session.Entry) session.Entry {
	c := *e
	c.Images = slices.Clone(e.Images)
	c.Parts = slices.Clone(e.Parts)
	for i := range c.Parts {
		c.Parts[i].Text = slices.Clone(c.Parts[i].Text)
	}
	return c
}

// readLines reads all lines, with copies of their data.
func readLines(t testing.TB, r *jsonl.Reader) []adapter.Line {
	t.Helper()
	var lines []adapter.Line
	for {
		line, err := r.Next()
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		line.Raw, line.Data = nil, bytes.Clone(line.Data)
		lines = append(lines, line)
	}
}

// parseFile parses a session file.
func parseFile(t testing.TB, r io.Reader) ([]session.Entry, []adapter.ParseError, adapter.State) {
	t.Helper()
	var entries []session.Entry
	var problems []adapter.ParseError
	p := New().Parse(adapter.State{})
	for _, line := range readLines(t, jsonl.NewReader(r, 0, 0)) {
		problems = append(problems, p.Parse(line, func(e *session.Entry) { entries = append(entries, clone(e)) })...)
	}
	return entries, problems, p.State()
}

// parseAll parses lines, each of them ended.
func parseAll(t testing.TB, lines ...string) ([]session.Entry, []adapter.ParseError) {
	t.Helper()
	entries, problems, _ := parseFile(t, strings.NewReader(strings.Join(lines, "\n")+"\n"))
	return entries, problems
}

func TestDeepNesting(t *testing.T) {
	const depth = 2_000_000
	deep := `{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":` +
		strings.Repeat(`[`, depth) + `"needle"` + strings.Repeat(`]`, depth) + `}]},"more":` +
		strings.Repeat(`{"k":`, depth) + `"hay"` + strings.Repeat(`}`, depth) + `}`
	entries, problems := parseAll(t, deep)
	if len(problems) > 0 || len(entries) != 1 {
		t.Fatalf("%d entries, problems %v, want one entry", len(entries), problems)
	}
	got := entries[0].Parts
	if len(got) != 2 || !bytes.HasSuffix(got[0].Text, []byte(": needle")) || string(got[1].Text) != "hay" {
		t.Errorf("parts are wrong: %d of them", len(got))
	}
	if n := len(got[0].Text); n > 1000 {
		t.Errorf("the call's text has %d bytes", n)
	}
	_, problems = parseAll(t, strings.Repeat(`{"a":`, depth))
	if len(problems) != 1 {
		t.Errorf("problems %v, want one", problems)
	}
}

// A huge line of a file takes a buffer of its size, and its text as much
// again at most.
func TestHugeLineMemory(t *testing.T) {
	const long = 60 << 20
	file := []byte("{}\n" + messageLine(`{"role":"user","content":"`+strings.Repeat(`line\n`, long/6)+`"}`) + "\n{}\n")
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	p := New().Parse(adapter.State{})
	before := allocated()
	r := jsonl.NewReader(io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file))), 0, 0)
	parts := 0
	for {
		line, err := r.Next()
		if err == io.EOF {
			break
		}
		p.Parse(line, func(e *session.Entry) { parts += len(e.Parts) })
	}
	if parts != 1 {
		t.Fatalf("%d parts, want 1", parts)
	}
	if got := allocated() - before; got > 2*long+48<<20 {
		t.Errorf("a line of %d bytes allocated %d in all", long, got)
	}
}
