package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// The start of a session tells of sessions that are not indexed yet, and has them indexed in the background. Without
// an index it says nothing, and has one built.
func TestHookBringsTheIndexUpToDate(t *testing.T) {
	a, out, errs := testApp(t)
	root := filepath.Join(a.Home, ".pi", "agent", "sessions")
	var background []string
	a.Background = func(_ string, args ...string) error {
		background = append(background, strings.Join(args, " "))
		return nil
	}
	start := func(args ...string) string {
		t.Helper()
		out.Reset()
		errs.Reset()
		background = nil
		a.Streams.In = strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"n","cwd":"/p","source":"startup"}`)
		if code := Run(t.Context(), a, append([]string{"hook"}, args...)); code != problem.ExitDone || errs.Len() > 0 {
			t.Fatalf("hook %v ends with %d: %s", args, code, errs)
		}
		return out.String()
	}
	writeSessions(t, root, 1)
	if got := start(); got != "" || len(background) != 1 {
		t.Errorf("without an index: %q, started %q", got, background)
	}
	if code := Run(t.Context(), a, []string{"index"}); code != problem.ExitDone {
		t.Fatal(errs)
	}
	if got := start(); !strings.Contains(got, "s000000") || len(background) != 0 {
		t.Errorf("with an index: %q, started %q", got, background)
	}
	writeSessions(t, root, 2)
	if got := start("--no-update"); strings.Contains(got, "s000001") || len(background) != 0 {
		t.Errorf("as it is: %q, started %q", got, background)
	}
	want := []string{fmt.Sprintf("index --index-dir %s --session-dir %s --quiet", filepath.Join(a.Home, "index"), root)}
	if got := start("--session-dir", root); !strings.Contains(got, "s000001") || !slices.Equal(background, want) {
		t.Errorf("with a new session: %q, started %q, want %q", got, background, want)
	}
	testkit.Append(t, filepath.Join(root, "s000001.jsonl"), strings.Repeat(`{"type":"custom"}`+"\n", mostPending/10))
	if got := start(); strings.Contains(got, "s000001") || len(background) != 1 {
		t.Errorf("with much that is new: %q, started %q", got, background)
	}
}

// What is said has its bounds, in any alphabet, and stands on one line for each thing.
func TestHookIsBrief(t *testing.T) {
	a, out, errs := testApp(t)
	root := filepath.Join(a.Home, ".pi", "agent", "sessions")
	testkit.Check(t, os.MkdirAll(root, 0o755))
	for i, text := range []string{"plain words of a question ", "длинные слова вопроса ", "漢字の質問", "a\\u001b[31m\\u0007\\n# heading\\n", "🦊🦊🦊 "} {
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"type":"session","version":3,"id":"s%06d","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`+"\n", i)
		for k := range 30 {
			fmt.Fprintf(&b, `{"type":"message","id":"e%07d","timestamp":"2026-03-01T10:%02d:00.000Z","message":{"role":"user","content":"%d %s"}}`+"\n", k, k, k, strings.Repeat(text, 40))
		}
		testkit.Check(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("s%06d.jsonl", i)), b.Bytes(), 0o644))
		a.Streams.In = strings.NewReader(`{"hook_event_name":"SessionStart","cwd":"/p"}`)
		out.Reset()
		if Run(t.Context(), a, []string{"index", "--quiet"}); Run(t.Context(), a, []string{"hook"}) != problem.ExitDone {
			t.Fatal(errs)
		}
		_, said, _ := strings.Cut(out.String(), `"additionalContext":"`)
		said, _, _ = strings.Cut(said, `","hookEventName"`)
		if said == "" || tokensOf(said) > startTokens+20 || strings.Contains(said, `\u001b`) || strings.Contains(said, `\n#`) {
			t.Errorf("%d tokens: %s", tokensOf(said), said)
		}
	}
}
