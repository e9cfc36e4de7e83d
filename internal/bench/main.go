//go:build linux

// Command bench measures pigrep against its peers on generated session files
// and writes what it found as a page of ratios. Every figure is a median of
// several runs, and both sides of a ratio are measured in turns in one run, so
// that a noisy machine disturbs both alike.
//
//	go run ./internal/bench -sizes 50,300,1024 -out docs/BENCHMARKS.md
//
// Peers that are not installed (rg, sqlite3) are left out, and said. What needs
// memory runs in processes of its own: the system counts the peak of a parent as
// that of the processes it starts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"pigrep/internal/corpus"
)

func main() {
	sizes := flag.String("sizes", "50,300", "megabytes of session files, one corpus each")
	runs := flag.Int("runs", 15, "runs of each query; indexing is run a third as often")
	out := flag.String("out", "", "write the page here, not to standard output")
	work := flag.String("work", "", "keep corpora and indexes in this directory, and use what is there")
	decode := flag.String("decode", "", "(used by itself) decode the session files below this directory with encoding/json")
	rare := flag.String("rare", "", "(used by itself) print a word that few lines below this directory have")
	generate := flag.Int("generate", 0, "(used by itself) write so many megabytes of session files to the directory given as argument")
	texts := flag.String("texts", "", "(used by itself) write the texts of the session files below this directory to standard output")
	flag.Parse()
	var err error
	switch {
	case *decode != "":
		err = decodeAll(*decode)
	case *texts != "":
		err = writeTexts(*texts, os.Stdout)
	case *rare != "":
		var word string
		if word, err = rareWord(*rare); err == nil {
			fmt.Println(word)
		}
	case *generate > 0:
		_, err = corpus.Generate(flag.Arg(0), corpus.Options{Seed: 1, Bytes: int64(*generate) * 1_000_000})
	default:
		err = bench(*sizes, *runs, *out, *work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(sizes string, runs int, out, work string) error {
	if work == "" {
		dir, err := os.MkdirTemp("", "pigrep-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		work = dir
	}
	b := &suite{ctx: context.Background(), work: work, runs: runs}
	if err := b.build(); err != nil {
		return err
	}
	for _, s := range strings.Split(sizes, ",") {
		mb, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("size %q: %w", s, err)
		}
		if err := b.measure(mb); err != nil {
			return err
		}
	}
	page := b.page(fmt.Sprintf("make bench SIZE=%s", sizes))
	if out == "" {
		_, err := fmt.Print(page)
		return err
	}
	return os.WriteFile(out, []byte(page), 0o644)
}

// build makes the programs that are measured.
func (b *suite) build() error {
	b.pigrep, b.self = filepath.Join(b.work, "pigrep"), filepath.Join(b.work, "bench")
	for bin, pkg := range map[string]string{b.pigrep: "pigrep", b.self: "pigrep/internal/bench"} {
		c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, pkg)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
	}
	return nil
}

// sessions returns the directory of the corpus of this size, making it first.
func (b *suite) sessions(mb int) (string, error) {
	dir := filepath.Join(b.work, fmt.Sprintf("corpus-%d", mb))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, exec.CommandContext(b.ctx, b.self, "-generate", strconv.Itoa(mb), dir).Run()
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
