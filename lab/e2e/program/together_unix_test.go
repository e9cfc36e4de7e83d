//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// While lines are appended, eight search, one watches, one greps, one indexes and now and
// then compacts: every answer has each line that was written before the command began, and
// none twice.
func TestEverythingAtOnce(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	home, root, queries := someSessions(t, int64(testkit.HowMany(1, 1, 8))<<20)
	file := filepath.Join(root, "x", "growing.jsonl")
	writeSession(t, file, "the numbat of line 0")
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	w := startWatcher(t, home, where)
	// The line n+1 is being written when started is n+1 and written is n.
	var started, written atomic.Int64
	ask := func(args ...string) (took time.Duration) {
		least := int(written.Load()) + 1
		begin := time.Now()
		r := pigrep(t, home, slices.Concat(args, where, []string{"numbat"})...)
		took = time.Since(begin)
		most := int(started.Load()) + 1
		var e struct {
			Hits    []hit
			Matches []struct{ Text string }
			Total   int
			Index   struct{ Complete bool }
		}
		if err := json.Unmarshal(r.stdout, &e); err != nil || r.exit != 0 || len(r.stderr) > 0 || !e.Index.Complete {
			t.Errorf("%q: exit code %d, %v\n%s%.1000s", args, r.exit, err, r.stderr, r.stdout)
			return took
		}
		if e.Total < least || e.Total > most {
			t.Errorf("%q: %d lines, want from %d to %d", args, e.Total, least, most)
		}
		seen := map[string]bool{}
		for _, h := range e.Hits {
			e.Matches = append(e.Matches, struct{ Text string }{h.Fragment.Text})
		}
		for _, m := range e.Matches {
			if !strings.Contains(m.Text, "numbat of line") || seen[m.Text] {
				t.Errorf("%q: %q is wrong or there twice", args, m.Text)
			}
			seen[m.Text] = true
		}
		return took
	}
	search, grep := []string{"search", "--json", "--flat", "-n", "100"}, []string{"grep", "--json", "-w"}
	// searchers has n searches run at a time, until done.
	searchers := func(n int, done func(asked int) bool) []time.Duration {
		var mu sync.Mutex
		var all []time.Duration
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for asked := 0; !done(asked); asked++ {
					took := ask(search...)
					mu.Lock()
					all = append(all, took)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(all)
		return all
	}
	few := func(asked int) bool { return asked == testkit.HowMany(2, 2, 10) }
	alone, eight := searchers(1, few), searchers(8, few)

	rounds := testkit.Rounds(6, 6, 120)
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			ask(grep...)
		}
	})
	var storm []time.Duration
	wg.Go(func() { storm = searchers(8, func(int) bool { return over.Load() }) })
	for round := range rounds {
		for range 3 {
			n := started.Add(1)
			appendPrompt(t, file, int(n), fmt.Sprintf("one more numbat of line %d", n))
			written.Store(n)
			time.Sleep(5 * time.Millisecond) // searches begin between two lines
		}
		args := []string{"index"}
		if round%8 == 4 {
			args = append(args, "--compact")
		}
		if r := pigrep(t, home, append(args, where...)...); r.exit != 0 {
			t.Errorf("%q: exit code %d\n%s", args, r.exit, r.stderr)
		}
	}
	over.Store(true)
	wg.Wait()
	p95 := func(all []time.Duration) time.Duration { return all[len(all)*95/100].Round(time.Millisecond) }
	t.Logf("p95 of a search: %v alone, %v of eight at once, %v in the storm of %d lines and %d searches", p95(alone), p95(eight), p95(storm), started.Load(), len(storm))
	w.end(os.Interrupt)
	if diff := cmp.Diff(answers(t, home, []string{"--session-dir", root, "--index-dir", filepath.Join(home, "fresh")}, append(queries, "numbat")), answers(t, home, where, append(queries, "numbat"))); diff != "" {
		t.Errorf("then a new index (-) and this one (+) answer differently:\n%.2000s", diff)
	}
	if r := pigrep(t, home, append([]string{"doctor", "--deep"}, where...)...); r.exit != 0 {
		t.Errorf("doctor --deep: exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
}
