package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
)

// someSessions makes a directory of sessions and returns words to search for in it.
func someSessions(t *testing.T, size int64) (home, root string, queries []string) {
	t.Helper()
	home = t.TempDir()
	root = filepath.Join(home, "sessions")
	if _, err := corpus.Generate(root, corpus.Options{Seed: 11, Bytes: size}); err != nil {
		t.Fatal(err)
	}
	writeSession(t, filepath.Join(root, "x", "own.jsonl"), "the hyrax of the first hour", "the second hyrax", "a third, for the hyrax")
	return home, root, []string{"hyrax", "shrew", "overloaded", "bash command", "ENOENT such file", `"go test -race"`, "错误"}
}

// answers is what the queries find, without what only says how the index was made.
func answers(t testing.TB, home string, where, queries []string) []string {
	t.Helper()
	var all []string
	for _, query := range queries {
		r := pigrep(t, home, append(append([]string{"search", "--json", "--flat", "-n", "50"}, where...), "--", query)...)
		var e struct {
			Hits            json.RawMessage
			Total, TotalAny int
		}
		if err := json.Unmarshal(r.stdout, &e); err != nil || r.exit != 0 && r.exit != 1 {
			t.Fatalf("search for %q: exit code %d, %v\n%.1500s\n%.500s", query, r.exit, err, r.stderr, r.stdout)
		}
		var hits bytes.Buffer
		json.Indent(&hits, e.Hits, "", " ")
		all = append(all, fmt.Sprintf("%s: %d, %d\n%s", query, e.Total, e.TotalAny, hits.String()))
	}
	return all
}

// appendPrompt adds a line to a file.
func appendPrompt(t testing.TB, path string, n int, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(prompt(t, n, text)); err != nil {
		t.Fatal(err)
	}
}

// editInPlace swaps two words of the same length everywhere in a file, so that its size
// stays.
func editInPlace(t testing.TB, path, a, b string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(a, b, b, a).Replace(string(data))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// However often a command that writes the index is killed, while lines are added and words
// are edited in place, the next run finds what a new index finds.
func TestKilledWhileIndexing(t *testing.T) {
	t.Parallel()
	home, root, queries := someSessions(t, 3<<20)
	where := func(dir string) []string {
		return []string{"--session-dir", root, "--index-dir", filepath.Join(home, dir)}
	}
	binary(t)
	commands := [][]string{{"index", "--quiet"}, {"index", "--quiet"}, {"search", "--quiet", "hyrax"}, {"search", "--quiet", "hyrax"}, {"index", "--quiet", "--compact"}, {"index", "--quiet", "--rebuild"}}
	took := make([]time.Duration, len(commands)) // about, so that any moment can be that of the kill
	for i := range took {
		took[i] = time.Second
	}
	seed := uint64(9)
	if testkit.Long() {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	rounds, starts, killed := testkit.Rounds(1, 5, 70), 0, 0
	own := filepath.Join(root, "x", "own.jsonl")
	change := func(n int) {
		if rng.IntN(2) == 0 {
			editInPlace(t, own, "hyrax", "shrew")
		}
		if rng.IntN(4) > 0 {
			appendPrompt(t, own, n, fmt.Sprintf("hyrax number %d", rng.Uint32()))
		}
		if rng.IntN(4) == 0 {
			writeSession(t, filepath.Join(root, "new", fmt.Sprintf("%d.jsonl", rng.IntN(100))), fmt.Sprintf("hyrax number %d", rng.Uint32()), "and a shrew")
		}
	}
	for round := range rounds {
		for range 24 { // at most, until three of them were killed
			if killed == 3*round+3 {
				break
			}
			starts++
			meanwhile := rng.IntN(2) == 0
			if !meanwhile {
				change(starts)
			}
			kind := rng.IntN(len(commands))
			args := commands[kind]
			cmd := command(t, home, append(slices.Clone(args), where("killed")...)...)
			start := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if meanwhile {
				change(starts)
			}
			var kill atomic.Bool // on Windows it looks like an exit with code 1
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(took[kind]))), func() { kill.Store(true); cmd.Process.Kill() })
			var exit *exec.ExitError
			if err := cmd.Wait(); errors.As(err, &exit) && (!exit.Exited() || runtime.GOOS == "windows" && kill.Load()) {
				killed++
				took[kind] += took[kind] / 10
			} else if err != nil && (args[0] == "index" || exit.ExitCode() != 1) {
				t.Fatalf("pigrep %q: %v", args, err)
			} else {
				took[kind] = time.Since(start)
			}
			timer.Stop()
		}
		fresh := fmt.Sprintf("fresh-%d", round)
		if diff := cmp.Diff(answers(t, home, where(fresh), queries), answers(t, home, where("killed"), queries)); diff != "" {
			t.Fatalf("round %d: a new index (-) and one whose making was killed (+) answer differently:\n%.4000s", round, diff)
		}
		if err := os.RemoveAll(filepath.Join(home, fresh)); err != nil {
			t.Fatal(err)
		}
		if r := pigrep(t, home, append([]string{"doctor", "--deep"}, where("killed")...)...); r.exit != 0 {
			t.Fatalf("round %d: doctor --deep: exit code %d\n%s%s", round, r.exit, r.stdout, r.stderr)
		}
	}
	if t.Logf("%d of %d processes were killed in time", killed, starts); killed < rounds {
		t.Errorf("only %d of %d processes were killed in time", killed, starts)
	}
}

