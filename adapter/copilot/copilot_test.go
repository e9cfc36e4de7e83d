package copilot

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

const (
	id   = "8b41f7a4-314e-45a0-904a-a06206f4ab87"
	file = "/h/.copilot/session-state/" + id + "/events.jsonl"
)

var lines int

// event returns a line of a session.
func line(typ, data string) string {
	lines++
	return fmt.Sprintf(`{"type":%q,"data":{%s},"id":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-27T20:17:14.472Z","parentId":null}`+"\n", typ, data, lines)
}

func read(t *testing.T, text string) adapters.Read {
	t.Helper()
	state := adapter.State{Path: file, Facts: true}
	adapters.Halves(t, New(), state, []byte(text))
	return adapters.Parse(t, New(), state, []byte(text))
}

// What a person or the model says is conversation, and what Copilot notes for itself is a step.
func TestSteps(t *testing.T) {
	for text, want := range map[string]session.Step{
		line("user.message", `"content":"hi"`):                                                           session.Talk,
		line("user.message", `"content":"look","source":"agent-x"`):                                      session.Talk,
		line("assistant.message", `"content":"done","toolRequests":[]`):                                  session.Talk,
		line("assistant.message", `"content":"","toolRequests":[]`):                                      session.StepEmpty,
		line("assistant.turn_start", `"turnId":"0"`):                                                     session.StepEmpty,
		line("system.message", `"role":"system","content":"be brief"`):                                   session.StepReminder,
		line("session.start", `"copilotVersion":"1.0.102"`):                                              session.StepSetting,
		line("subagent.started", `"agentDescription":"find it"`):                                         session.StepSubagent,
		line("session.error", `"message":"400"`):                                                         session.Talk,
		line("permission.completed", `"result":{"kind":"approved"}`):                                     session.StepEmpty,
		line("permission.completed", `"result":{"kind":"denied-interactively-by-user","feedback":"no"}`): session.Talk,
		line("model.message", `"message":{"content":"a copy"}`):                                          session.StepEmpty,
		line("session.in_a_later_version", `"text":"x"`):                                                 session.StepRecord,
	} {
		if r := read(t, text); len(r.Entries) != 1 || r.Entries[0].Step != want {
			t.Errorf("step %d, want %d, of %s", r.Entries[0].Step, want, text)
		}
	}
}

// What the adapter does not know is searchable, and noted by name; broken, torn and foreign lines hide nothing else.
func TestStrange(t *testing.T) {
	r := read(t, line("session.start", `"sessionId":"`+id+`","context":{"cwd":"/w"}`)+line("future.event", `"text":"a quokka"`)+
		"{\"type\":\n"+`{"type":"user","uuid":"u","message":{"role":"user","parts":[{"text":"foreign wombat"}]}}`+"\n"+
		line("user.message", `"content":"hi","futureMember":"a numbat"`)+line("tool.execution_complete", `"toolCallId":"c","success":true,"result":{"content":"bilby"}`)+
		`{"type":"user.message","data":{"content":"torn`)
	var names []string
	all := ""
	for _, e := range r.Entries {
		names = append(names, e.Strange...)
		for _, part := range e.Parts {
			all += string(part.Kind) + ": " + string(part.Text) + "\n"
		}
	}
	if got := strings.Join(names, ", "); got != "event future.event, event user" {
		t.Errorf("names %q", got)
	}
	for _, text := range []string{"other: a quokka", "foreign wombat", "other: a numbat", "result: bilby"} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not searchable:\n%s", text, all)
		}
	}
	if len(r.Problems) != 2 || r.Problems[0].Torn || !r.Problems[1].Torn || r.End.Header.ID != id || r.End.Header.CWD != "/w" {
		t.Errorf("problems %v, header %+v", r.Problems, r.End.Header)
	}
}

