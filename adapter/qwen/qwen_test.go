package qwen

import (
	"fmt"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

const (
	id   = "f3513ee9-fbf8-427b-8d50-833c278365fc"
	file = "/h/.qwen/projects/-w/chats/" + id + ".jsonl"
)

var lines int

func line(typ, members string) string {
	lines++
	return fmt.Sprintf(`{"uuid":"00000000-0000-4000-8000-%012d","parentUuid":null,"sessionId":%q,"timestamp":"2026-11-27T20:17:14.472Z","type":%q,"cwd":"/w",%s}`+"\n", lines, id, typ, members)
}

func said(text string) string { return `"message":{"role":"user","parts":[{"text":"` + text + `"}]}` }

func read(t *testing.T, text string) adapters.Read {
	t.Helper()
	state := adapter.State{Path: file, Facts: true}
	adapters.Halves(t, New(), state, []byte(text))
	return adapters.Parse(t, New(), state, []byte(text))
}

// What a person or the model says is conversation, and what Qwen Code notes for itself is a step.
func TestSteps(t *testing.T) {
	for text, want := range map[string]session.Step{
		line("user", said("hi")): session.Talk,
		line("user", `"subtype":"mid_turn_user_message",`+said("hi")):                                                        session.Talk,
		line("user", `"subtype":"notification",`+said("ended")):                                                              session.Talk,
		line("user", said("<system-reminder>be brief</system-reminder>")):                                                    session.StepReminder,
		line("system", `"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response"}}`):       session.StepEmpty,
		line("system", `"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"x.api_error","error":"429"}}`):    session.Talk,
		line("system", `"subtype":"slash_command","systemPayload":{"phase":"invocation","rawCommand":"/help"}`):              session.Talk,
		line("system", `"subtype":"at_command","systemPayload":{"filesRead":["a.go"]}`):                                      session.StepAttachment,
		line("system", `"subtype":"custom_title","systemPayload":{"customTitle":"auth"}`):                                    session.Talk,
		line("system", `"subtype":"attribution_snapshot","systemPayload":{"snapshot":{"surface":"cli"}}`):                    session.StepEmpty,
		line("system", `"subtype":"in_a_later_version","systemPayload":{"text":"x"}`):                                        session.StepRecord,
		line("system", `"subtype":"chat_compression","systemPayload":{"compressedHistory":[{"parts":[{"text":"so far"}]}]}`): session.Talk,
	} {
		if r := read(t, text); len(r.Entries) != 1 || r.Entries[0].Step != want {
			t.Errorf("step %d, want %d, of %s", r.Entries[0].Step, want, text)
		}
	}
}

// What the adapter does not know is searchable, and noted by name; broken and torn lines hide nothing else.
func TestStrange(t *testing.T) {
	r := read(t, line("user", said("hi"))+line("future", `"text":"a quokka"`)+"{\"type\":\n"+
		line("assistant", `"message":{"role":"model","parts":[{"futurePart":{"text":"a wombat"}},{"text":"done"}]}`)+
		line("system", `"subtype":"future_subtype","systemPayload":{"text":"a numbat"}`)+`{"uuid":"torn`)
	var names []string
	all := ""
	for _, e := range r.Entries {
		names = append(names, e.Strange...)
		for _, part := range e.Parts {
			all += string(part.Kind) + ": " + string(part.Text) + "\n"
		}
	}
	if got := strings.Join(names, ", "); got != "line future, part futurePart, system line future_subtype" {
		t.Errorf("names %q", got)
	}
	for _, text := range []string{"other: a quokka", "other: a wombat", "data: a numbat", "reply: done"} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is not searchable:\n%s", text, all)
		}
	}
	if len(r.Problems) != 2 || r.Problems[0].Torn || !r.Problems[1].Torn || r.End.Header.ID != id {
		t.Errorf("problems %v, header %+v", r.Problems, r.End.Header)
	}
}

// A fork repeats the lines of its origin, and a rewound prompt hangs where it goes on.
func TestForks(t *testing.T) {
	r := read(t, line("user", `"forkedFrom":{"sessionId":"67da9ed0-062b-44dd-a25a-b4d0aac92757","messageUuid":"u"},`+said("hi")))
	if h := r.End.Header; h.Relation != session.Copied || h.ParentSession != "67da9ed0-062b-44dd-a25a-b4d0aac92757" {
		t.Errorf("header %+v", h)
	}
}

// A command failed if its output says so, and did not if the person did not let it run.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		response, made   string
		failed, rejected bool
		exit             int32
	}{
		{`"output":"Command: x\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 3\nSignal: (none)"`, `"status":"success"`, true, false, 3},
		{`"output":"Command: x\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: (none)"`, `"status":"success"`, false, false, 0},
		{`"error":"[Operation Cancelled] Reason: User did not allow tool call"`, `"status":"cancelled"`, false, true, session.Unknown},
		{`"error":"declined"`, `"status":"error","errorType":"execution_denied"`, false, true, session.Unknown},
		{`"error":"File not found"`, `"status":"error","errorType":"file_not_found"`, true, false, session.Unknown},
	} {
		text := line("tool_result", `"message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"x","response":{`+tt.response+`}}}]},"toolCallResult":{"callId":"c",`+tt.made+`}`)
		f := read(t, text).Entries[0].Facts
		if f == nil || f.Failed != tt.failed || f.Rejected != tt.rejected || f.Exit != tt.exit {
			t.Errorf("%+v of %s", f, text)
		}
	}
}

// Claude Code's lines look much like these, and none is taken for the other's.
func TestNearMisses(t *testing.T) {
	theirs := `{"uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-11-27T20:17:14.472Z","type":"user","isSidechain":false,"message":{"role":"user","content":"hi"}}` + "\n"
	for text, want := range map[string][2]adapter.Sort{
		line("user", said("hi")):                                {adapter.Transcript, adapter.Foreign},
		line("system", `"subtype":"rewind","systemPayload":{}`): {adapter.Transcript, adapter.Foreign},
		theirs: {adapter.Foreign, adapter.Transcript},
		`{"sessionId":"s","timestamp":1,"models":{}}` + "\n": {adapter.Foreign, adapter.Foreign},
	} {
		if got := [2]adapter.Sort{New().Recognize([]byte(text)), claude.New().Recognize([]byte(text))}; got != want {
			t.Errorf("%v, want %v, of %s", got, want, text)
		}
	}
}

// What the program would not find is refused, with the reason.
func TestRefusals(t *testing.T) {
	env := adapter.Environment{Home: "/h", Getenv: func(string) string { return "" }}
	for path, want := range map[string]string{
		file: "",
		"/h/.qwen/projects/-w/chats/archive/" + id + ".jsonl": "it is archived",
		"/h/.qwen/projects/-x/chats/" + id + ".jsonl":         "Qwen Code looks for it in /h/.qwen/projects/-w/chats",
		"/h/.qwen/projects/-w/chats/x.jsonl":                  "its file is not named after the id of a session",
	} {
		s := session.Summary{Path: path, Header: session.Header{ID: id, Version: 2, CWD: "/w"}, Messages: 1}
		got := ""
		r, err := New().Resume(env, &adapter.ResumeRequest{Record: &session.Record{Summary: s}, Fork: true})
		if err != nil {
			got = err.(*adapter.Obstacle).Reason
		} else if argv := strings.Join(r.Argv, " "); argv != "qwen --resume "+id+" --fork-session" {
			t.Errorf("%s: %s", path, argv)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
