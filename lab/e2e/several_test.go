package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
)

// twoAgents writes sessions of pi and of chat into a home directory, odd ones among them.
func twoAgents(t *testing.T, home string) {
	t.Helper()
	chats, sessions := filepath.Join(home, ".chat"), filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--")
	appendTo(t, filepath.Join(chats, "kitchen.jsonl"), chatHeader+chatPrompt+`{"at":2000,"who":"it","tokens":7,"says":"Count down once."}`+"\n")
	appendTo(t, filepath.Join(chats, "no-room.jsonl"), `{"at":3000,"who":"me","says":"getOvenTimer without a room"}`+"\n")
	appendTo(t, filepath.Join(chats, "torn.jsonl"), `{"room":"torn"}`+"\n"+chatPrompt+`{"at":4000,"who":"it","sa`)
	appendTo(t, filepath.Join(chats, "empty.jsonl"), "")
	appendTo(t, filepath.Join(chats, strings.Repeat("n", 240)+"\x1b[1m.jsonl"), `{"room":"`+strings.Repeat("r", 300)+`\u001b[31m"}`+"\n"+chatPrompt)
	appendTo(t, filepath.Join(sessions, "a.jsonl"), piHeader+piPrompt)
	appendTo(t, filepath.Join(sessions, "no-header.jsonl"), strings.ReplaceAll(piPrompt, "again", "without a header"))
	appendTo(t, filepath.Join(sessions, "empty.jsonl"), "")
}

// Of several agents, each answer names those whose sessions it lists, and can be narrowed to
// some of them.
func TestAnswersNameAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	run := program(t, home, nil, allAgents()...)
	const title, other = "Why does the getOvenTimer fail?", "the getOvenTimer again"
	checkOutputs(t, run, []output{
		{[]string{"sessions", "--jsonl"}, []string{`"agent":"chat"`, `"agent":"pi"`}, nil},
		{[]string{"sessions", "--agent", "chat"}, []string{title}, []string{other}},
		{[]string{"sessions", "--agent", "PI"}, []string{other}, []string{title}},
		{[]string{"sessions", "--agent", "pi,chat"}, []string{title, other}, nil},
		{[]string{"sessions", "--agent", "pi", "--agent", "chat"}, []string{title, other}, nil},
		{[]string{"sessions", "--format", "{agent} {title}"}, []string{"chat " + title, "pi " + other}, nil},
		{[]string{"getOvenTimer", "--jsonl", "agent:chat"}, []string{`"agent":"chat"`}, []string{`"agent":"pi"`}},
		{[]string{"search", "--jsonl", "--", "getOvenTimer", "-agent:chat"}, []string{`"agent":"pi"`}, []string{`"agent":"chat"`}},
		{[]string{"getOvenTimer", "--flat", "--jsonl", "--agent", "pi"}, []string{`"agent":"pi"`}, []string{`"agent":"chat"`}},
		{[]string{"getOvenTimer", "--color", "always"}, []string{"app · pi · ", "kitchen · chat · "}, nil},
		{[]string{"grep", "--json", "OvenTimer", "--agent", "chat"}, []string{`"agent":"chat"`}, []string{`"agent":"pi"`}},
		{[]string{"grep", "--json", "OvenTimer", "--agent", "chat", "--no-index"}, []string{`"agent":"chat"`}, []string{`"agent":"pi"`}},
		{[]string{"grep", "--heading", "--color", "always", "OvenTimer"}, []string{other + " · pi · ", title + " · chat · "}, nil},
		{[]string{"show", "kitchen", "--color", "always"}, []string{"kitchen · Chat · "}, nil},
		{[]string{"show", "kitchen", "--json"}, []string{`"agent":"chat"`}, nil},
		{[]string{"usage", "--json", "--agent", "pi"}, nil, []string{`"tokens":7`}},
		{[]string{"sessions", "--agent", "chta"}, []string{"no sessions of an agent chta; the agents are chat, pi"}, []string{title}},
		{[]string{"timer", "agent:chta"}, []string{"no sessions of an agent chta; the agents are chat, pi"}, []string{title}},
		{[]string{"__complete", "sessions", "--agent", ""}, []string{"pi\n", "chat\n"}, nil},
		{[]string{"__complete", "sessions", "--agent", "pi,"}, []string{"pi,chat\n"}, []string{"pi,pi"}},
	})
}

