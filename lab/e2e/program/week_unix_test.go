//go:build unix

package program

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// After a week of use, an index answers like one made at once, and is at most 1.3 times as
// large. In a week, 10,000 lines are appended, 500 files are new, 50 are rewritten and 20
// deleted; a watcher runs for most of the time, ends well, or is killed, and starts again.
func TestWeekOfUse(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	seed := uint64(7)
	if testkit.Long() {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 23))
	home, root, queries := someSessions(t, int64(testkit.HowMany(1, 1, 8))<<20)
	where := func(dir string) []string {
		return []string{"--session-dir", root, "--index-dir", filepath.Join(home, dir)}
	}
	files := sessionFiles(t, root)
	appends := testkit.Rounds(100, 100, 2000)
	share := func(of10000 int) int { return max(1, appends*of10000/10_000) }
	var week []string
	for what, n := range map[string]int{"append": appends, "new": share(500), "rewrite": share(50), "delete": share(20), "restart": share(30)} {
		week = append(week, slices.Repeat([]string{what}, n)...)
	}
	slices.Sort(week) // the order of a map is random
	rnd.Shuffle(len(week), func(i, j int) { week[i], week[j] = week[j], week[i] })

	vocabulary := strings.Fields(readFile(t, files[0]))
	text := func() string {
		var b strings.Builder
		for range 5 + rnd.IntN(150) {
			fmt.Fprintf(&b, "%.40s ", vocabulary[rnd.IntN(len(vocabulary))])
		}
		return b.String()
	}
	var w *watcher
	pause := time.Second / 100
	searches, behind := 0, 0
	for i, what := range week {
		at := rnd.IntN(len(files))
		path, word := files[at], fmt.Sprintf("theword%dofweek", i)
		found := 1
		switch what {
		case "append":
			appendPrompt(t, path, 1_000_000+i, text()+word)
		case "new":
			path = filepath.Join(root, fmt.Sprintf("p%d", rnd.IntN(20)), fmt.Sprintf("%d.jsonl", i))
			writeSession(t, path, text(), word, text())
			files = append(files, path)
		case "rewrite": // a third of its lines goes, and the others move
			var kept [][]byte
			for n, line := range bytes.SplitAfter([]byte(readFile(t, path)), []byte("\n")) {
				if n == 0 || rnd.IntN(3) > 0 {
					kept = append(kept, line)
				}
			}
			if err := os.WriteFile(path+".new", append(bytes.Join(kept, nil), prompt(t, 1_000_000+i, word)...), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		case "delete":
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			files = slices.Delete(files, at, at+1)
			found = 0
		case "restart":
			found = 0
			if w == nil {
				w = startWatcher(t, home, where("week"))
				continue
			}
			if rnd.IntN(3) == 0 {
				w.cmd.Process.Kill()
				<-w.ended
			} else {
				w.end(os.Interrupt)
			}
			w = nil
			if rnd.IntN(4) > 0 {
				w = startWatcher(t, home, where("week"))
			}
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(pause)))) // the watcher has seen the change, or not yet
		if rnd.IntN(8) == 0 {
			searches++
			r := pigrep(t, home, append(append([]string{"search", "--all-words", "-n", "1"}, where("week")...), word)...)
			if r.exit != 1-found {
				behind++
				t.Errorf("after %s, a search for %s: exit code %d\n%s%s", what, word, r.exit, r.stdout, r.stderr)
			}
		}
	}
	if w != nil {
		w.end(os.Interrupt)
	}
	for _, dir := range []string{"week", "cold"} {
		if r := pigrep(t, home, append([]string{"index"}, where(dir)...)...); r.exit != 0 {
			t.Fatalf("index: exit code %d\n%s", r.exit, r.stderr)
		}
	}
	queries = append(queries, "theword*", "hyrax shrew", "test NOT error", "role:user error")
	for range testkit.HowMany(5, 5, 100) {
		queries = append(queries, fmt.Sprintf("theword%dofweek", rnd.IntN(len(week))))
	}
	if diff := cmp.Diff(answers(t, home, where("cold"), queries), answers(t, home, where("week"), queries)); diff != "" {
		t.Errorf("a cold index (-) and the one of the week (+) answer differently:\n%.2000s", diff)
	}
	if r := pigrep(t, home, append([]string{"doctor", "--deep"}, where("week")...)...); r.exit != 0 {
		t.Errorf("doctor --deep: exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	a, b := sizeOf(t, filepath.Join(home, "week")), sizeOf(t, filepath.Join(home, "cold"))
	ratio := float64(a) / float64(b)
	t.Logf("%d changes, %d searches, %d of them wrong; the index has %d kB, a cold one %d: %.2f times as much", len(week), searches, behind, a>>10, b>>10, ratio)
	if testkit.Long() && ratio > 1.3 { // a small index has its oldest generations besides
		t.Errorf("the index of a week is %.2f times as large as a cold one, want at most 1.3", ratio)
	}
}

// sizeOf returns the bytes of all files below a directory.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}
