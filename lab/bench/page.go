//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"pigrep/lab/corpus"
)

// row is one line of the page.
type row struct {
	tree   string // what was measured on: a section of the page
	what   string
	here   string // this build
	peers  []string
	ratios []string // to the peers
	wanted string
}

func rowOf(t *tree, what, here, wanted string) row {
	return row{tree: t.name, what: what, here: here, wanted: wanted}
}

// against returns the row with a peer, and the ratio of this build to it.
func (r row) against(peer, value string, ratio float64) row {
	digits := 2
	if ratio < 0.1 {
		digits = 3
	}
	r.peers = append(r.peers, fmt.Sprintf("%s %s (%.*f)", peer, value, digits, ratio))
	r.ratios = append(r.ratios, fmt.Sprintf("%.*f of %s", digits, ratio, peer))
	return r
}

func (r row) cells() []string {
	return []string{r.what, r.here, strings.Join(r.peers, "; "), r.wanted}
}

// add takes a row, and shows it at once.
func (b *suite) add(r row) {
	b.rows = append(b.rows, r)
	c := r.cells()
	fmt.Fprintf(os.Stderr, "%-18s %-36s %-26s %-60s %s\n", r.tree, c[0], c[1], c[2], c[3])
}

// outlook begins the part of the page that people write. write does not change it.
const outlook = "## What would make it faster"

// write writes the page of the last round, and the goals if there are several, to a file,
// and keeps the outlook of that file. Without a path it writes to standard output.
func write(path, command string, rounds []*suite) error {
	page := rounds[len(rounds)-1].page(command)
	if len(rounds) > 1 {
		page += goals(rounds)
	}
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

Medians of whole processes on warm files; pigrep and its peers take turns in one run. Every search of pigrep first
checks the session files for new bytes. The first search also starts a process that merges segments of the first index; it
has ended before the measurement. CPU is user and system time of all cores. The number in parentheses is pigrep's figure
divided by the peer's: above 1, pigrep is slower or larger. A goal is for 1 GB of session files unless its row is about a
number of files.

- machine: %s
- versions: %s
- command: `+"`%s`"+`; sizes of 50, 300 and 1024 MB take about ten minutes and 6 GB below the
  temporary directory, 8192 MB twenty minutes and 14 GB more
- peers: `+"`apt-get install ripgrep sqlite3`; `npm install -g --ignore-scripts @earendil-works/pi-coding-agent@0.78.0`"+` with
  node 22.19 or later
`, machine(), strings.Join(b.versions(), ", "), command)
	if len(b.missing) > 0 {
		fmt.Fprintf(&s, "- not installed, so left out: %s\n", strings.Join(b.missing, ", "))
	}
	fmt.Fprintf(&s, `
**Session files** are generated (lab/corpus, seed %d) and have the same bytes on every machine. Their vocabulary
grows as in real sessions. 10 public session files of 8.8 MB have 104,000 tokens per MB and 15,647 distinct terms, 1,773
per MB; over all orders of the files, Heaps' law, K·MB^β terms, fits with K = %d and β = %.2f. The row "distinct terms"
compares a corpus with that law; a corpus has about 128,000 tokens per MB.
`+"`go run ./lab/bench -terms DIR`"+` counts and fits the session files below any directory.

**rg** is ripgrep on the same files: `+"`rg -c -F --no-ignore --hidden`"+` with the first word of a query, and with the flags
of the row for grep. It counts lines of JSON and does not rank.

**FTS5** is the sqlite3 program with `+"`fts5(body, content='', detail=column, tokenize='unicode61')`"+`, WAL and
`+"`synchronous=off`"+`. It imports the decoded texts; their extraction is not counted. A query is the words joined with OR,
`+"`ORDER BY rank LIMIT 20`"+`. The answer is row numbers: no text, no sessions, no check for new bytes, no parts of
identifiers, no forms, no misspellings.

**pi** is the call behind pi's session picker, in its own code, without the start of node and pi. The picker opens with
the sessions of the current directory and loads those of all directories on request. It is
not measured above 1 GB, where each list takes minutes.

**MCP** is one server that answers %d calls, one after another, of twenty kinds in equal parts: searches for a word, for
words, for phrases that occur and that rarely do, and for identifiers; grep for a word, an expression with two words, and
a piece of a word; and the other tools. Their words are drawn from the session files, so that most are new to the server.

Queries for a rare word use five words in turn, each in about five texts. Queries for an identifier use five identifiers in
turn, each in about twenty texts. "Lines" are lines of session files. grep and rg find the same lines, except where a match
is not text (a key, an id, a signature) or a JSON escape hides it from rg. Any other difference fails the run.
`, corpusSeed, corpus.HeapsK, corpus.HeapsBeta, agentCalls)
	section := ""
	for _, r := range b.rows {
		if r.tree != section {
			section = r.tree
			fmt.Fprintf(&s, "\n## %s\n\n", section)
			if about := b.about[section]; about != "" {
				fmt.Fprintf(&s, "%s\n\n", about)
			}
			s.WriteString("| what | pigrep | peers | goal |\n|---|---|---|---|\n")
		}
		fmt.Fprintf(&s, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	return s.String()
}

// goals returns a Markdown table of the rows that have a goal, with a column for each round.
func goals(rounds []*suite) string {
	var s strings.Builder
	s.WriteString("\n## Goals in each round\n\n| what |")
	for i := range rounds {
		fmt.Fprintf(&s, " round %d |", i+1)
	}
	s.WriteString(" goal |\n|---|" + strings.Repeat("---|", len(rounds)) + "---|\n")
	for i, r := range rounds[0].rows {
		if r.wanted == "" {
			continue
		}
		fmt.Fprintf(&s, "| %s |", r.what)
		for _, b := range rounds {
			again := b.rows[i]
			fmt.Fprintf(&s, " %s |", strings.Join(append([]string{again.here}, again.ratios...), "; "))
		}
		fmt.Fprintf(&s, " %s |\n", r.wanted)
	}
	return s.String()
}

// times is the wall time and the CPU time.
func (c cost) times() string {
	if c.cpu == 0 {
		return ms(c.wall)
	}
	return ms(c.wall) + ", CPU " + ms(c.cpu)
}

func ms(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func mb(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }

func ratio[T int64 | time.Duration](a, b T) float64 { return float64(a) / float64(b) }
