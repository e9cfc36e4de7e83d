package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// Whatever a search finds, the page that its SESSION:ENTRY reads has the entry, with the prompt of its
// turn and the answer, and every row says something. This holds for sessions of every agent.
func TestPagesHaveWhatTheyAreAskedFor(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	dir, from := t.TempDir(), filepath.Join(testkit.Root(), "testdata")
	if fixtures := testkit.Fixtures(); fixtures != "" {
		from = fixtures
	}
	for _, below := range []string{"agents/claude", "agents/codex", "agents/omp", "real", "sessions"} {
		if _, err := os.Stat(filepath.Join(from, below)); err == nil {
			testkit.Check(t, os.CopyFS(filepath.Join(dir, filepath.FromSlash(below)), os.DirFS(filepath.Join(from, filepath.FromSlash(below)))))
		}
	}
	g := newAgent(t, dir)
	g.settle()
	hits, steps := 0, 0
	queries := strings.Fields(`error hook agent plan test file fix build commit lint status review config path function install
		branch update read write search output run session change login todo summary image kind:note scope:all`)
	for _, query := range queries[:testkit.HowMany(6, len(queries), len(queries))] {
		arguments, _ := json.Marshal(map[string]any{"query": query, "scope": "all", "limit": 20, "perSession": 5, "maxBytes": 200_000})
		found, _, _ := g.call("search", string(arguments))
		for _, h := range found.hits() {
			hits++
			arguments, _ := json.Marshal(map[string]any{"session": h.Session + ":" + h.Entry})
			page, _, _ := g.call("read_session", string(arguments))
			named := -1
			for i, e := range page.Entries {
				if e.Named {
					named = i
				}
				if len(e.Parts)+len(e.Images) == 0 {
					t.Errorf("%s of %s: entry %s, a %s, says nothing", arguments, query, e.Entry, e.Role)
				}
				for _, p := range e.Parts {
					if strings.TrimSpace(p.Text) == "" && len(e.Images) == 0 {
						t.Errorf("%s of %s: entry %s, a %s, has an empty %s", arguments, query, e.Entry, e.Role, p.Kind)
					}
				}
				if e.Steps != "" {
					steps++
				}
			}
			if named < 0 {
				t.Errorf("%s of %s: the page does not have the entry, but %+v", arguments, query, page.Entries)
				continue
			}
			if before, after := named, len(page.Entries)-named-1; before > after+1 && page.EntriesAfter > 0 && before > 3 {
				t.Errorf("%s of %s: %d entries before it and %d after it", arguments, query, before, after)
			}
		}
	}
	if t.Logf("%d hits, %d pages with steps", hits, steps); hits < 20 {
		t.Errorf("%d hits", hits)
	}
}
