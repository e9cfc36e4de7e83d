package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/lab/testkit"
	"pigrep/ui/cli/asking"
	"pigrep/ui/mcp"
)

// An agent that another one started has two sessions of its own; both are left out.
func TestSessionsOfNestedAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, dir, 3)
	g := newAgent(t, dir, func(c *mcp.Config) { c.Current = []adapter.Running{{ID: "s000001"}, {ID: "s000002"}} })
	a, _, _ := g.call("list_sessions", `{}`)
	if n := len(a.items()); n != 1 || a.LeftOut == nil || a.LeftOut.Session != "s000001, s000002" {
		t.Errorf("%d sessions, left out %+v", n, a.LeftOut)
	}
}

// Each agent names its session in a variable of its own. An agent that another one started has the
// variables of both.
func TestSessionsThatVariablesName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const claude, codex = "cccccc01-0000-4000-8000-000000000000", "dddddd01-0000-7000-8000-000000000000"
	writeSessions(t, dir, 1)
	for name, text := range map[string]string{
		claude: `{"type":"user","sessionId":"` + claude + `","cwd":"/p","uuid":"u1","parentUuid":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"needle0"}}`,
		"rollout-2026-03-01T10-00-00-" + codex: `{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + codex + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p","cli_version":"0.92.0"}}` + "\n" +
			`{"timestamp":"2026-03-01T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"needle0"}]}}`,
	} {
		testkit.Check(t, os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text+"\n"), 0o644))
	}
	for _, test := range []struct {
		env  map[string]string
		left []string
	}{
		{nil, nil},
		{map[string]string{"PI_SESSION_ID": "s000000"}, []string{"s000000"}},
		{map[string]string{"CLAUDE_CODE_SESSION_ID": claude}, []string{claude}},
		{map[string]string{"CODEX_THREAD_ID": codex}, []string{codex}},
		{map[string]string{"CODEX_THREAD_ID": codex, "CLAUDE_CODE_SESSION_ID": claude}, []string{claude, codex}},
		{map[string]string{"CODEX_THREAD_ID": codex, "CLAUDE_CODE_SESSION_ID": claude, "PI_SESSION_ID": "s000000"}, []string{"s000000", claude, codex}},
		{map[string]string{"CODEX_THREAD_ID": "of-nobody", "CLAUDE_CODE_SESSION_ID": ""}, nil},
	} {
		a, _, _ := testApp(t)
		a.Getenv = func(name string) string { return test.env[name] }
		g := newAgent(t, dir, func(c *mcp.Config) { c.Current = asking.RunningIn(a) })
		answer, text, _ := g.call("search", `{"query":"needle0"}`)
		if n := len(answer.items()); n != 3-len(test.left) {
			t.Errorf("%v: %d sessions have it: %s", test.env, n, text)
		}
		left := ""
		if answer.LeftOut != nil {
			left = answer.LeftOut.Session
		}
		for _, id := range test.left {
			if !strings.Contains(left, id[:7]) {
				t.Errorf("%v: left out %q: %s", test.env, left, text)
			}
		}
	}
}

// The session in which the agent runs is left out, which is said, and comes back
// when it is asked for.
func TestTheAgentsOwnSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, filepath.Join(dir, "odd [name]*"), 2)
	for _, by := range []string{"id", "path"} {
		g := newAgent(t, dir, func(c *mcp.Config) { c.Current = []adapter.Running{{ID: "s000001"}} })
		if by == "path" {
			g = newAgent(t, dir, func(c *mcp.Config) {
				c.Current = []adapter.Running{{Path: filepath.Join(filepath.Dir(c.Name), "sessions", "odd [name]*", "s000001.jsonl")}}
			})
		}
		for _, tool := range []string{"search", "grep"} {
			what := map[string]string{"search": "query", "grep": "pattern"}[tool]
			a, text, _ := g.call(tool, fmt.Sprintf(`{%q:"needle1"}`, what))
			if n := len(a.items()); n != 0 || a.LeftOut == nil || a.LeftOut.Session != "s000001" || !strings.Contains(text, "includeCurrent") {
				t.Errorf("%s by %s: %d hits, left out %+v: %s", tool, by, n, a.LeftOut, text)
			}
			for _, arguments := range []string{`{%q:"needle1","includeCurrent":true}`, `{%q:"needle1","session":"s000001"}`} {
				if a, _, _ := g.call(tool, fmt.Sprintf(arguments, what)); len(a.items()) == 0 || a.LeftOut != nil {
					t.Errorf("%s %s: %d hits, left out %+v", tool, arguments, len(a.items()), a.LeftOut)
				}
			}
			if tool == "search" {
				const want = "zzzqqq occurs nowhere; needle1 has hits only with includeCurrent (1); no entry has both."
				if _, text, _ := g.call(tool, `{"query":"needle1 zzzqqq"}`); !strings.Contains(text, want) {
					t.Errorf("by %s, the text is %q, without %q", by, text, want)
				}
			}
			if a, _, _ := g.call(tool, fmt.Sprintf(`{%q:"needle0"}`, what)); len(a.items()) == 0 {
				t.Errorf("%s by %s: the other session is left out too", tool, by)
			}
		}
		if a, _, _ := g.call("list_sessions", `{}`); len(a.Sessions) != 1 {
			t.Errorf("by %s: %d sessions listed, want 1", by, len(a.Sessions))
		}
	}
}

