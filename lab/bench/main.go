//go:build linux

// Command bench measures pigrep against its peers on generated session files
// and writes a page of what it found. Every figure is a median of several runs,
// and both sides of a ratio are measured in turns in one run, so that a noisy
// machine disturbs both alike.
//
//	go run ./lab/bench -sizes 50,300,1024 -out docs/BENCHMARKS.md
//	go run ./lab/bench -terms DIR
//
// Peers that are not installed (rg, sqlite3, pi with its node) are left out, and the
// page says so. A search that should find something and does not ends the run: its
// time would mean nothing; so does a line that only one of grep and rg finds, unless
// the bytes of the line explain it. What needs memory runs in processes of its own:
// the system counts the peak of a parent as that of the processes it starts.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pigrep/lab/must"
)

func main() {
	sizes := flag.String("sizes", "50,300", "megabytes of session files, one corpus each")
	runs := flag.Int("runs", 15, "runs of each query; what takes seconds is run a fifth as often")
	rounds := flag.Int("rounds", 1, "measure everything so often; the page has the last round, and the goals of all")
	out := flag.String("out", "", "write the page here, not to standard output")
	work := flag.String("work", "", "keep corpora in this directory, and use what is there")
	terms := flag.String("terms", "", "only print how the vocabulary of the session files below this directory grows")
	part := flag.String("part", "", "(used by itself) do a part with the argument, and print what it found")
	flag.Parse()
	err := func() (err error) {
		defer must.Catch(&err)
		switch {
		case *terms != "":
			return printHeaps(os.Stdout, *terms)
		case *part != "":
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
