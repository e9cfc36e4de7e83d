package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/ui/cli/app"
	"pigrep/ui/mcp"
)

// writeClaude writes a session of Claude Code, and odd files beside it: of zero bytes, with a
// torn end, without a first line that says what it is, and one with a long name.
func writeClaude(t *testing.T, dir string) {
	t.Helper()
	line := func(id, text string) string {
		return `{"type":"user","uuid":"` + id + `","parentUuid":null,"sessionId":"8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a00` + id + `","cwd":"/home/u/kitchen","timestamp":"2026-03-02T10:00:00.000Z","isSidechain":false,"message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	for name, text := range map[string]string{
		"8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0001": line("01", "the needle0 of an oven"),
		"empty":                                "",
		"torn":                                 line("02", "torn") + `{"type":"user","uuid":"u3","mess`,
		"none":                                 "nothing\n{}\n",
		strings.Repeat("n", 240) + "\x1b[1m":   line("04", "long"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Agents are told whose sessions these are if there are several, and can ask for some.
func TestSessionsOfSeveralAgentsOverMCP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, dir, 1)
	const badge = " · claude · "
	alone := newAgent(t, dir)
	if _, text, _ := alone.call("search", `{"query":"needle0"}`); strings.Contains(text, " · pi · ") || !strings.Contains(text, "needle0") {
		t.Errorf("of pi alone: %s", text)
	}
	writeClaude(t, dir)
	g := newAgent(t, dir)
	only := newAgent(t, dir, func(c *mcp.Config) { c.Only = []string{"claude"} })
	for _, test := range []struct {
		of         *agent
		tool, args string
		pi, claude bool
	}{
		{g, "search", `{"query":"needle0"}`, true, true},
		{g, "search", `{"query":"needle0","agent":"pi"}`, true, false},
		{g, "search", `{"query":"needle0 agent:claude"}`, false, true},
		{g, "list_sessions", `{}`, true, true},
		{g, "list_sessions", `{"agent":["claude"]}`, false, true},
		{g, "read_session", `{"session":"8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0001"}`, false, true},
		{only, "search", `{"query":"needle0"}`, false, true},
		{only, "search", `{"query":"needle0","agent":"pi"}`, true, false},
		{only, "search", `{"query":"needle0 agent:pi"}`, true, false},
		{only, "grep", `{"pattern":"needle0"}`, false, true},
	} {
		_, text, _ := test.of.call(test.tool, test.args)
		pi, claude := strings.Contains(text, " · pi · "), strings.Contains(text, badge)
		if test.tool == "grep" {
			pi, claude = strings.Contains(text, "s000000"), strings.Contains(text, "of an oven")
		}
		if pi != test.pi || claude != test.claude {
			t.Errorf("%s %s: pi %t, want %t; Claude Code %t, want %t: %s", test.tool, test.args, pi, test.pi, claude, test.claude, text)
		}
	}
}

// Pages offer the agents if there are several.
func TestSessionsOfSeveralAgentsOnPages(t *testing.T) {
	t.Parallel()
	const offer, chosen = `<select name="agent">`, "<option selected>claude</option>"
	_, alone, _ := running(t, nil)
	waitFor(t, func() bool { _, body := alone("/sessions"); return strings.Contains(body, "Seedling census") })
	if _, body := alone("/sessions"); strings.Contains(body, offer) {
		t.Errorf("of pi alone, the page offers agents: %s", body)
	}
	_, get, _ := running(t, func(a *app.App) { writeClaude(t, filepath.Join(a.Home, "sessions")) })
	waitFor(t, func() bool {
		_, body := get("/sessions")
		return strings.Contains(body, "Seedling census") && strings.Contains(body, "the needle0 of an oven")
	})
	for _, test := range []struct {
		path       string
		want, lack string
	}{
		{"/sessions", offer, chosen},
		{"/sessions", `<span class="fact">claude</span>`, chosen},
		{"/sessions?agent=claude", chosen, "Seedling census"},
		{"/sessions?agent=claude", "the needle0 of an oven", "Seedling census"},
		{"/sessions?agent=pi", "Seedling census", "the needle0 of an oven"},
		{"/usage?agent=claude", offer, "Seedling census"},
		{"/?q=oven+census", "agent%3Aclaude", ""},
		{"/?q=agent:claude", "<span>claude</span>", "Seedling census"},
	} {
		if _, body := get(test.path); !strings.Contains(body, test.want) || test.lack != "" && strings.Contains(body, test.lack) {
			t.Errorf("%s: want %q, not %q: %s", test.path, test.want, test.lack, body)
		}
	}
}

// Pages are about the agents of the setting until the address names others, or any.
func TestPagesOfSomeAgents(t *testing.T) {
	t.Parallel()
	_, get, _ := running(t, func(a *app.App) {
		writeClaude(t, filepath.Join(a.Home, "sessions"))
		a.ConfigDir = a.Home
		config := filepath.Join(a.Home, "pigrep")
		if err := errors.Join(os.MkdirAll(config, 0o755), os.WriteFile(filepath.Join(config, "config.toml"), []byte(`agents = ["claude"]`), 0o644)); err != nil {
			t.Fatal(err)
		}
	})
	const claude, pi = "the needle0 of an oven", "Seedling census"
	waitFor(t, func() bool {
		_, body := get("/sessions?agent=")
		return strings.Contains(body, claude) && strings.Contains(body, pi)
	})
	for path, want := range map[string][2]bool{ // whether it lists the sessions of claude and of pi
		"/sessions":               {true, false},
		"/sessions?part=list":     {true, false},
		"/sessions?agent=pi":      {false, true},
		"/sessions?agent=":        {true, true},
		"/sessions?q=census+oven": {true, false},
		"/":                       {true, false},
		"/?part=answer":           {true, false},
		"/?q=":                    {true, true},
		"/?q=agent:pi+census":     {false, true},
		"/usage":                  {false, false},
		"/audit":                  {false, false},
		"/usage?agent=":           {false, true},
		"/usage?agent=pi":         {false, true},
	} {
		_, body := get(path)
		if got := [2]bool{strings.Contains(body, claude), strings.Contains(body, pi)}; got != want {
			t.Errorf("%s: claude and pi %v, want %v", path, got, want)
		}
	}
}
