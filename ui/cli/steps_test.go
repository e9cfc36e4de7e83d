package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/lab/testkit"
)

// In sessions of every agent, show and export print what is said, and of the steps of the machine no
// more than a line; the last entry is one of conversation. With --all, and in JSON, the steps are there.
func TestStepsStandInNobodysWay(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	from := testkit.Fixtures()
	if from == "" {
		from = filepath.Join(testkit.Root(), "testdata")
	}
	a, out, errs := testApp(t)
	dir := filepath.Join(a.Home, "sessions")
	for _, below := range []string{"agents/claude", "agents/codex", "agents/omp", "real"} {
		if source := filepath.Join(from, filepath.FromSlash(below)); dirExists(source) {
			testkit.Check(t, os.CopyFS(filepath.Join(dir, filepath.FromSlash(below)), os.DirFS(source)))
		}
	}
	run := func(args ...string) string {
		out.Reset()
		if code := Run(t.Context(), a, append(args, "--session-dir", dir)); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, errs)
		}
		return out.String()
	}
	var list struct {
		Sessions []struct{ SessionPath string }
	}
	testkit.Check(t, json.Unmarshal([]byte(run("sessions", "--json", "--limit", "1000", "--subagents")), &list))
	sessions, steps := 0, 0
	for _, s := range list.Sessions[:min(len(list.Sessions), testkit.HowMany(25, 1000, 1000))] {
		var shown struct {
			Entries []struct {
				EntryID, ShortEntryID, EntryType, CustomType string
				Step                                         bool
				Parts                                        []struct{ Text string }
			}
		}
		testkit.Check(t, json.Unmarshal([]byte(run("show", s.SessionPath, "--json")), &shown))
		text, markdown, page, last := run("show", s.SessionPath), run("export", s.SessionPath), run("export", s.SessionPath, "--format", "html"), ""
		all := run("export", s.SessionPath, "--all")
		sessions++
		for _, e := range shown.Entries {
			id := e.ShortEntryID
			if id == "" {
				id = e.EntryID
			}
			anchor := `id="e-` + strings.TrimPrefix(e.EntryID, "@")
			switch {
			case !e.Step:
				last = id
			case hasWord(text, "· "+id) || strings.Contains(markdown, "`"+id+"`") || strings.Contains(page, anchor+`"`):
				t.Errorf("%s: entry %s, %s %s, is a step and shown", s.SessionPath, id, e.EntryType, e.CustomType)
			case len(e.Parts) > 0 && e.Parts[0].Text != "":
				if steps++; !strings.Contains(all, "`"+e.EntryID) && !strings.Contains(all, "`"+id) {
					t.Errorf("%s: step %s is not in all of it", s.SessionPath, id)
				}
			}
		}
		if end := run("show", s.SessionPath, "--last", "1"); last != "" && !strings.Contains(end, last) && !strings.Contains(end, "\n  ") {
			t.Errorf("%s ends with %s, not with entry %s", s.SessionPath, end, last)
		}
	}
	if t.Logf("%d sessions, %d steps", sessions, steps); steps < 8 {
		t.Errorf("%d steps in %d sessions", steps, sessions)
	}
}

// hasWord reports whether a text has a word that does not go on there.
func hasWord(text, word string) bool {
	for {
		_, after, ok := strings.Cut(text, word)
		if !ok || after == "" || !strings.ContainsRune("0123456789abcdef-", rune(after[0])) {
			return ok
		}
		text = after
	}
}

func dirExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
