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
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pigrep/lab/corpus"
)

const corpusSeed = 1

func main() {
	sizes := flag.String("sizes", "50,300", "megabytes of session files, one corpus each")
	runs := flag.Int("runs", 15, "runs of each query; what takes seconds is run a fifth as often")
	rounds := flag.Int("rounds", 1, "measure everything so often; the page has the last round, and the goals of all")
	out := flag.String("out", "", "write the page here, not to standard output")
	work := flag.String("work", "", "keep corpora in this directory, and use what is there")
	terms := flag.String("terms", "", "only print how the vocabulary of the session files below this directory grows")
	take := flag.String("survey", "", "(used by itself) print what the session files below this directory have")
	compare := flag.String("compare", "", "(used by itself) compare two ways to find lines, described in JSON")
	generate := flag.Int("generate", 0, "(used by itself) write so many megabytes of session files to the directory given as argument")
	longLine := flag.Int("long-line", 0, "(used by itself) with -generate: and a line of so many megabytes")
	texts := flag.String("texts", "", "(used by itself) write the texts of the session files below this directory to standard output")
	flag.Parse()
	var err error
	switch {
	case *terms != "":
		err = printHeaps(os.Stdout, *terms)
	case *texts != "":
		err = writeTexts(*texts, os.Stdout)
	case *take != "":
		var s survey
		if s, err = takeSurvey(*take); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s)
		}
	case *compare != "":
		var c comparison
		if err = json.Unmarshal([]byte(*compare), &c); err != nil {
			break
		}
		if err = c.run(context.Background()); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(c)
		}
	case *generate > 0:
		_, err = corpus.Generate(flag.Arg(0), corpus.Options{Seed: corpusSeed, Bytes: int64(*generate) * 1_000_000, LongLine: int64(*longLine) * 1_000_000})
	default:
		err = bench(*sizes, *rounds, *runs, *out, *work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
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
		dir, err := os.MkdirTemp("", "pigrep-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		work = dir
	}
	var all []*suite
	for range max(1, rounds) {
		b := &suite{ctx: context.Background(), work: work, runs: max(1, runs), about: map[string]string{}}
		if err := b.round(sizes); err != nil {
			return err
		}
		all = append(all, b)
	}
	return write(out, fmt.Sprintf("make bench SIZE=%s ROUNDS=%d", list, len(all)), all)
}

// round measures everything once.
func (b *suite) round(sizes []int) (err error) {
	if err := b.build(); err != nil {
		return err
	}
	if b.picker, err = b.findPicker(); err != nil {
		return err
	}
	var trees []*tree
	for _, mb := range sizes {
		t, err := b.generated(mb)
		if err != nil {
			return err
		}
		if err := b.measure(t); err != nil {
			return err
		}
		trees = append(trees, t)
	}
	b.growth(trees)
	if err := b.measureSmallFiles(); err != nil {
		return err
	}
	if err := b.measureLongLine(sizes[0]); err != nil {
		return err
	}
	return b.measureStart()
}

// build makes the programs that are run: this build as it is given to users, and
// this command.
func (b *suite) build() error {
	b.pigrep, b.self = filepath.Join(b.work, "pigrep"), filepath.Join(b.work, "bench")
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags=-s -w", "-o", b.pigrep, "pigrep"},
		{"build", "-o", b.self, "pigrep/lab/bench"},
	} {
		c := exec.Command("go", args...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, msg)
		}
	}
	return nil
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