// Totals of a run are added in old versions; in later ones they are sums since the session began, and begin anew if they
// are less. They do not count where each request is recorded. What replies say of themselves counts once.
func TestUsage(t *testing.T) {
	shutdown := func(more string, input, output int) string {
		return line("session.shutdown", fmt.Sprintf(`%s"modelMetrics":{"m":{"usage":{"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":10,"cacheWriteTokens":0}}}`, more, input, output))
	}
	const sum = `"totalNanoAiu":0,`
	reply := func(output int) string {
		return line("assistant.message", fmt.Sprintf(`"content":"x","toolRequests":[],"outputTokens":%d`, output))
	}
	model := line("session.model_change", `"newModel":"m"`)
	request := line("session.usage_record", `"usage":{"model":"m","inputTokens":100,"outputTokens":7,"cacheReadTokens":10,"cacheWriteTokens":0}`)
	for name, tt := range map[string]struct {
		text          string
		input, output int64
	}{
		"runs":            {model + shutdown("", 100, 5) + shutdown("", 200, 8), 300, 13},
		"sums":            {model + shutdown(sum, 100, 5) + shutdown(sum, 200, 8), 200, 8},
		"sums anew":       {model + shutdown(sum, 100, 5) + shutdown(sum, 60, 8), 160, 13},
		"requests":        {model + request + request + shutdown(sum, 200, 14), 200, 14},
		"replies":         {model + reply(5) + reply(3), 0, 8},
		"replies and end": {model + reply(5) + reply(3) + shutdown("", 100, 8), 100, 8},
	} {
		var input, output int64
		for _, e := range read(t, tt.text).Entries {
			if f := e.Facts; f != nil && f.HasUsage {
				input, output = input+f.Usage.Input+f.Usage.CacheRead+f.Usage.CacheWrite, output+f.Usage.Output
			}
		}
		if input != tt.input || output != tt.output {
			t.Errorf("%s: %d tokens in, %d out; want %d, %d", name, input, output, tt.input, tt.output)
		}
	}
}

// A call stands once, whether a reply asked for it or not. A command failed if its output says so.
func TestCalls(t *testing.T) {
	start := line("tool.execution_start", `"toolCallId":"c","toolName":"bash","arguments":{"command":"ls"}`)
	asked := line("assistant.message", `"content":"","toolRequests":[{"toolCallId":"c","name":"bash","arguments":{"command":"ls"}}]`)
	for _, tt := range []struct {
		text             string
		failed, rejected bool
	}{
		{asked + start + line("tool.execution_complete", `"toolCallId":"c","success":true,"result":{"content":"x\n<exited with exit code 3>"}`), true, false},
		{start + line("tool.execution_complete", `"toolCallId":"c","success":true,"shellExecution":{"exitCode":0},"result":{"content":"x"}`), false, false},
		{asked + line("tool.execution_complete", `"toolCallId":"c","success":false,"error":{"code":"rejected","message":"no"}`), false, true},
		{asked + line("tool.execution_complete", `"toolCallId":"c","success":false,"error":{"code":"failure","message":"no"}`), true, false},
	} {
		calls := 0
		for _, e := range (read(t, tt.text)).Visible() {
			if f := e.Facts; f != nil {
				calls += len(f.Calls)
				if f.IsResult && (f.Failed != tt.failed || f.Rejected != tt.rejected) {
					t.Errorf("failed %t, rejected %t, of %s", f.Failed, f.Rejected, tt.text)
				}
			}
		}
		if calls != 1 {
			t.Errorf("%d calls in %s", calls, tt.text)
		}
	}
}

// A title file names the session of its directory.
func TestTitles(t *testing.T) {
	const path = "/h/.copilot/session-state/" + id + "/workspace.yaml"
	for text, want := range map[string]string{
		"id: x\nname: One: two\nsummary_count: 0\n":                           "One: two",
		"id: x\nname: \"a \\\"b\\\"\"\n":                                      `a "b"`,
		"id: x\nname: 'it''s'\n":                                              "it's",
		"id: x\nsummary: the summary\nname: the name\n":                       "the name",
		"id: x\nname: the name\nsummary: the summary\n":                       "the name",
		"id: x\nsummary: |-\n  first line\n  second line\nsummary_count: 0\n": "first line",
		"id: x\ncwd: /w\n":                                                    "",
		"":                                                                    "",
	} {
		about, name := titleOf(t, path, text)
		if name != want || want != "" && about != id {
			t.Errorf("%q of %q, want %q, in %q", name, about, want, text)
		}
	}
	if sort := New().Recognize([]byte("id: x\ncwd: /w\nsummary_count: 0\n")); sort != adapter.Notes {
		t.Errorf("a title file is %d", sort)
	}
}

// What the program would not find is refused, with the reason.
func TestRefusals(t *testing.T) {
	env := adapter.Environment{Home: "/h", Getenv: func(string) string { return "" }}
	for path, want := range map[string]string{
		file: "",
		"/elsewhere/session-state/" + id + "/events.jsonl": "Copilot looks for sessions in /h/.copilot/session-state",
		"/h/.copilot/session-state/" + id + ".jsonl":       "its file is not in a directory of Copilot that is named after its id",
	} {
		s := session.Summary{Path: path, Header: session.Header{ID: id, Version: 2, CWD: "/w"}, Messages: 1}
		got := ""
		r, err := New().Resume(env, &adapter.ResumeRequest{Record: &session.Record{Summary: s}})
		if err != nil {
			got = err.(*adapter.Obstacle).Reason
		} else if argv := strings.Join(r.Argv, " "); argv != "copilot --resume "+id {
			t.Errorf("%s: %s", path, argv)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
