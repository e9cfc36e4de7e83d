package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/tui"
)

// newTestBackend returns the backend of a TUI for a copy of the samples, indexed.
func newTestBackend(t *testing.T) *tuiBackend {
	t.Helper()
	a, _, _ := testApp(t)
	a.Now = time.Now
	dir := filepath.Join(a.Home, "sessions")
	if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	p := &location.Location{App: a, Agents: a.Registry(), IndexDir: filepath.Join(a.Home, "index"), Roots: []adapter.Root{{Path: dir}}}
	b := newTUIBackend(t.Context(), &tuiOptions{}, p)
	t.Cleanup(func() { b.index.Close() })
	res, err := indexer.Update(t.Context(), snapshot.Options(p))
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	return b
}

func (b *tuiBackend) hits(t *testing.T, text string) int {
	t.Helper()
	res, err := asks(b.backend, remote.Search)(t.Context(), search.Request{Text: text, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return res.Total
}

// A page that does not follow the session files says what its answers lack, as MCP does.
func TestLagIsSaid(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	w, err := index.OpenWriter(b.IndexDir, index.WriterOptions{PID: 4321})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b.behind.Store(true)
	b.index.Patience = 0
	if _, lag, err := b.newest(t.Context()); lag != "" || err != nil {
		t.Errorf("without a lag it says %q, %v", lag, err)
	}
	large := []byte("{\"type\":\"session\",\"version\":3,\"id\":\"large\"}\n" + strings.Repeat(strings.Repeat(" ", 1<<16)+"\n", 160)) // more than fits in memory
	if err := os.WriteFile(filepath.Join(b.Roots[0].Path, "large.jsonl"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, lag, err := b.newest(t.Context()); !strings.Contains(lag, "1 file (") || err != nil {
		t.Errorf("with a lag it says %q, %v", lag, err)
	}
}

// A search of the TUI finds what was just written, even while another process holds the lock
// of the index, so that this one cannot follow the session files.
func TestTUIBesideAnotherWriter(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	w, err := index.OpenWriter(b.Location.IndexDir, index.WriterOptions{PID: 4321})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	b.behind.Store(true) // as watch does when it finds the index locked
	text := `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n" +
		`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"zyzzyva"}}` + "\n"
	if err := os.WriteFile(filepath.Join(b.Location.Roots[0].Path, "s1.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if n := b.hits(t, "zyzzyva"); n != 1 {
		t.Errorf("%d hits, want the line that was just written", n)
	}
}

// A search of the TUI that finds the index damaged rebuilds it and answers.
func TestTUIRebuildsADamagedIndex(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	want := b.hits(t, "gateway")
	segments, err := filepath.Glob(filepath.Join(b.Location.IndexDir, "segments", "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	for _, path := range segments {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clear(data[len(data)/4 : max(len(data)/4, len(data)-8<<10)]) // a small segment stays whole
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.index.Close()
	b.index = newTUIBackend(t.Context(), b.options, b.Location).index
	defer b.index.Close()
	if n := b.hits(t, "gateway"); n != want {
		t.Errorf("%d hits after the rebuild, want %d", n, want)
	}
}

// Flags that begin a TUI find what they find on the command line.
func TestFlagsMeanTheSameInTheTUI(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	for _, args := range []string{"--kind prompt,reply the", "--kind call,result --tool bash --tool edit test", "--project atlas --project parser-lab the", "--since 2026-01-01 --model sonnet token"} {
		o := &tuiOptions{}
		cmd := withFlags(o, "tui")
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		o.query = strings.Join(cmd.Flags().Args(), " ")
		req, err := o.Request(b.App)
		if err != nil {
			t.Fatal(err)
		}
		ui, err := o.beginning(b.App)
		if err != nil {
			t.Fatal(err)
		}
		req.Text, ui.Request.Text = o.query, ui.Query
		ui.Request.Env.Now = b.App.Now()
		var total []int
		for _, r := range []search.Request{req, ui.Request} {
			res, err := asks(b.backend, remote.Search)(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			total = append(total, res.TotalAny)
		}
		if total[0] == 0 || total[0] != total[1] {
			t.Errorf("%s: %d hits on the command line, %d for %s", args, total[0], total[1], ui.Query)
		}
	}
}

// Flags alone open the TUI if it has all of them.
func TestFlagsThatOpenTheTUI(t *testing.T) {
	a, _, _ := testApp(t)
	for args, want := range map[string]bool{"--here": true, "--since 1w --kind call": true, "--session-dir x --sort newest": true, "--flat": false, "--redact --here": false, "--json": false} {
		cmd := withFlags(&searchOptions{}, searchName)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if got := opensTUI(a, cmd); got != want {
			t.Errorf("pigrep %s opens the TUI: %t, want %t", args, got, want)
		}
	}
}

// A session whose directory is gone can continue in others. A command that is only copied
// needs no pi.
func TestTUIResumesAMovedSession(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	b.App.LookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	res, err := asks(b.backend, remote.Search)(t.Context(), search.Request{Text: "gateway", Limit: 1})
	if err != nil || len(res.Hits) == 0 {
		t.Fatal(err)
	}
	place := tui.Place{Path: res.Hits[0].SessionPath}
	_, err = b.resume(t.Context(), place, tui.How{})
	moved, ok := errors.AsType[*tui.MovedError](err)
	if !ok || moved.Dir != res.Hits[0].CWD || !slices.Equal(moved.Dirs, []string{b.App.WorkDir}) {
		t.Fatalf("the error is %#v", err)
	}
	dir := t.TempDir()
	r, err := b.resume(t.Context(), place, tui.How{Dir: dir})
	if err != nil || r.Dir != dir || !slices.Contains(r.Argv, "--fork") {
		t.Errorf("in %s: %+v, %v", dir, r, err)
	}
	if _, err := b.resume(t.Context(), place, tui.How{Dir: dir, Run: true}); err == nil || !strings.Contains(err.Error(), "not on your PATH") {
		t.Errorf("run without pi: %v", err)
	}
}