// output says what a run of the program prints, and what it does not.
type output struct {
	args       []string
	want, lack []string
}

func checkOutputs(t *testing.T, run func(args ...string) string, tests []output) {
	t.Helper()
	for _, test := range tests {
		got := run(test.args...)
		for _, want := range test.want {
			if !strings.Contains(plainText(got), want) {
				t.Errorf("pigrep %s lacks %q:\n%s", strings.Join(test.args, " "), want, got)
			}
		}
		for _, lack := range test.lack {
			if strings.Contains(got, lack) {
				t.Errorf("pigrep %s has %q:\n%s", strings.Join(test.args, " "), lack, got)
			}
		}
	}
}

// plainText removes colours.
func plainText(s string) string {
	var b strings.Builder
	for i, piece := range strings.Split(s, "\x1b[") {
		if _, rest, ok := strings.Cut(piece, "m"); ok && i > 0 {
			piece = rest
		}
		b.WriteString(piece)
	}
	return b.String()
}

// The setting filters by default; the flag goes before it.
func TestAgentsSetting(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	file := filepath.Join(home, ".config", "pigrep", "config.toml")
	appendTo(t, file, `agents = ["chat"]`+"\n")
	run := program(t, home, nil, allAgents()...)
	if got := run("sessions", "--jsonl"); !strings.Contains(got, `"agent":"chat"`) || strings.Contains(got, `"agent":"pi"`) {
		t.Errorf("with the setting: %s", got)
	}
	if got := run("sessions", "--jsonl", "--agent", "pi"); !strings.Contains(got, `"agent":"pi"`) || strings.Contains(got, `"agent":"chat"`) {
		t.Errorf("with the flag: %s", got)
	}
	if got := run("show", "01a1f7de"); !strings.Contains(got, "the getOvenTimer again") {
		t.Errorf("a session that is named: %s", got)
	}
	appendTo(t, file, "\n[search]\n")
	bad := filepath.Join(home, "bad.toml")
	appendTo(t, bad, `agents = ["chat", "chta"]`+"\n")
	run = program(t, home, map[string]string{"PIGREP_CONFIG": bad}, allAgents()...)
	if got := run("sessions"); !strings.Contains(got, `agents: there is no "chta"`) || !strings.Contains(got, "one of pi, ") {
		t.Errorf("an agent that does not exist: %s", got)
	}
}

// One agent is not worth a word in a list.
func TestOneAgentIsNotNamed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	run := program(t, home, nil, pi.New())
	for _, args := range [][]string{{"sessions", "--color", "always"}, {"getOvenTimer", "--color", "always"}, {"grep", "--heading", "--color", "always", "Oven"}} {
		if got := plainText(run(args...)); strings.Contains(got, "AGENT") || strings.Contains(got, " pi ") || !strings.Contains(got, "getOvenTimer again") {
			t.Errorf("pigrep %s:\n%s", strings.Join(args, " "), got)
		}
	}
}

