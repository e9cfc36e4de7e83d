//go:build linux

// Command bench measures pigrep against its peers on generated session files
// and writes what it found as a page of ratios. Every figure is a median of
// several runs, and both sides of a ratio are measured in turns in one run, so
// that a noisy machine disturbs both alike.
//
//	go run ./internal/lab/bench -sizes 50,300,1024 -out docs/BENCHMARKS.md
//
// Peers that are not installed (rg, sqlite3, pi with its node) are left out, and said. A search
// that should find something and does not ends the run: its time would mean
// nothing. What needs memory runs in processes of its own: the system counts the
// peak of a parent as that of the processes it starts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/lab/corpus"
)

func main() {
	sizes := flag.String("sizes", "50,300", "megabytes of session files, one corpus each")
	runs := flag.Int("runs", 15, "runs of each query; what takes seconds is run a fifth as often")
	out := flag.String("out", "", "write the page here, not to standard output")
	work := flag.String("work", "", "keep corpora in this directory, and use what is there")
	decode := flag.String("decode", "", "(used by itself) decode the session files below this directory with encoding/json")
	rare := flag.String("rare", "", "(used by itself) print words that few entries below this directory have")
	generate := flag.Int("generate", 0, "(used by itself) write so many megabytes of session files to the directory given as argument")
	longLine := flag.Int("long-line", 0, "(used by itself) with -generate: and a line of so many megabytes")
	texts := flag.String("texts", "", "(used by itself) write the texts of the session files below this directory to standard output")
	flag.Parse()
	var err error
	switch {
	case *decode != "":
		err = decodeAll(*decode)
	case *texts != "":
		err = writeTexts(*texts, os.Stdout)
	case *rare != "":
		var words []string
		if words, err = findRareWords(*rare); err == nil {
			fmt.Println(strings.Join(words, "\n"))
		}
	case *generate > 0:
		_, err = corpus.Generate(flag.Arg(0), corpus.Options{Seed: 1, Bytes: int64(*generate) * 1_000_000, LongLine: int64(*longLine) * 1_000_000})
	default:
		err = bench(*sizes, *runs, *out, *work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(list string, runs int, out, work string) error {
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
	b := &suite{ctx: context.Background(), work: work, runs: max(1, runs)}
	if err := b.build(); err != nil {
		return err
	}
	var err error
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
	return b.write(out, fmt.Sprintf("make bench SIZE=%s", list))
}

// build makes the programs that are run: this build as it is given to users, and
// this command, which must know where the source tree of Go is to make texts of it.
func (b *suite) build() error {
	b.pigrep, b.self = filepath.Join(b.work, "pigrep"), filepath.Join(b.work, "bench")
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags=-s -w", "-o", b.pigrep, "pigrep"},
		{"build", "-o", b.self, "pigrep/internal/lab/bench"},
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
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(data), "\n") {
			if name, ok := strings.CutPrefix(line, "model name\t: "); ok {
				model = name
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.Version())
}