// A client that is an agent itself, but does not name its session, is in the one of its
// directory that was written to last since the server was started.
func TestTheSessionThatTheClientWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, dir, 4) // in /p
	start := time.Now().Add(-time.Hour)
	for i, age := range []time.Duration{time.Minute, time.Second, time.Hour, 0} {
		at := start.Add(time.Hour / 2).Add(-age)
		if i == 3 {
			data, err := os.ReadFile(filepath.Join(dir, "s000003.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "s000003.jsonl"), bytes.Replace(data, []byte(`"cwd":"/p"`), []byte(`"cwd":"/p/below"`), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(filepath.Join(dir, fmt.Sprintf("s%06d.jsonl", i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name    string
		client  string
		change  func(*mcp.Config)
		leftOut string
	}{
		{"an agent", "pi", func(*mcp.Config) {}, "s000001"},
		{"below", "pi", func(c *mcp.Config) { c.Dir = "/p/below/" }, "s000003"},
		{"elsewhere", "pi", func(c *mcp.Config) { c.Dir = "/" }, ""},
		{"nothing written yet", "pi", func(c *mcp.Config) { c.Started = start.Add(time.Hour) }, ""},
		{"another client", "other", func(*mcp.Config) {}, ""},
		{"named", "other", func(c *mcp.Config) { c.Current = []adapter.Running{{ID: "s000002"}} }, "s000002"},
	} {
		g := newAgentNamed(t, test.client, dir, func(c *mcp.Config) {
			c.Dir, c.Started = "/p", start
			for i := range 4 { // copies are new files
				name := fmt.Sprintf("s%06d.jsonl", i)
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(filepath.Join(filepath.Dir(c.Name), "sessions", name), info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
			test.change(c)
		})
		a, _, _ := g.call("list_sessions", `{}`)
		left := ""
		if a.LeftOut != nil {
			left = a.LeftOut.Session
		}
		if want := 4 - min(1, len(test.leftOut)); left != test.leftOut || len(a.Sessions) != want {
			t.Errorf("%s: %d sessions without %q, want %d without %q", test.name, len(a.Sessions), left, want, test.leftOut)
		}
	}
}

// pi names the session by its id, by its file, by both or not at all; the file may
// be named through a link.
func TestCurrentSessionFromTheEnvironment(t *testing.T) {
	t.Parallel()
	a, _, _ := testApp(t)
	file, link := filepath.Join(a.Home, "real.jsonl"), filepath.Join(a.Home, "link.jsonl")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Symlink(t, file, link)
	file, err := filepath.EvalSymlinks(file) // the home may be one too
	if err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(a.Home, "gone.jsonl")
	for _, test := range []struct {
		id, path string
		want     adapter.Running
	}{
		{"", "", adapter.Running{}},
		{"s1", "", adapter.Running{ID: "s1"}},
		{"", file, adapter.Running{Path: file}},
		{"", link, adapter.Running{Path: file}},
		{"s1", link, adapter.Running{ID: "s1", Path: file}},
		{"", gone, adapter.Running{Path: gone}}, // not written yet
	} {
		a.Getenv = func(name string) string {
			return map[string]string{"PI_SESSION_ID": test.id, "PI_SESSION_FILE": test.path}[name]
		}
		var got adapter.Running
		if list := asking.RunningIn(a); len(list) > 0 {
			got = list[0]
		}
		if got != test.want {
			t.Errorf("with %q and %q: %+v, want %+v", test.id, test.path, got, test.want)
		}
	}
}

// On a terminal a person reads the answer: nothing is left out, whichever agent started the shell.
func TestAPersonSeesAllSessions(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		a, out, errs := testApp(t)
		getenv := a.Getenv
		a.Getenv = func(name string) string {
			if name == "PI_SESSION_ID" {
				return "s000001"
			}
			return getenv(name)
		}
		a.Streams.OutTTY = terminal
		dir := filepath.Join(a.Home, "sessions")
		writeSessions(t, dir, 2)
		code := Run(t.Context(), a, []string{"search", "needle1", "--session-dir", dir, "--color", "never"})
		if found := strings.Contains(out.String(), "needle1"); found != terminal || (code == 0) != terminal || strings.Contains(errs.String(), "left out") == terminal {
			t.Errorf("on a terminal %v: exit code %d: %s%s", terminal, code, out, errs)
		}
	}
}
