package html

import (
	"strings"
	"testing"

	"github.com/gomarkdown/markdown/parser"
	"pgregory.net/rapid"
)

// Cutting changes nothing but the time: pages are those of the text read at once. Blocks of
// HTML are the exception: for the parser they may contain empty lines.
func TestSectionsReadTheSame(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"word", "- item", "  - below", "1. first", "2. second", "   more of it", "> quote", "```go", "```", "~~~~", "~~~", "# head", "| a | b |", "|---|---|",
		"| c | d |", "", "", "", "***", "*a* and `b`", "    code", "    - deep", "\t", "étage", "[x]: http://y", "<b>bold</b>", "term", ": meaning",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(pieces, 0, 24).Draw(t, "lines"), "\n")
		var b strings.Builder
		r := &proseRenderer{x: &writer{}, w: &b}
		r.all(parser.NewWithExtensions(markdown).Parse([]byte(keepDefinitions(source))))
		if got := string((&writer{}).prose([]byte(source))); got != b.String() {
			t.Fatalf("%q:\n got %q\nwant %q", source, got, b.String())
		}
	})
}

func BenchmarkProseWithLists(b *testing.B) {
	text := []byte(strings.Repeat("Some words about it, and what to do:\n\n- the first thing\n- another thing, `with code`\n\n1. Begin\n2. End\n\n", 900))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		(&writer{}).prose(text)
	}
}
