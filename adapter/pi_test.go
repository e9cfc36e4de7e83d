package adapter

import (
	"io"
	"slices"
	"strings"
	"testing"

	"pigrep/internal/session"
)

// clone copies what a parser hands out.
func clone(e *session.Entry) session.Entry {
	c := *e
	c.MimeTypes = slices.Clone(e.MimeTypes)
	c.Parts = slices.Clone(e.Parts)
	for i := range c.Parts {
		c.Parts[i].Text = slices.Clone(c.Parts[i].Text)
	}
	return c
}

// parseFile parses a session file.
func parseFile(t testing.TB, r io.Reader) ([]session.Entry, []ParseError, State) {
	t.Helper()
	var entries []session.Entry
	var problems []ParseError
	p := Pi().Parse(State{})
	for _, line := range readLines(t, NewLineReader(r, 0, 0)) {
		problems = append(problems, p.Parse(line, func(e *session.Entry) { entries = append(entries, clone(e)) })...)
	}
	return entries, problems, p.State()
}

// parseAll parses lines, each of them ended.
func parseAll(t testing.TB, lines ...string) ([]session.Entry, []ParseError) {
	t.Helper()
	entries, problems, _ := parseFile(t, strings.NewReader(strings.Join(lines, "\n")+"\n"))
	return entries, problems
}
