package program

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// How long after the append of a line a new pigrep search finds it, with a
// watcher running: go test -run '^$' -bench WatchLatency -benchtime 200x
func BenchmarkWatchLatency(b *testing.B) {
	for _, files := range []int{30, 10_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			home, where := manyFiles(b, files)
			w := startWatcher(b, home, where)
			file := filepath.Join(home, "sessions", "d0000", "0.jsonl")
			var latencies []time.Duration
			n := 0
			for b.Loop() {
				n++
				// Each line is added at another moment of the watcher's round.
				time.Sleep(time.Duration(rand.Int64N(int64(700 * time.Millisecond))))
				word := fmt.Sprintf("latency%dx%d", n, os.Getpid())
				start := time.Now()
				appendPrompt(b, file, n, word)
				for {
					r := pigrep(b, home, append(append([]string{"search", "--quiet"}, where...), word)...)
					if r.exit == 0 {
						break
					}
					if time.Since(start) > 20*time.Second {
						b.Fatalf("never found: exit code %d\n%s", r.exit, r.stderr)
					}
				}
				latencies = append(latencies, time.Since(start))
			}
			slices.Sort(latencies)
			at := func(share float64) float64 {
				return float64(latencies[int(share*float64(len(latencies)-1))].Microseconds()) / 1000
			}
			b.ReportMetric(at(0.5), "ms-median")
			b.ReportMetric(at(0.95), "ms-p95")
			b.ReportMetric(at(1), "ms-max")
			w.end(os.Interrupt)
		})
	}
}

// What a watcher takes that has nothing to do, over 1,000 directories and
// 10,000 files for a minute: go test -run '^$' -bench WatchIdle -benchtime 1x
func BenchmarkWatchIdle(b *testing.B) {
	home, where := manyFiles(b, 10_000)
	w := startWatcher(b, home, where)
	for b.Loop() {
		before := processorTime(b, w.cmd.Process.Pid)
		time.Sleep(time.Minute) // the time that is measured
		used := processorTime(b, w.cmd.Process.Pid) - before
		b.ReportMetric(100*used.Seconds()/60, "%-of-a-core")
		b.ReportMetric(float64(memory(w.cmd.Process.Pid)>>20), "MB")
	}
	w.end(os.Interrupt)
}

// manyFiles makes a tree of small sessions, ten in a directory.
func manyFiles(b *testing.B, n int) (home string, where []string) {
	b.Helper()
	home = b.TempDir()
	root := filepath.Join(home, "sessions")
	for i := range n {
		writeSession(b, filepath.Join(root, fmt.Sprintf("d%04d", i/10), fmt.Sprintf("%d.jsonl", i%10)),
			fmt.Sprintf("prompt %d of a small session", i), "and another one")
	}
	where = []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	if r := pigrep(b, home, append([]string{"index", "--quiet"}, where...)...); r.exit != 0 {
		b.Fatalf("pigrep index: %s", r.stderr)
	}
	return home, where
}

// processorTime returns the user and system time of a process, in the kernel's
// steps of 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// The name of the program, in parentheses, may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
