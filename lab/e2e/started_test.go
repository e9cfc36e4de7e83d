package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
	"pigrep/query/sessions"
)

// treeStory writes a session of Claude Code that starts two subagents at once, which begin in
// the other order, and a third one without a call.
func treeStory(t *testing.T, home string) {
	t.Helper()
	line := func(id, parent string, second int, members string) string {
		if parent = `"` + parent + `"`; parent == `""` {
			parent = "null"
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/u/app","sessionId":"%s",%s,"uuid":"%s","timestamp":"2026-03-01T10:00:%02d.000Z"}`+"\n", parent, claudeID, members, id, second)
	}
	user := func(content string) string {
		return `"type":"user","message":{"role":"user","content":` + content + `}`
	}
	reply := func(message, block string) string {
		return `"type":"assistant","message":{"id":"` + message + `","role":"assistant","model":"claude-opus-4-5","content":[` + block + `],"usage":{"input_tokens":2,"output_tokens":3}}`
	}
	task := func(id, prompt string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"Task","input":{"description":"trees","prompt":"` + prompt + `"}}`
	}
	result := func(id, text string) string {
		return user(`[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + text + `"}]`)
	}
	appendTo(t, claudeFile(home), line("u1", "", 1, user(`"look at the garden"`))+
		line("a1", "u1", 3, reply("m1", task("c1", "Count the walnut trees.")))+line("a2", "a1", 4, reply("m1", task("c2", "Count the apple trees.")))+
		line("r1", "a1", 20, result("c1", "three"))+line("r2", "a2", 21, result("c2", "four"))+line("a3", "r2", 25, reply("m2", `{"type":"text","text":"Seven."}`)))
	sub := func(name string, second int, prompt string) {
		appendTo(t, filepath.Join(strings.TrimSuffix(claudeFile(home), ".jsonl"), "subagents", "agent-"+name+".jsonl"),
			strings.ReplaceAll(line(name+"1", "", second, user(`"`+prompt+`"`))+line(name+"2", name+"1", second+1, reply("m"+name, `{"type":"text","text":"Some."}`)), `"isSidechain":false`, `"isSidechain":true,"agentId":"`+name+`"`))
	}
	sub("apple", 6, "Count the apple trees.")
	sub("walnut", 7, "Count the walnut trees.")
	sub("early", 0, "Warm up.")
	const gone = "9f9e9d9c-89ab-cdef-0123-456789abcdef"
	appendTo(t, filepath.Join(filepath.Dir(claudeFile(home)), gone, "subagents", "agent-orphan.jsonl"), strings.ReplaceAll(line("o1", "", 9, user(`"Nobody asked the orphan."`)), claudeID, gone))
}

// A subagent stands at the call that started it, whatever shows the conversation, with the
// command that reads it; one whose parent is gone is listed as a session.
func TestSubagentsStandAtTheirCalls(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	treeStory(t, home)
	run := program(t, home, nil, pi.New(), claude.New())
	checkOutputs(t, run, []output{
		{[]string{"sessions", "--format", "{id} {title}"}, []string{"look at the garden", "agent-or Nobody asked"}, []string{"agent-ap", "agent-ea"}},
		{[]string{"sessions", "--subagents", "--color", "always"}, []string{"subagent · Count the apple trees.", "3 subagents · look at the garden"}, nil},
		{[]string{"show", "0a1b2c3d"}, []string{"Count the walnut trees. · pigrep show agent-wa\n    three", "Count the apple trees. · pigrep show agent-ap\n    four"}, []string{"pigrep show agent-ea"}},
		{[]string{"show", "0a1b2c3d", "--json"}, []string{`"subagents":["agent-wa"]`, `"subagents":["agent-ap"]`}, []string{`"subagents":["agent-ea"]`}},
		{[]string{"export", "0a1b2c3d", "--format", "md"}, []string{"- subagent Count the walnut trees.: `pigrep show agent-wa`"}, nil},
		{[]string{"export", "0a1b2c3d", "--format", "html"}, []string{"Subagent Count the walnut trees. <code>pigrep show agent-wa</code>"}, nil},
		{[]string{"search", "Some", "--color", "always"}, []string{"subagent of 0a1b2c3d"}, nil},
		{[]string{"show", "agent-apple"}, []string{"subagent of 0a1b2c3d"}, []string{"pigrep show"}},
	})
}

// A value of a field counts the sessions that a list of its sessions has.
func TestFacetsCountSessions(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), claude.New())
	treeStory(t, h.dir)
	list, err := sessions.Facets(h.checked(t).Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []sessions.Facet{{Field: "project", Value: "app", Count: 2, Unit: "session"}, {Field: "model", Value: "claude-opus-4-5", Count: 1, Unit: "session"}} {
		if !slices.Contains(list, want) {
			t.Errorf("facets %v lack %v", list, want)
		}
	}
}

// What moving a conversation to the background copies into another file, with the ids of its
// entries and the id of another session, is found and counted once.
func TestCopiesOfABackgroundedSession(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	story := strings.Join(claudeStory(), "\n") + "\n"
	appendTo(t, claudeFile(home), story)
	run := program(t, home, nil, pi.New(), claude.New())
	usage := func() string {
		total, _, _ := strings.Cut(run("usage", "--format", "{tokens} {cost}"), "\n")
		return total
	}
	before := usage()
	const other = "1b2c3d4e-89ab-cdef-0123-456789abcdef"
	appendTo(t, filepath.Join(filepath.Dir(claudeFile(home)), other+".jsonl"), strings.ReplaceAll(story, claudeID, other)+
		fmt.Sprintf(`{"parentUuid":"s2","isSidechain":false,"cwd":"/home/u/app","sessionId":"%s","type":"user","message":{"role":"user","content":"on with the mongoose"},"uuid":"z1","timestamp":"2026-03-01T11:00:00.000Z"}`+"\n", other))
	checkOutputs(t, run, []output{
		{[]string{"sessions", "--format", "{id}"}, []string{"0a1b2c3d", "1b2c3d4e"}, nil},
		{[]string{"search", "badger", "--jsonl", "--flat"}, []string{`"total":1`, `"copies":[`}, nil},
		{[]string{"search", "mongoose", "--jsonl", "--flat"}, []string{`"total":1`, other}, nil},
		{[]string{"show", "1b2c3d4e"}, []string{"on with the mongoose"}, nil},
	})
	if after := usage(); after != before {
		t.Errorf("usage %s, want %s as without the copies", after, before)
	}
}
