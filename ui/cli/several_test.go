package cli

import (
	"errors"
	"fmt"
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
		pi, claude := strings.Contains(text, "s000000"), strings.Contains(text, "of an oven")
		if asked := strings.Contains(test.args, `"agent"`) || test.tool == "grep"; asked == strings.Contains(text, badge) && claude || asked && strings.Contains(text, " · pi · ") {
			t.Errorf("%s %s: the agent is said if it was not asked for: %s", test.tool, test.args, text)
		}
		if pi != test.pi || claude != test.claude {
			t.Errorf("%s %s: pi %t, want %t; Claude Code %t, want %t: %s", test.tool, test.args, pi, test.pi, claude, test.claude, text)
		}
	}
}

// writeFamily writes a session of Claude Code with a subagent, and one of Codex that goes on in
// another file, whose path it returns.
func writeFamily(t *testing.T, dir string) (goesOn string) {
	t.Helper()
	const boss, first, second = "8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0011", "0199e4a5-5b78-78f2-b041-6b876f71fd01", "0199e4a5-5b78-78f2-b041-6b876f71fd02"
	claude := func(id, parent, second, rest string) string {
		return `{"uuid":"` + id + `","parentUuid":` + parent + `,"sessionId":"` + boss + `","cwd":"/home/u/garden","timestamp":"2026-03-02T10:00:` + second + `.000Z",` + rest + "}\n"
	}
	codex := func(id, base string, ordinal int, text string) string {
		line := func(n int, kind, payload string) string {
			return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:%02d.000Z","ordinal":%d,"type":"%s","payload":{%s}}`+"\n", n, n, kind, payload)
		}
		return line(ordinal, "session_meta", `"id":"`+id+`","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/u/orchard","originator":"codex_cli_rs","cli_version":"0.169.0","source":"cli","history_mode":"paginated"`+base) +
			line(ordinal+1, "response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"`+text+`"}]`)
	}
	goesOn = "rollout-2026-03-01T10-00-00-" + second + ".jsonl"
	for name, text := range map[string]string{
		boss + ".jsonl": claude("g1", "null", "01", `"type":"user","isSidechain":false,"message":{"role":"user","content":"look at the garden"}`) +
			claude("g2", `"g1"`, "02", `"type":"assistant","isSidechain":false,"message":{"id":"m1","role":"assistant","model":"claude-opus-4-5","content":[{"type":"tool_use","id":"c1","name":"Task","input":{"description":"d","prompt":"Count the walnut trees."}}]}`),
		boss + "/subagents/agent-walnuts.jsonl":           claude("h1", "null", "03", `"type":"user","isSidechain":true,"agentId":"walnuts","message":{"role":"user","content":"Count the walnut trees."}`),
		"rollout-2026-03-01T10-00-00-" + first + ".jsonl": codex(first, "", 0, "plant the cherry"),
		goesOn: codex(second, `,"forked_from_id":"`+first+`","history_base":{"thread_id":"`+first+`","end_ordinal_exclusive":2,"end_byte_offset":1}`, 2, "sell the cherry"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return goesOn
}

// Agents read at which call a subagent started, whose a subagent is, where a conversation goes on
// in another file, and that its beginning is gone.
func TestSessionsOfSeveralFilesOverMCP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeClaude(t, dir)
	goesOn := writeFamily(t, dir)
	g := newAgent(t, dir)
	has := func(tool, arguments string, want ...string) {
		t.Helper()
		_, text, _ := g.call(tool, arguments)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s %s lacks %q: %s", tool, arguments, w, text)
			}
		}
	}
	has("read_session", `{"session":"8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0011"}`, "Count the walnut trees.", "(subagent: read_session agent-wa")
	has("search", `{"query":"walnut"}`, "subagent of 8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0011")
	const fork = `{"session":"0199e4a5-5b78-78f2-b041-6b876f71fd02"}`
	has("read_session", fork, "plant the cherry", "(goes on in "+goesOn+")", "sell the cherry")
	if err := os.Remove(filepath.Join(g.dir, "rollout-2026-03-01T10-00-00-0199e4a5-5b78-78f2-b041-6b876f71fd01.jsonl")); err != nil {
		t.Fatal(err)
	}
	has("read_session", fork, "Begins in 0199e4a5-5b78-78f2-b041-6b876f71fd01, which is not indexed or deleted.", "sell the cherry")
}

// A hit in the first of two files of one session is one of that session, which is listed with the
// path of the last.
func TestHitsInSessionsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	const id, part = "0199e4a5-5b78-78f2-b041-6b876f71fd03", "0199e4a5-5b78-78f2-b041-6b876f71fd04"
	const other = "0199e4a5-5b78-78f2-b041-6b876f71fd05"
	write := func(dir string) {
		for name, of := range map[string]struct{ id, cwd, base, text string }{
			id:              {id, "plums", "", "graft the plum"},
			id + "_" + part: {id, "plums", `,"history_base":{"thread_id":"` + id + `","end_ordinal_exclusive":2,"end_byte_offset":1}`, "water it"},
			other:           {other, "quinces", "", "graft graft graft"},
		} {
			text := fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"id":"%s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/u/%s","originator":"codex_cli_rs","cli_version":"0.169.0","source":"cli","history_mode":"paginated"%s}}
{"timestamp":"2026-03-01T10:00:01.000Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}}
`, of.id, of.cwd, of.base, of.text)
			if err := os.WriteFile(filepath.Join(dir, "rollout-2026-03-01T10-00-00-"+name+".jsonl"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	write(dir)
	g := newAgent(t, dir)
	for _, limit := range []string{"1", "9"} { // of sessions: the last hit, and the first that is too many
		_, text, _ := g.call("search", `{"query":"graft","limit":`+limit+`}`)
		before, _, found := strings.Cut(text, "graft the plum")
		if heading := before[strings.LastIndex(before, "/home/u/"):]; found && !strings.HasPrefix(heading, "/home/u/plums") || !found && limit == "9" {
			t.Errorf("the hit is below %q in %s", heading, text)
		}
	}
	_, get, _ := running(t, func(a *app.App) { write(filepath.Join(a.Home, "sessions")) })
	waitFor(t, func() bool {
		_, body := get("/?q=graft")
		return strings.Contains(body, "<mark>graft</mark> the plum")
	})
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
	_, get, _ := running(t, func(a *app.App) {
		writeClaude(t, filepath.Join(a.Home, "sessions"))
		writeFamily(t, filepath.Join(a.Home, "sessions"))
	})
	waitFor(t, func() bool {
		_, body := get("/sessions")
		return strings.Contains(body, "Seedling census") && strings.Contains(body, "the needle0 of an oven") && !strings.Contains(body, "are indexed")
	})
	for _, test := range []struct {
		path       string
		want, lack string
	}{
		{"/sessions", offer, chosen},
		{"/sessions", `<td class="agent">claude</td>`, chosen},
		{"/sessions?agent=claude", chosen, "Seedling census"},
		{"/sessions?agent=claude", "the needle0 of an oven", "Seedling census"},
		{"/sessions?agent=pi", "Seedling census", "the needle0 of an oven"},
		{"/sessions", "1 subagent", "Count the walnut trees."},
		{"/sessions?subagents=1", "subagent of 8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0011", "no such text"},
		{"/?q=walnut", "subagent of 8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0011", "no such text"},
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
		return strings.Contains(body, claude) && strings.Contains(body, pi) && !strings.Contains(body, "are indexed")
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
