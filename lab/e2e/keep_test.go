package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/internal/content"
	"pigrep/internal/session"
	"pigrep/keep"
	"pigrep/lab/testkit"
)

// keeping makes updates keep the sessions of these agents.
func (h *home) keeping(t *testing.T, agents ...string) {
	h.opt.Archive = &keep.Archive{Dir: filepath.Join(t.TempDir(), "kept")}
	h.opt.Rules = keep.Rules{Agents: agents}
}

// eventually asks again until nothing is lacking, because a watcher in the same process tells
// nobody when it is done. The limit only ends a test that has failed.
func eventually(t *testing.T, lacks func() string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		lack := lacks()
		if lack == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(lack)
		}
	}
}

// While a watcher runs, a session of Claude Code is kept as it grows. Once Claude Code has deleted
// or rewritten it, what it had is found where it was.
func TestWatchKeeps(t *testing.T) {
	// Not parallel: where this process finds copies is one for all tests.
	h := newHome(t, pi.New(), claude.New())
	h.keeping(t, "claude")
	content.KeptAt(h.opt.Archive.Where)
	defer content.KeptAt(func(string) string { return "" })
	path, story := claudeFile(h.dir), claudeStory()
	odd := filepath.Join(filepath.Dir(path), strings.Repeat("n", 249)+".jsonl")
	appendTo(t, odd, "")
	appendTo(t, filepath.Join(filepath.Dir(path), "torn.jsonl"), story[1]+"\n"+`{"type":"user","mess`)
	watchFor(t, h.opt)
	copied := func(path string) string {
		c := h.opt.Archive.Find(path)
		if c == nil {
			return ""
		}
		b, err := os.ReadFile(h.opt.Archive.Place(c))
		testkit.Check(t, err)
		return string(b)
	}
	for _, part := range [][]string{story[:8], story[8:12], story[12:]} {
		appendTo(t, path, strings.Join(part, "\n")+"\n")
		text := string(read(t, path))
		eventually(t, func() string {
			if got := copied(path); got != text {
				return "the copy is not what the session is: " + got
			}
			return ""
		})
	}
	appendTo(t, odd, strings.ReplaceAll(story[1], "Caveat", "numbat")+"\n")
	eventually(t, func() string {
		if copied(odd) == "" {
			return "a session with a long name is not kept"
		}
		return ""
	})
	found := func(word string, want int) func() string {
		return func() string {
			r, err := index.Open(h.opt.Dir)
			testkit.Check(t, err)
			defer r.Close()
			n := 0
			for _, hit := range h.hits(t, r, word) {
				if hit.Kept {
					n++
				}
			}
			if n != want {
				return fmt.Sprintf("%s is found %d times in what is kept: %+v", word, n, r.Summaries())
			}
			return ""
		}
	}
	testkit.Check(t, os.Remove(path))
	testkit.Check(t, os.Remove(odd))
	eventually(t, found("hedgehog", 1))
	eventually(t, found("numbat", 1))

	// It comes back with less: the summary that a compaction leaves.
	short := strings.Join([]string{story[1], claudeLine("s1", "null", "user", `{"role":"user","content":"all about the okapi"}`)}, "\n")
	appendTo(t, path, short)
	eventually(t, func() string { return found("hedgehog", 1)() + found("okapi", 0)() })
	if c := h.opt.Archive.Find(strings.TrimSuffix(path, ".jsonl") + "~1.jsonl"); c == nil || !c.Earlier {
		t.Errorf("what the session had is %+v", c)
	}
}

// Compressed rollouts, sessions of several files and subagents are kept whole, are found as they
// were, and are put back where they were.
func TestKeepsWhatAgentsWrite(t *testing.T) {
	h := newHome(t, everyAgent()...)
	h.keeping(t, "codex", "claude", "omp", "prime")
	content.KeptAt(h.opt.Archive.Where)
	defer content.KeptAt(func(string) string { return "" })
	for _, f := range fixtures(t) {
		_, below, _ := strings.Cut(filepath.ToSlash(f.path), "/agents/"+f.agent+"/")
		dir := map[string]string{"claude": ".claude", "codex": ".codex", "omp": filepath.Join(".omp", "agent")}[f.agent]
		below = strings.Replace(strings.TrimPrefix(below, "story-0.169/"), "lifecycle/", "sessions/", 1)
		if f.agent == "codex" && !strings.Contains(below, "rollout-") {
			below = "sessions/2026/11/21/rollout-2026-11-21T00-00-00-" + filepath.Base(below)
		}
		stored, err := os.ReadFile(f.path)
		testkit.Check(t, err)
		appendTo(t, filepath.Join(h.dir, dir, filepath.FromSlash(below)), string(stored))
	}
	child := filepath.Join(strings.TrimSuffix(claudeFile(h.dir), ".jsonl"), "subagents", "workflows", "w", "agent-a2.jsonl")
	appendTo(t, claudeFile(h.dir), claudeLine("u1", "null", "user", `{"role":"user","content":"look for the walrus"}`))
	appendTo(t, child, claudeLine("s1", "null", "user", `{"role":"user","content":"the tamandua of a workflow"}`))
	before := h.checked(t)
	files := make(map[string]string) // the text of each
	var tails int64                  // bytes of unterminated lines, which are read again with a file of other times
	for _, s := range before.Reader.Summaries() {
		f, err := content.Open(s.Path, 0)
		testkit.Check(t, err)
		text, err := io.ReadAll(f.Text())
		testkit.Check(t, err)
		files[s.Path] = string(text)
		tails += int64(len(text) - 1 - bytes.LastIndexByte(text, '\n'))
		f.Close()
	}
	if len(files) < 8 || before.Keeping.Err != nil || before.Keeping.Copied != len(files) {
		t.Fatalf("%d files, %+v", len(files), before.Keeping)
	}
	state := func(r *index.Reader) map[string]session.Summary {
		all := make(map[string]session.Summary)
		for _, s := range r.Summaries() {
			s.Checkpoint, s.File = session.Checkpoint{}, 0
			all[s.Path] = s
		}
		return all
	}
	for path := range files {
		_ = os.Remove(path)
		_ = os.Remove(path + content.Suffix)
	}
	after := h.update(t)
	if after.BytesRead > tails || len(after.Reader.Summaries()) != len(files) {
		t.Errorf("%d bytes were read again, %d sessions are left of %d", after.BytesRead, len(after.Reader.Summaries()), len(files))
	}
	was, is := state(before.Reader), state(after.Reader)
	for path := range files {
		if a, b := was[path], is[path]; a.ID != b.ID || a.Messages != b.Messages || a.UsedTokens != b.UsedTokens || a.ParentSession != b.ParentSession || !h.isKept(after.Reader, path) {
			t.Errorf("%s was %+v, and is %+v", path, a, b)
		}
	}
	if hits := h.hits(t, after.Reader, "tamandua"); len(hits) != 1 || hits[0].SessionPath != child || !hits[0].Kept {
		t.Errorf("the subagent: %+v", hits)
	}
	for path, text := range files {
		restored, err := h.opt.Archive.Restore(h.opt.Archive.Find(path))
		testkit.Check(t, err)
		if restored != path || string(read(t, path)) != text {
			t.Errorf("%s is restored as %s, which has another text", path, restored)
		}
	}
	if res := h.checked(t); res.BytesRead > tails || h.isKept(res.Reader, child) {
		t.Errorf("what was put back was read again: %d bytes", res.BytesRead)
	}
}

func (h home) isKept(r *index.Reader, path string) bool {
	for _, s := range r.Summaries() {
		if s.Path == path {
			return s.Kept
		}
	}
	return false
}
