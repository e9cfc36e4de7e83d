package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// An agent learns who wrote lines, and what to read on, page by page.
func TestMCPBlame(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "lease.go")
	testkit.Check(t, os.WriteFile(file, []byte("package store // leases\n// by hand, by nobody\ntype Lease struct{ Holder string }\n"), 0o644))
	data := fmt.Sprintf(`{"type":"session","version":3,"id":"01a1f7de-bbbb","timestamp":"2026-03-01T10:00:00.000Z","cwd":%q}
{"type":"message","id":"e0","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"make leases"}}
{"type":"message","id":"e1","parentId":"e0","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"A lease has a holder."},{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"lease.go","content":"package store // leases\ntype Lease struct{ Holder string }\n"}}]}}
`, dir)
	sessions := filepath.Join(dir, "sessions")
	testkit.Check(t, os.Mkdir(sessions, 0o755))
	testkit.Check(t, os.WriteFile(filepath.Join(sessions, "a.jsonl"), []byte(data), 0o644))
	g := newAgent(t, sessions)
	_, text, _ := g.call("blame", fmt.Sprintf(`{"file":%q}`, file))
	for _, want := range []string{"2 of 3 lines written by sessions.", "1-1 exact · 01a1f7de:e1 · ", "make leases · A lease has a holder.", "2-2 none", "3-3 exact"} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer lacks %q:\n%s", want, text)
		}
	}
	a, text, _ := g.call("blame", fmt.Sprintf(`{"file":%q,"limit":1}`, file))
	if a.NextCursor == "" || strings.Contains(text, "3-3") {
		t.Errorf("the first page is the whole answer:\n%s", text)
	}
	if _, text, _ = g.call("blame", fmt.Sprintf(`{"file":%q,"limit":1,"cursor":%q}`, file, a.NextCursor)); !strings.Contains(text, "2-2 none") || strings.Contains(text, "1-1") {
		t.Errorf("the second page is\n%s", text)
	}
	if _, text, _ = g.call("blame", fmt.Sprintf(`{"file":%q}`, file+":3")); !strings.Contains(text, "1 of 1 line") {
		t.Errorf("one line gives\n%s", text)
	}
}
