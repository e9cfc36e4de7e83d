// Command gen writes a corpus of sessions for benchmarks.
//
//	go run ./lab/corpus/gen -mb 300 DIR
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"pigrep/lab/corpus"
)

func main() {
	mb := flag.Int64("mb", 50, "megabytes (1000000 bytes) of session files")
	seed := flag.Uint64("seed", 1, "seed; the same seed gives the same bytes")
	agent := flag.String("agent", "pi", "that writes them: pi, claude, codex")
	packed := flag.Bool("packed", false, "compress the older half of the files")
	long := flag.Int64("long-line", 0, "bytes of one extra line that is very long")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: gen [flags] DIR\n\nWrites a sessions directory for benchmarks. Flags:")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	start := time.Now()
	stats, err := corpus.Generate(flag.Arg(0), corpus.Options{Seed: *seed, Bytes: *mb * 1e6, Agent: *agent, Packed: *packed, LongLine: *long})
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	took := time.Since(start)
	fmt.Printf("%d files, %d lines, %d bytes, %d forks (%d lines copied), %d with branches; %.1f s, %.0f MB/s\n",
		stats.Files, stats.Lines, stats.Bytes, stats.Forks, stats.Copied, stats.Branched,
		took.Seconds(), float64(stats.Bytes)/1e6/took.Seconds())
}