// Claude Code and pi are asked what each of them needs: their skills, and the sessions that
// the process runs in.
func TestHostsOfSeveralAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := map[string]string{"PI_SESSION_ID": "01a1f7de-0000", "CLAUDE_CODE_SESSION_ID": "8a9bbb2f-0000"}
	known := adapter.NewRegistry(adapter.Environment{
		Home: home, WorkDir: home, Getenv: func(name string) string { return env[name] }, ReadFile: os.ReadFile,
	}, pi.New(), claude.New())
	if list := known.Current(); len(list) != 2 || list[0].ID != env["PI_SESSION_ID"] || list[1].ID != env["CLAUDE_CODE_SESSION_ID"] {
		t.Errorf("sessions of this process: %+v", list)
	}

	run := program(t, home, nil, pi.New(), claude.New())
	skills := func() (found []string) {
		for _, dir := range []string{".pi/agent", ".claude"} {
			if _, err := os.Stat(filepath.Join(home, dir, "skills", "pigrep", "SKILL.md")); err == nil {
				found = append(found, dir)
			}
		}
		return found
	}
	if got := run("skill", "--install", "--agent", "clade", "--yes"); !strings.Contains(got, `unknown agent "clade"`) || !strings.Contains(got, "pi, claude") || len(skills()) > 0 {
		t.Errorf("an agent that does not exist: %s, skills in %v", got, skills())
	}
	if got := run("skill", "--install", "--agent", "claude", "--yes"); !strings.Contains(got, "Claude Code loads it") || len(skills()) != 1 || skills()[0] != ".claude" {
		t.Errorf("for Claude Code: %s, skills in %v", got, skills())
	}
	appendTo(t, filepath.Join(home, ".claude", "projects", "-home-u-app", "empty.jsonl"), "")
	if run("skill", "--install", "--yes"); len(skills()) != 1 {
		t.Errorf("only Claude Code keeps sessions here, but skills are in %v", skills())
	}
	twoAgents(t, home)
	if got := run("skill", "--install", "--yes"); len(skills()) != 2 || !strings.Contains(got, "up to date") || !strings.Contains(got, "pi loads it") {
		t.Errorf("both keep sessions here: %s, skills in %v", got, skills())
	}
}

// The first run says whose sessions it found, and the status lists them by agent.
func TestStatusByAgent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	twoAgents(t, home)
	run := program(t, home, nil, allAgents()...)
	const found = "pigrep: found pi 2 sessions, Chat 4\n"
	if first, second := run("sessions"), run("sessions"); !strings.Contains(first, found) || strings.Contains(second, "found") {
		t.Errorf("first run: %s\nsecond run: %s", first, second)
	}
	status := run("status", "--color", "always")
	for _, want := range []string{"pi         2 sessions (--agent pi)\n  root     ~/.pi/agent/sessions (default): 3 files\n", "Chat       4 sessions (--agent chat)\n  root     ~/.chat (default): 5 files\n"} {
		if !strings.Contains(plainText(status), want) {
			t.Errorf("the status lacks %q:\n%s", want, status)
		}
	}
	if got := run("status", "--json"); !strings.Contains(got, `"agents":[{"agent":"pi","label":"pi","sessions":2},{"agent":"chat","label":"Chat","sessions":4}]`) {
		t.Errorf("in JSON: %s", got)
	}

	alone := t.TempDir()
	twoAgents(t, alone)
	run = program(t, alone, nil, pi.New())
	if got := run("sessions") + run("status"); strings.Contains(got, "found") || strings.Contains(got, "--agent") {
		t.Errorf("with one agent: %s", got)
	}
}

// A subagent is resumed with the session that it works for, and not at all without that.
func TestResumeSubagentOfClaude(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const id, lost = "8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0001", "8a9bbb2f-7a4c-4f0e-9d7e-0b7d0e6a0002"
	project := filepath.Join(home, ".claude", "projects", regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(home, "-"))
	line := func(session, uuid, more string) string {
		return `{"type":"user","uuid":"` + uuid + `","parentUuid":null,"sessionId":"` + session + `","cwd":"` + home + `",` + more + `"timestamp":"2026-03-02T10:00:00.000Z","message":{"role":"user","content":"of ` + uuid + `"}}` + "\n"
	}
	appendTo(t, filepath.Join(project, id+".jsonl"), line(id, "main", `"isSidechain":false,`))
	child := filepath.Join(project, id, "subagents", "agent-a1.jsonl")
	appendTo(t, child, line(id, "child", `"isSidechain":true,"agentId":"a1",`))
	orphan := filepath.Join(project, lost, "subagents", "agent-a2.jsonl")
	appendTo(t, orphan, line(lost, "orphan", `"isSidechain":true,"agentId":"a2",`))
	appendTo(t, filepath.Join(project, "empty.jsonl"), "")

	run := program(t, home, nil, pi.New(), claude.New())
	if got := run("resume", child); !strings.Contains(got, "claude --resume "+id) || !strings.Contains(got, "it is a subagent") {
		t.Errorf("resume of a subagent: %s", got)
	}
	if got := run("resume", orphan); strings.Contains(got, "claude --resume") || !strings.Contains(got, "the session that it worked for is gone") {
		t.Errorf("resume of a subagent without its session: %s", got)
	}
}
