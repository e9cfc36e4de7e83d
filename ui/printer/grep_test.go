package printer

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/query/grep"
)

// A line of many matches is not written once for each of them: what --vimgrep prints grows
// with the matches, not with their square.
func TestJumpsIntoLongLines(t *testing.T) {
	const matches = 10_000
	text := "first\n" + strings.Repeat("Wörter timeout ", matches)
	var spans [][2]int
	for at := 0; ; {
		i := strings.Index(text[at:], "timeout")
		if i < 0 {
			break
		}
		at += i + len("timeout")
		spans = append(spans, [2]int{at - len("timeout"), at})
	}
	g := &Grep{Mode: GrepVim, Each: func(visit func(*grep.Match) error) error {
		m := &grep.Match{Lines: []grep.Line{{Text: text, Spans: spans, Match: true}}}
		m.SessionPath, m.Line = "/s.txt", 7
		return visit(m)
	}}
	var out strings.Builder
	if err := New(&out, FormatPlain, Layout{}).Print(g); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != matches || out.Len() > matches*1000 {
		t.Fatalf("%d matches in a line of %d bytes: %d lines, %d bytes", matches, len(text), len(lines), out.Len())
	}
	for i, line := range lines {
		column := spans[i][0] - len("first\n") + 1
		if !strings.HasPrefix(line, fmt.Sprintf("/s.txt:7:%d:", column)) || !strings.Contains(line, "Wörter timeout") || strings.Contains(line, "first") {
			t.Fatalf("match %d at column %d: %q", i, column, line)
		}
	}
}
