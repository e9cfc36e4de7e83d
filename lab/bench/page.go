//go:build linux

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/template"
	"time"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
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

//go:embed page.md
var pageText string

// page writes the rows as Markdown.
func (b *suite) page(command string) string {
	type section struct {
		Name, About string
		Rows        []string
	}
	var sections []section
	for _, r := range b.rows {
		if n := len(sections); n == 0 || sections[n-1].Name != r.tree {
			sections = append(sections, section{Name: r.tree, About: b.about[r.tree]})
		}
		last := &sections[len(sections)-1]
		last.Rows = append(last.Rows, strings.Join(r.cells(), " | "))
	}
	var s strings.Builder
	must.Do(template.Must(template.New("page").Parse(pageText)).Execute(&s, map[string]any{
		"Machine": machine(), "Versions": strings.Join(b.versions(), ", "), "Command": command, "Missing": strings.Join(b.missing, ", "),
		"Seed": corpusSeed, "HeapsK": corpus.HeapsK, "HeapsBeta": corpus.HeapsBeta, "AgentCalls": agentCalls, "Sections": sections,
	}))
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
