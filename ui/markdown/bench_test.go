package markdown

import (
	"strings"
	"testing"
)

// A long entry of 100 kB: prose, lists, code and tables.
func BenchmarkRender(b *testing.B) {
	const piece = "Some *text* with `code` and **bold** words that go on and on, [link](http://x.y/z).\n\n- item one with words\n- item two\n\n"
	const code = "```go\nfunc main() {\n    return 1 // comment\n}\n```\n"
	const table = "| a | b |\n|---|---|\n| c | d |\n\n"
	for name, source := range map[string]string{
		"prose": strings.Repeat(piece, 900), "mixed": strings.Repeat(piece+code+table, 500), "tables": strings.Repeat(table, 3300),
		"code":  "```go\n" + strings.Repeat("func main() {\n    return 1 // comment\n}\n", 2500) + "```\n",
		"plain": strings.Repeat("words that are not Markdown at all and go on until the end of the line\n", 1500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(source)))
			for b.Loop() {
				Render(source, 80)
			}
		})
	}
}
