//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// row is one line of the page.
type row struct {
	tree   string // what was measured on
	what   string
	here   string  // this build
	peer   string  // what it is compared with
	ratio  float64 // of this build to the peer; 0 without one
	wanted string
}

func rowOf(t *tree, what, here, wanted string) row {
	return row{tree: t.name, what: what, here: here, wanted: wanted}
}

// large is from how many megabytes on ratios to peers are wanted: both sides of
// smaller ones are mostly the start of a process.
const large = 1000

// atLarge is what is wanted of a large corpus only.
func (t *tree) atLarge(wanted string) string {
	if t.mb < large {
		return ""
	}
	return wanted
}

// against returns the row with something that it is compared with.
func (r row) against(peer string, ratio float64) row {
	r.peer, r.ratio = peer, ratio
	return r
}

// timed is a row of times: this build's and, if it was there, ripgrep's.
func timed(t *tree, what string, got []cost, wanted string) row {
	r := rowOf(t, what, ms(got[0].wall), wanted)
	if len(got) > 1 {
		r = r.against("rg -c "+ms(got[1].wall), got[0].wall.Seconds()/got[1].wall.Seconds())
	}
	return r
}

func (r row) cells() []string {
	ratio := ""
	switch {
	case r.ratio == 0:
	case r.ratio < 0.1:
		ratio = fmt.Sprintf("%.3f", r.ratio)
	default:
		ratio = fmt.Sprintf("%.2f", r.ratio)
	}
	return []string{r.tree, r.what, r.here, r.peer, ratio, r.wanted}
}

// add takes a row, and shows it at once.
func (b *suite) add(r row) {
	b.rows = append(b.rows, r)
	c := r.cells()
	fmt.Fprintf(os.Stderr, "%-18s %-52s %-20s %-26s %-6s %s\n", c[0], c[1], c[2], c[3], c[4], c[5])
}

// outlook is the part of the page that people write. It stays as it is.
const outlook = "## What would lift it further"

// write writes the page to a file, whose outlook it keeps, or without one to
// standard output.
func (b *suite) write(path, command string) error {
	page := b.page(command)
	if path == "" {
		_, err := fmt.Print(page)
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, rest, ok := strings.Cut(string(old), outlook); ok {
		page += "\n" + outlook + rest
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// page writes the rows as Markdown.
func (b *suite) page(command string) string {
	var s strings.Builder
	fmt.Fprintf(&s, `# Benchmarks

Generated session files (see internal/lab/corpus), this build and its peers measured in turns in one run; medians.
Times are of whole processes, the check for new bytes included, on warm files. A rare word is one of five, by
turns, that about five texts have. What is wanted of a row with a ratio is wanted of the ratio, and of most ratios at
1 GB only: with little to read, ripgrep is there before any index.

- machine: %s
- command: `+"`%s`"+`
- peers: ripgrep on the same bytes (`+"`rg -c -F --no-ignore --hidden`"+`, for grep with the flags of the row); SQLite FTS5 (the sqlite3
  program, contentless, unicode61, WAL, synchronous=off) importing the same texts; encoding/json decoding the same bytes
`, machine(), command)
	if b.picker != nil {
		fmt.Fprintf(&s, "- pi is the session picker of pi %s, all projects: the call that lists or searches, in its own code, without the start of node and pi\n", b.picker.version)
	}
	if len(b.missing) > 0 {
		fmt.Fprintf(&s, "- not installed, so left out: %s\n", strings.Join(b.missing, ", "))
	}
	s.WriteString("\n| session files | what | here | peer | ratio | wanted |\n|---|---|---|---|---|---|\n")
	for _, r := range b.rows {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	return s.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mib(n int64) string { return fmt.Sprintf("%d MB", n/1_000_000) }
