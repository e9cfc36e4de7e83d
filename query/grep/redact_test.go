package grep

import (
	"strings"
	"testing"

	"pigrep/query/engine/literal"
)

func TestRedactedLines(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("a line of a log\n", 6000)
	text := filler + "-----BEGIN EC PRIVATE " + "KEY-----\nMHcCneedleQEE\nxyzzy0123456789ABCDEFxyzzy\n-----END EC PRIVATE " + "KEY-----\n" +
		"needle password=hunter2hunter2 needle\n"
	for _, text := range []string{text, strings.TrimPrefix(text, filler)} {
		find := func(word string) (lines []Line) {
			for n, at := 1, 0; at < len(text); n++ {
				end := literal.IndexByteFrom([]byte(text), '\n', at)
				if line := text[at:end]; strings.Contains(line, word) {
					i := strings.Index(line, word)
					lines = append(lines, Line{Number: n, Offset: at, Text: line, Match: true, Spans: [][2]int{{i, i + len(word)}}})
				}
				at = end + 1
			}
			return lines
		}
		lines := find("needle")
		redactLines([]byte(text), lines)
		if lines[0].Text != "[redacted:private-key]" {
			t.Errorf("a line of a private key is %q", lines[0].Text)
		}
		if want := "needle password=[redacted:password] needle"; lines[1].Text != want || lines[1].Spans[0] != [2]int{0, 6} {
			t.Errorf("got %q with %v, want %q", lines[1].Text, lines[1].Spans, want)
		}
	}
}
