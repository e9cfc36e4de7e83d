package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// comparison is a table of the README: what docs/BENCHMARKS.md says of pigrep and
// one peer.
type comparison struct {
	heading, peer string
	rows          [][2]string // the row there, but for a number of files, and its name here
}

// comparisons are the tables that a page can have below <!-- figures: NAME -->. A row
// that docs/BENCHMARKS.md does not have fails.
var comparisons = map[string]comparison{
	"ripgrep": {"ripgrep", "rg", [][2]string{
		{"query: rare word", "a rare word"},
		{"query: 3 words", "three words, ranked"},
		{"query: identifier", "an identifier in any spelling"},
		{"grep: rare word (-w)", "`pigrep grep`, a rare word"},
		{"grep: piece of a rare word", "`pigrep grep`, a piece of a rare word"},
		{"grep: common word", "`pigrep grep`, a common word"},
		{"grep: very common word", "`pigrep grep`, a very common word"},
		{"grep: no literal", "`pigrep grep`, an expression without a literal"},
		{"nothing changed", "checking for new bytes, part of each search"},
		{"first index", "the first index"},
		{"first index, as searches of rg", "the first index, in searches of ripgrep"},
		{"index size", "the index"},
	}},
	"fts5": {"SQLite FTS5", "FTS5", [][2]string{
		{"first index", "the first index"},
		{"index size", "the index"},
		{"query: rare word", "a rare word"},
		{"query: 3 words", "three words, ranked"},
		{"query: 5 words", "five words, ranked"},
		{"query: prefix of 4 letters", "a prefix of four letters"},
	}},
	"pi": {"pi", "pi", [][2]string{
		{"sessions, median directory", "the sessions of one directory, as the picker opens: the median"},
		{"sessions, largest directory", "the same, the largest directory"},
		{"sessions, all directories", "the sessions of all directories"},
		{"sessions, 2 words", "two words, looked for in all of them"},
	}},
}

// figures fills in the comparisons of a page.
func figures(t *testing.T, page string) string {
	t.Helper()
	marker := regexp.MustCompile(`<!-- figures: (\w+) -->\n(\|[^\n]*\n)*`)
	if !marker.MatchString(page) {
		return page
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	return marker.ReplaceAllStringFunc(page, func(table string) string {
		name := marker.FindStringSubmatch(table)[1]
		c, ok := comparisons[name]
		if !ok {
			t.Errorf("there is no comparison %q", name)
		}
		return fmt.Sprintf("<!-- figures: %s -->\n| | session files | pigrep | %s |\n|---|---|---|---|\n", name, c.heading) + c.table(t, string(data))
	})
}

// table is the rows of a comparison: each from the largest corpus of up to 1 GB that has it,
// the size of the goals.
func (c comparison) table(t *testing.T, benchmarks string) string {
	t.Helper()
	// The peers of a row: "rg 12.0 ms, CPU 13.4 ms, 6 lines (0.75); FTS5 …".
	peer := regexp.MustCompile(`(?:^|; )` + c.peer + ` ([^;(]*)`)
	beside := regexp.MustCompile(`, CPU .*`)
	files := regexp.MustCompile(`, \d+ files$`)
	var b strings.Builder
	for _, want := range c.rows {
		section, row := "", ""
		for line := range strings.Lines(benchmarks) {
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				section = strings.TrimSpace(heading)
			}
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if len(cells) < 3 || !regexp.MustCompile(`^(\d{1,3}|1024) MB$`).MatchString(section) || files.ReplaceAllString(cells[0], "") != want[0] {
				continue
			}
			other := "–"
			if m := peer.FindStringSubmatch(cells[2]); m != nil {
				other = strings.TrimSpace(beside.ReplaceAllString(m[1], ""))
			}
			row = fmt.Sprintf("| %s | %s | %s | %s |\n", want[1], section, beside.ReplaceAllString(cells[1], ""), other)
		}
		if row == "" {
			t.Errorf("docs/BENCHMARKS.md has no row %q", want[0])
		}
		b.WriteString(row)
	}
	return b.String()
}
