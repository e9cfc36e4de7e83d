package program

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
)

// What a bulk leaves is merged in the background after a search, until few segments are
// left. No answer changes.
func TestMergedInTheBackground(t *testing.T) {
	if !testkit.Long() {
		t.Skip("generates and indexes 600 MB: runs with PIGREP_TORTURE")
	}
	t.Parallel()
	home := t.TempDir()
	root, dir := filepath.Join(home, "sessions"), filepath.Join(home, "index")
	if _, err := corpus.Generate(root, corpus.Options{Seed: 7, Bytes: 600 << 20}); err != nil {
		t.Fatal(err)
	}
	where := []string{"--session-dir", root, "--index-dir", dir}
	ask := func(args ...string) string {
		t.Helper()
		return string(indexState.ReplaceAll(pigrep(t, home, slices.Concat(args, where)...).stdout, []byte("$1")))
	}
	segments := func() int {
		t.Helper()
		r, err := index.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return len(r.Segments())
	}
	pigrep(t, home, append([]string{"index"}, where...)...)
	questions := [][]string{
		{"search", "--json", "--no-update", "connection timeout"}, {"search", "--json", "--no-update", "parseConfig", "-n", "50"},
		{"grep", "-c", "--no-update", "timeout"}, {"tools", "--json", "--no-update"}, {"sessions", "--json", "--no-update", "-n", "30"},
	}
	var before []string
	for _, q := range questions {
		before = append(before, ask(q...))
	}
	first := segments()
	if first <= 6 {
		t.Fatalf("the bulk left %d segments, too few to test merging", first)
	}
	ask("search", "--json", "connection")
	if busy(t, dir) || segments() != first {
		t.Error("a merge started right after another writer")
	}
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "lock"), hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	ask("search", "--json", "connection")
	// The merge is a separate process, and nothing announces its end: poll.
	for deadline := time.Now().Add(5 * time.Minute); segments() > first/2+1 || busy(t, dir); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d segments after a search, %d before", segments(), first)
		}
	}
	for i, q := range questions {
		if after := ask(q...); after != before[i] {
			t.Errorf("%v: %d bytes, %d before the merges", q, len(after), len(before[i]))
		}
	}
	if r := pigrep(t, home, slices.Concat([]string{"doctor", "--deep"}, where)...); r.exit != 0 {
		t.Errorf("doctor: exit %d\n%s", r.exit, r.stdout)
	}
}

// busy reports whether a process is writing to the index.
func busy(t *testing.T, dir string) bool {
	t.Helper()
	pid, err := index.WriterPID(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pid != 0
}