// Programs that start together, with no index there yet: one of them makes it,
// the others wait or say so, and none gives a wrong answer.
func TestManyStartTogether(t *testing.T) {
	t.Parallel()
	home, root, queries := someSessions(t, 2<<20)
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	want := answers(t, home, []string{"--session-dir", root, "--index-dir", filepath.Join(home, "alone")}, queries)
	binary(t)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			args := append([]string{"search", "--json", "--flat", "-n", "1000"}, append(where, "hyrax")...)
			if i%3 == 0 {
				args = append([]string{"index"}, where...)
			}
			var stdout, stderr bytes.Buffer
			cmd := command(t, home, args...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			code := cmd.ProcessState.ExitCode()
			if code != 0 && code != 2 || code == 2 && stderr.Len() == 0 || bytes.Contains(stderr.Bytes(), []byte("goroutine ")) {
				t.Errorf("pigrep %q: %v\n%s", args[0], err, stderr.Bytes())
			}
			var e envelope
			if args[0] == "search" && code == 0 {
				if err := json.Unmarshal(stdout.Bytes(), &e); err != nil || e.Index.Complete && e.Total != 3 {
					t.Errorf("pigrep search says the index is complete and finds %d, want 3; %v\n%s", e.Total, err, stderr.Bytes())
				}
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(want, answers(t, home, where, queries)); diff != "" {
		t.Errorf("answers of an index made alone (-) and in company (+):\n%.4000s", diff)
	}
}

// Readers that search while lines are added and indexed see no error and lose
// nothing that was there before.
func TestReadersWhileIndexing(t *testing.T) {
	t.Parallel()
	home, root, _ := someSessions(t, 2<<20)
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("pigrep index: exit code %d\n%s", r.exit, r.stderr)
	}
	rounds := testkit.HowMany(6, 12, 200)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range testkit.HowMany(4, 4, 8) {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				args := append([]string{"search", "--json", "--flat", "-n", "1000"}, where...)
				if i%2 == 0 {
					args = append(args, "--no-update")
				}
				var stdout, stderr bytes.Buffer
				cmd := command(t, home, append(args, "hyrax")...)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				var e envelope
				if err == nil {
					err = json.Unmarshal(stdout.Bytes(), &e)
				}
				if err != nil || e.Total < 3 || e.Total > 3+rounds {
					t.Errorf("a search in the storm: %v, %d hits\n%s", err, e.Total, stderr.Bytes())
					return
				}
			}
		})
	}
	for round := range rounds {
		appendPrompt(t, filepath.Join(root, "x", "own.jsonl"), 1000+round, fmt.Sprintf("one more hyrax, %d", round))
		r := pigrep(t, home, append([]string{"index"}, where...)...)
		if r.exit != 0 && r.exit != 2 {
			t.Errorf("pigrep index: exit code %d\n%s", r.exit, r.stderr)
		}
	}
	close(done)
	wg.Wait()
	if e, r := search(t, home, append(where, "hyrax")...); e.Total != 3+rounds {
		t.Errorf("after the storm %d hits, want %d\n%s", e.Total, 3+rounds, r.stderr)
	}
}

// With many small files every one is found, and an index that followed their
// changes gives the answers of a fresh one.
func TestManySmallFiles(t *testing.T) {
	t.Parallel()
	n := testkit.HowMany(200, 500, 10_000)
	home := t.TempDir()
	root := filepath.Join(home, "sessions")
	path := func(i int) string { return filepath.Join(root, fmt.Sprintf("p%d", i%120), fmt.Sprintf("%d.jsonl", i)) }
	for i := range n {
		writeSession(t, path(i), fmt.Sprintf("the quoll of number%d", i))
	}
	where := func(dir string) []string {
		return []string{"--session-dir", root, "--index-dir", filepath.Join(home, dir)}
	}
	total := func(query string, want int) {
		t.Helper()
		r := pigrep(t, home, append(append([]string{"search", "--json"}, where("index")...), query)...)
		var e envelope
		if err := json.Unmarshal(r.stdout, &e); err != nil || e.Total != want {
			t.Errorf("search for %s: %d hits, want %d; %v\n%s", query, e.Total, want, err, r.stderr)
		}
	}
	total("quoll", n)
	total(fmt.Sprint("number", n/2), 1)
	for i := range n {
		var err error
		switch i % 10 {
		case 1:
			err = os.Remove(path(i))
		case 2:
			appendPrompt(t, path(i), 1, fmt.Sprintf("another quoll, of %d", i))
		case 3:
			writeSession(t, path(i), fmt.Sprintf("a bettong in place of %d", i))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	queries := []string{"quoll", "another", "bettong", fmt.Sprint("number", n-8)}
	want := answers(t, home, where("fresh"), queries)
	if diff := cmp.Diff(want, answers(t, home, where("index"), queries)); diff != "" {
		t.Errorf("answers of a fresh index (-) and of one that followed (+):\n%.2000s", diff)
	}
	total("quoll", n-n/10)
	total("another", n/10)
}

// A reader of the output that goes away, as head does, is no failure.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cmd := command(t, home, "search", "--jsonl", "--flat", "-n", "1000", "--scope", "all", "--session-dir", sessions(), "--index-dir", filepath.Join(home, "index"), "the")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("with its output closed: %v\n%s", err, stderr.Bytes())
	}
}
