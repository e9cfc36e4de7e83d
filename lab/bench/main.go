//go:build linux

// Command bench measures pigrep against its peers on generated session files
// and writes a page of what it found. Every figure is a median of several runs,
// and both sides of a ratio are measured in turns in one run, so that a noisy
// machine disturbs both alike.
//
//	go run ./lab/bench -sizes 50,300,1024 -out docs/BENCHMARKS.md
//
// Peers that are not installed (rg, sqlite3, pi with its node) are left out, and the
// page says so. A search that should find something and does not ends the run: its
// time would mean nothing; so does a line that only one of grep and rg finds, unless
// the bytes of the line explain it. What needs memory runs in processes of its own:
// the system counts the peak of a parent as that of the processes it starts.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

func main() {
	sizes := flag.String("sizes", "50,300", "megabytes of session files, one corpus each")
	runs := flag.Int("runs", 15, "runs of each query; what takes seconds is run a fifth as often")
	rounds := flag.Int("rounds", 1, "measure everything so often; the page has the last round, and the goals of all")
	out := flag.String("out", "", "write the page here, not to standard output")
	work := flag.String("work", "", "keep corpora in this directory, and use what is there")
	part := flag.String("part", "", "(used by itself) do a part with the argument, and print what it found")
	flag.Parse()
	err := func() (err error) {
		defer must.Catch(&err)
		if *part != "" {
			return parts[*part](flag.Arg(0), os.Stdout)
		}
		return bench(*sizes, *rounds, *runs, *out, *work)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parts are what runs in processes of its own, and prints JSON or texts.
var parts = map[string]func(arg string, out io.Writer) error{
	"texts":  writeTexts,
	"survey": func(dir string, out io.Writer) error { return json.NewEncoder(out).Encode(must.Get(takeSurvey(dir))) },
	"compare": func(question string, out io.Writer) error {
		var c comparison
		must.Do(json.Unmarshal([]byte(question), &c))
		must.Do(c.run())
		return json.NewEncoder(out).Encode(c)
	},
}

func bench(list string, rounds, runs int, out, work string) error {
	var sizes []int
	for _, s := range strings.Split(list, ",") {
		mb, err := strconv.Atoi(s)
		if err != nil || mb <= 0 {
			return fmt.Errorf("size %q: want megabytes, like 50,300", s)
		}
		sizes = append(sizes, mb)
	}
	slices.Sort(sizes)
	if work == "" {
		work = must.Get(os.MkdirTemp("", "pigrep-bench"))
		defer os.RemoveAll(work)
	}
	var all []*suite
	for range max(1, rounds) {
		b := &suite{work: work, runs: max(1, runs), about: map[string]string{}}
		b.round(sizes)
		all = append(all, b)
	}
	return write(out, fmt.Sprintf("make bench SIZE=%s ROUNDS=%d", list, len(all)), all)
}

// round measures everything once.
func (b *suite) round(sizes []int) {
	b.pigrep, b.self, b.generator = b.build("pigrep", "."), b.build("bench", "lab/bench"), b.build("gen", "lab/corpus/gen")
	b.picker = b.findPicker()
	var trees []*tree
	for _, mb := range sizes {
		t := b.generated(mb)
		b.measure(t)
		trees = append(trees, t)
	}
	b.growth(trees)
	b.agents(trees[0])
	b.measureSmallFiles()
	b.measureLongLine(sizes[0])
	b.timed(&tree{name: "No session files"}, "pigrep version", b.runs, "≤ 3 ms", func() cost { return b.run(b.pigrep, "version") })
}

// build builds a program as users get it, and returns its path.
func (b *suite) build(name, source string) string {
	program := filepath.Join(b.work, name)
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, filepath.Join("pigrep", source))
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	must.Do(err, "build ", name, ": ", string(out))
	return program
}

func machine() string {
	// Each file has lines of a name, a colon and a value.
	value := func(path, name string) string {
		data, _ := os.ReadFile(path)
		for line := range strings.Lines(string(data)) {
			if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	var kb int64
	fmt.Sscan(value("/proc/meminfo", "MemTotal"), &kb)
	model := value("/proc/cpuinfo", "model name")
	if model == "" {
		model = runtime.GOARCH
	}
	return fmt.Sprintf("%d cores (%s), %.0f GB of memory, %s, %s", runtime.NumCPU(), model, float64(kb)/(1<<20), runtime.GOOS, runtime.Version())
}

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
