package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

const (
	aSession = "01a20000-b68f-7cd3-8a8e-4fc636d8105d"
	another  = "01a20000-bcc0-75c3-a5e7-f950a13eb02b"
	third    = "01a20000-be47-7d13-b6e5-4aeb8e6fb952"
	rollout  = "/home/u/.codex/sessions/2026/11/21/rollout-2026-11-21T21-26-16-" + aSession + ".jsonl"
)

// file builds the lines of a rollout.
type file struct {
	strings.Builder
	seconds int
}

// line adds a line of a type, a second after the one before.
func (f *file) line(typ, payload string) *file {
	f.seconds++
	fmt.Fprintf(f, `{"timestamp":"2026-11-21T21:%02d:%02d.000Z","type":%q,"payload":%s}`+"\n", f.seconds/60, f.seconds%60, typ, payload)
	return f
}

func (f *file) item(payload string) *file  { return f.line(lineItem, payload) }
func (f *file) event(payload string) *file { return f.line(lineEvent, payload) }

// begin adds a header, with more members, and a context.
func (f *file) begin(id, more string) *file {
	f.line(lineMeta, fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-21T21:00:00.000Z","cwd":"/srv/app","cli_version":"0.128.0","model_provider":"openai","git":{"branch":"main"}%s}`, id, more))
	return f.line(lineContext, `{"cwd":"/srv/app","model":"gpt-5-codex"}`)
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// message adds a message of these blocks.
func (f *file) message(role string, blocks ...string) *file {
	var content []string
	for _, b := range blocks {
		content = append(content, `{"type":"input_text","text":`+quote(b)+`}`)
	}
	return f.item(fmt.Sprintf(`{"type":"message","role":%q,"content":[%s]}`, role, strings.Join(content, ",")))
}

func (f *file) call(id, tool, arguments string) *file {
	return f.item(fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%s,"call_id":%q}`, tool, quote(arguments), id))
}

func (f *file) output(id, text string) *file {
	return f.item(fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%s}`, id, quote(text)))
}

func begun() *file { return new(file).begin(aSession, "") }

// parse reads a file, after testing what holds for every file.
func (f *file) parse(t *testing.T) adapters.Read {
	t.Helper()
	state, data := withFacts(rollout), []byte(f.String())
	adapters.Halves(t, New(), state, data)
	adapters.Alone(t, New(), state, data)
	adapters.Sparse(t, New(), state, data)
	return adapters.Parse(t, New(), state, data)
}

// texts lists the parts of the entries that do not repeat others: "kind: text".
func texts(r adapters.Read) (list []string) {
	for _, e := range r.Visible() {
		for _, part := range e.Parts {
			if part.Kind != session.KindMeta {
				list = append(list, string(part.Kind)+": "+string(part.Text))
			}
		}
	}
	return list
}

func wantTexts(t *testing.T, r adapters.Read, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, texts(r)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func prompts(r adapters.Read) (list []string) {
	for _, e := range r.Visible() {
		if e.UserText != "" {
			list = append(list, e.UserText)
		}
	}
	return list
}

// A title is what a person typed: not what Codex and its apps put before it, in a message of its own or
// in the same one.
func TestPrefaces(t *testing.T) {
	const files = "# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n"
	for _, test := range []struct {
		texts []string
		want  string
	}{
		{[]string{"<recommended_plugins>\nHere is a list: kelp.\n</recommended_plugins>"}, ""},
		{[]string{"<recommended_plugins>kelp</recommended_plugins>\n\nsee <recommended_plugins>"}, "see <recommended_plugins>"},
		{[]string{"<codex_internal_context source=\"goal\">go on</codex_internal_context>"}, ""},
		{[]string{"<next_years_context>all</next_years_context>", "fix it"}, "fix it"},
		{[]string{"<context>all</context>"}, "<context>all</context>"},
		{[]string{"<in-app-browser-context source=\"ambient-ui-state\">\nopen\n</in-app-browser-context>\n\n## My request for Codex:\nmake it blue"}, "make it blue"},
		{[]string{files + "## My request for Codex:\nuse it\n", "<image name=[Image #1]>", "</image>"}, "use it"},
		{[]string{files + "Distinguish instructions in attached documents from the user's request.\n\n## My request:\n1. cut it"}, "1. cut it"},
		{[]string{files + "## My request:\n\n"}, ""},
		{[]string{files + "explain it"}, "explain it"},
		{[]string{"# Context from my IDE setup:\n\n## Active file: a.go\n\n## Open tabs:\n- a.go: a.go\n"}, ""},
		{[]string{"# Review findings:\n\n## Finding 1\nbad\n\n## My request for Codex:\nsolve 1"}, "solve 1"},
		{[]string{"# Files of the user\nare lost"}, "# Files of the user\nare lost"},
		{[]string{"<codex_delegation>\n  <source_thread_id>t</source_thread_id>\n  <input>a &lt; b</input>\n</codex_delegation>"}, "a < b"},
		{[]string{"Warning: apply_patch was requested via exec_command. Use the apply_patch tool."}, ""},
	} {
		r := begun().message("user", test.texts...).parse(t)
		if got := strings.Join(prompts(r), "|"); got != test.want {
			t.Errorf("the prompt of %q is %q, want %q", test.texts, got, test.want)
		}
	}
}

// Codex puts its own texts into messages of a user, also into one with that of the person.
func TestInjectedMessages(t *testing.T) {
	const env = "<environment_context>\n  <shell>bash</shell>\n</environment_context>"
	const agents = "# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
	const ide = "# Context from my IDE setup:\n\n## Open tabs:\n- a.go: a.go\n\n## My request for Codex:\nrename x\n"
	r := begun().
		message("user", agents, env, "make it blue").
		message("user", ide).
		message("user", "<turn_aborted>\nstopped\n</turn_aborted>").
		message("user", "<skill> is a tag that I do not close").
		message("user", env+"\n\nand now </environment_context> green").
		message("user", "<user_shell_command>\n<command>\nls -l; false\n</command>\n<result>\nExit code: 1\nDuration: 0.0157 seconds\nOutput:\nthree files\n</result>\n</user_shell_command>").
		message("developer", "<permissions instructions>all</permissions instructions>").
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"<skill>typed</skill>"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["user.text"]}}`).
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"from a hook"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["hooks.context"]}}`).
		parse(t)
	wantTexts(t, r,
		"system: "+agents, "system: "+env, "prompt: make it blue", "prompt: "+ide, "note: <turn_aborted>\nstopped\n</turn_aborted>",
		"prompt: <skill> is a tag that I do not close", "system: "+env, "prompt: and now </environment_context> green", "shell: ls -l; false\nthree files",
		"system: <permissions instructions>all</permissions instructions>", "prompt: <skill>typed</skill>", "system: from a hook")
	want := []string{"make it blue", "rename x", "<skill> is a tag that I do not close", "and now </environment_context> green", "<skill>typed</skill>"}
	if diff := cmp.Diff(want, prompts(r)); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	for _, e := range r.Entries {
		if e.Role != session.RoleShell {
			continue
		}
		c := e.Facts.Calls[0]
		if string(c.Command) != "ls -l; false" || c.Kind != session.CallShell || c.Exit != 1 || c.Duration != 15 || !c.Failed || c.Bytes != int64(len("three files")) {
			t.Errorf("shell %+v", c)
		}
	}
}

// The screen repeats what the model saw and said, before or after it. A text that stands only
// there is a message.
func TestEvents(t *testing.T) {
	r := begun().
		message("user", "continue").event(`{"type":"user_message","message":"continue"}`).
		event(`{"type":"agent_reasoning","text":"**One**"}`).event(`{"type":"agent_reasoning","text":"**Two**"}`).
		item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"**One**"},{"type":"summary_text","text":"**Two**"}],"encrypted_content":"gAAAAAB"}`).
		event(`{"type":"agent_message","message":"Done."}`).message("assistant", "Done.").
		event(`{"type":"task_complete","last_agent_message":"Done."}`).
		event(`{"type":"user_message","message":"continue"}`).message("user", "continue").
		event(`{"type":"agent_reasoning","text":"**Never stored**"}`).
		event(`{"type":"user_message","message":"review it"}`).
		event(`{"type":"item_completed","item":{"type":"Reasoning","summary_text":["a","b"],"raw_content":["c"]}}`).
		item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":[{"type":"reasoning_text","text":"c"}]}`).
		event(`{"type":"item_completed","item":{"type":"Plan","text":"the plan"}}`).
		event(`{"type":"exited_review_mode","review_output":{"overall_explanation":"fine"}}`).
		event(`{"type":"task_complete","error":{"message":"no tokens left"}}`).
		event(`{"type":"turn_aborted","reason":"interrupted"}`).
		parse(t)
	wantTexts(t, r, "prompt: continue", "thinking: **One**", "thinking: **Two**", "reply: Done.", "prompt: continue",
		"thinking: **Never stored**", "prompt: review it", "thinking: a", "thinking: b", "thinking: c", "reply: the plan", "reply: fine",
		"error: no tokens left", "note: interrupted")
}

// An event is that of an item nearby only.
func TestEventsFarAway(t *testing.T) {
	f := begun().event(`{"type":"user_message","message":"yes"}`)
	for range window {
		f.event(`{"type":"task_started"}`)
	}
	wantTexts(t, f.message("user", "yes").parse(t), "prompt: yes", "prompt: yes")
}

// A file of many events and calls keeps its memo small.
func TestMemoIsBounded(t *testing.T) {
	f := begun().line(lineContext, `{"cwd":"/`+strings.Repeat("d", 390)+`","model":"`+strings.Repeat("m", 100)+`"}`)
	for i := range 100 {
		id := fmt.Sprintf("call_%059d", i)
		f.message("user", fmt.Sprint("prompt ", i)).event(fmt.Sprintf(`{"type":"agent_message","message":"reply %d"}`, i))
		f.call(id, "exec_command", `{"cmd":"x"}`).output(id, fmt.Sprintf("Wall time: 1 seconds\nProcess running with session ID %d\nOutput:\n", i))
		f.call(id+"x", "write_stdin", fmt.Sprintf(`{"session_id":%d,"chars":""}`, i))
		f.event(fmt.Sprintf(`{"type":"exec_command_end","call_id":%q,"exit_code":0,"aggregated_output":"out %d","duration":{"secs":2000000,"nanos":1}}`, id+"y", i))
	}
	f.parse(t) // which tests each memo
}

// A prompt that is sent again after its turn was stopped counts once, one that is sent again
// later is another.
func TestPromptSentAgain(t *testing.T) {
	r := begun().
		message("user", "build it").event(`{"type":"user_message","message":"build it"}`).
		event(`{"type":"turn_aborted","reason":"interrupted"}`).
		message("user", "build it").event(`{"type":"user_message","message":"build it"}`).
		message("assistant", "built").
		message("user", "build it").event(`{"type":"user_message","message":"build it"}`).
		message("user", "<turn_aborted>\n</turn_aborted>").
		message("user", "build it all").
		parse(t)
	if diff := cmp.Diff([]string{"build it", "build it", "build it all"}, prompts(r)); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// Turns that were taken back are another branch.
func TestRollBack(t *testing.T) {
	r := begun().
		message("user", "one").message("assistant", "first").
		message("user", "two").message("assistant", "second").
		message("user", "three").message("assistant", "third").
		event(`{"type":"thread_rolled_back","num_turns":2}`).
		message("user", "four").
		event(`{"type":"thread_rolled_back","num_turns":9}`).
		message("user", "five").
		parse(t)
	rec := &session.Record{Summary: session.Summary{Header: r.End.Header}}
	text := make(map[string]string)
	for i := range r.Entries {
		rec.Add(&r.Entries[i])
		for _, part := range r.Entries[i].Parts {
			text[r.Entries[i].ID] = string(part.Text)
		}
	}
	active := func(upTo int) (list []string) {
		rec := &session.Record{Summary: rec.Summary, Nodes: rec.Nodes[:upTo]}
		for i, n := range rec.Nodes {
			if rec.Tree().Active(i) && n.Type == session.TypeMessage {
				list = append(list, text[n.ID])
			}
		}
		return list
	}
	if diff := cmp.Diff([]string{"one", "first", "four"}, active(len(rec.Nodes)-2)); diff != "" {
		t.Errorf("branch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"five"}, active(len(rec.Nodes))); diff != "" {
		t.Errorf("branch (-want +got):\n%s", diff)
	}
}

// The oldest dialect has lines without types and times.
func TestFlat(t *testing.T) {
	data := `{"id":"48eae68e-c0c6-412e-a763-b7f3b830ccdd","timestamp":"2025-07-21T21:27:10.723Z","instructions":"be brief","git":{"branch":"master"}}
{"record_type":"state"}
{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"mention the walrus"}]}
{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_ls"}
{"type":"function_call_output","call_id":"call_ls","output":"{\"output\":\"a\\nb\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}
`
	if New().Recognize([]byte(data)) != adapter.Transcript {
		t.Error("not recognized")
	}
	f := new(file)
	f.WriteString(data)
	r := f.parse(t)
	wantTexts(t, r, "prompt: mention the walrus", "call: shell\ncommand.0: ls", "result: a\nb\n")
	h := r.End.Header
	if h.ID != "48eae68e-c0c6-412e-a763-b7f3b830ccdd" || h.CWD != "" || h.Version != versionFlat || h.Git != "master" || h.Timestamp.IsZero() {
		t.Errorf("header %+v", h)
	}
	for _, e := range r.Entries {
		if e.Copy != 0 || e.Timestamp != h.Timestamp || e.Facts != nil && e.Facts.HasUsage {
			t.Errorf("entry %+v", e)
		}
	}
}

// A fork of old versions begins with copies of the other's lines, with new times.
func TestCopies(t *testing.T) {
	shared := func(f *file, turn string) *file {
		return f.line(lineContext, `{"cwd":"/srv/app","model":"gpt-5-codex","turn_id":"`+turn+`"}`).
			message("user", "yes").
			call("call_0123456789abcdefghijklmn", "shell_command", `{"command":"ls"}`).output("call_0123456789abcdefghijklmn", "a file").
			event(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12},"last_token_usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12}}}`)
	}
	parent := shared(begun(), "turn-1")
	child := new(file).begin(another, `,"forked_from_id":"`+aSession+`"`)
	child.seconds = 600
	shared(child.begin(aSession, ""), "turn-1").message("user", "the child's own")
	stranger := shared(new(file).begin(third, ""), "turn-2")

	copies := func(r adapters.Read) (list []string) {
		for _, e := range r.Entries {
			if len(e.Parts) > 0 && e.Type == session.TypeMessage {
				list = append(list, fmt.Sprintf("%x %s", e.Copy, e.Parts[0].Text))
			}
			if e.Facts != nil && e.Facts.HasUsage {
				list = append(list, fmt.Sprintf("usage of %x", e.Facts.UsageOf))
			}
		}
		return list
	}
	a, b, c := parent.parse(t), child.parse(t), copies(stranger.parse(t))
	if h := b.End.Header; h.ID != another || h.ParentSession != aSession || h.Relation != session.Copied {
		t.Errorf("header %+v", h)
	}
	if diff := cmp.Diff(copies(a), copies(b)[:4]); diff != "" {
		t.Errorf("copies (-parent +child):\n%s", diff)
	}
	if c[0] == copies(a)[0] || c[3] == copies(a)[3] {
		t.Error("the same short prompt, or the same tokens, in another session are a copy")
	}
}

// Forks and reverts of new versions say where they leave another file. Subagents name the
// session that they work for.
func TestHeaders(t *testing.T) {
	base := func(id string) string {
		return `,"history_base":{"thread_id":"` + id + `","end_ordinal_exclusive":55,"end_byte_offset":70347}`
	}
	at := session.Base{Ordinal: 55, Offset: 70347}
	for _, c := range []struct {
		name, more, path string
		want             session.Header
	}{
		{"its own", "", rollout, session.Header{ID: aSession}},
		{"copied", `,"forked_from_id":"` + another + `"`, rollout, session.Header{ID: aSession, ParentSession: another, Relation: session.Copied}},
		{"continued", `,"forked_from_id":"` + another + `"` + base(another), rollout, session.Header{ID: aSession, ParentSession: another, Relation: session.Continued, Base: at}},
		{"reverted", base(aSession), strings.TrimSuffix(rollout, ".jsonl") + "_" + third + ".jsonl", session.Header{ID: aSession, ParentSession: aSession, Relation: session.Reverted, Base: at, Part: third}},
		{"spawned", `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + another + `","depth":1}}}`, rollout, session.Header{ID: aSession, ParentSession: another, Relation: session.Spawned}},
		{"review", `,"source":{"subagent":"review"},"forked_from_id":"` + another + `"`, rollout, session.Header{ID: aSession, ParentSession: another, Relation: session.Spawned}},
		{"by a thread", `,"parent_thread_id":"` + another + `"`, rollout, session.Header{ID: aSession, ParentSession: another, Relation: session.Spawned}},
	} {
		r := adapters.Parse(t, New(), adapter.State{Path: c.path}, []byte(new(file).begin(aSession, c.more).String()))
		h := r.End.Header
		if h.Base.Session != "" {
			c.want.Base.Session = c.want.ParentSession
		}
		c.want.CWD, c.want.Git, c.want.Version, c.want.Nested, c.want.Timestamp = "/srv/app", "main", version, true, h.Timestamp
		if diff := cmp.Diff(c.want, h); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	middle := new(file).message("user", "yes").item(`{"type":"agent_message","author":"/root","recipient":"/root/x","content":"go"}`)
	middle.begin(another, "")
	middle.begin(aSession, `,"forked_from_id":"`+another+`","source":{"subagent":"review"}`)
	if h := middle.message("user", "no").parse(t).End.Header; h.ID != aSession || h.ParentSession != another {
		t.Errorf("header of a file that begins in its middle: %+v", h)
	}
	cut := adapters.Parse(t, New(), adapter.State{Path: rollout}, []byte(new(file).message("user", "hi").String())).End.Header
	if cut.ID != aSession || cut.Version == 0 {
		t.Errorf("header of a file that begins in its middle: %+v", cut)
	}
}

// The names of sessions are in a file of their own, and in lines of some versions.
func TestNames(t *testing.T) {
	data := []byte(`{"id":"` + aSession + `","thread_name":"A","updated_at":"2026-11-21T21:26:16.9Z"}` + "\n" +
		`{"id":"` + aSession + `","thread_name":"","updated_at":"2026-11-21T21:27:16.9Z"}` + "\n")
	if New().Recognize(data) != adapter.Notes {
		t.Error("not recognized")
	}
	state := withFacts("/home/u/.codex/session_index.jsonl")
	adapters.Halves(t, New(), state, data)
	r := adapters.Parse(t, New(), state, data)
	if len(r.Entries) != 2 || r.End.Header.Version != 0 {
		t.Fatalf("entries %+v, header %+v", r.Entries, r.End.Header)
	}
	for i, want := range []string{"A", ""} {
		if e := r.Entries[i]; e.Type != session.TypeSessionInfo || e.About != aSession || e.Name != want || e.Timestamp.Year() != 2026 {
			t.Errorf("entry %+v", e)
		}
	}
	named := begun().
		event(`{"type":"thread_name_updated","thread_id":"` + another + `","thread_name":"of another"}`).
		event(`{"type":"thread_name_updated","thread_id":"` + aSession + `","thread_name":"its own"}`).parse(t)
	var names []string
	for _, e := range named.Entries {
		if e.Type == session.TypeSessionInfo {
			names = append(names, e.Name)
		}
	}
	if diff := cmp.Diff([]string{"its own"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// A message from above is the prompt of a subagent. What is encrypted has no text.
func TestAgentMessages(t *testing.T) {
	message := func(author, recipient, text string) string {
		return fmt.Sprintf(`{"type":"agent_message","author":%q,"recipient":%q,"content":[{"type":"input_text","text":%q}]}`, author, recipient, text)
	}
	child := new(file).begin(another, `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+aSession+`"}}}`).
		item(message("/root", "/root/scout", "look around")).
		item(message("/root/scout", "/root", "found it")).
		item(message("/root", "/root/scout", "gAAAAABsecret_-=")).
		item(message("/root", "/root/scout", "gAAAA is how a token begins")).
		parse(t)
	wantTexts(t, child, "prompt: look around", "note: found it", "title: scout", "prompt: gAAAA is how a token begins")
	if got := prompts(child)[0]; got != "look around" {
		t.Errorf("first prompt %q", got)
	}
	wantTexts(t, begun().item(message("/root", "/root/scout", "look around")).parse(t), "note: look around")
}

// Lines may be fused, torn, padded or no objects. Each object is an entry, and each other
// piece a problem.
func TestDamage(t *testing.T) {
	whole := strings.TrimSuffix(new(file).message("user", "one").String(), "\n")
	f := begun()
	f.WriteString("\x00\x00" + whole + whole + "\n[1]\nnot JSON\n" + `{"timestamp":"2026-11-21T21:26:16Z","type":"unheard_of","payload":{"words":"of it"}}` + "\n" + whole[:40])
	r := f.parse(t)
	wantTexts(t, r, "prompt: one", "prompt: one", "other: of it")
	if n := len(r.Problems); n != 3 || !r.Problems[2].Torn || r.Problems[0].Torn {
		t.Errorf("problems %+v", r.Problems)
	}
}

// No text is lost: a plain reader finds every string in a part, but for those that stand
// twice or are no text.
func TestNoTextIsLost(t *testing.T) {
	f := begun()
	for _, payload := range []string{
		`{"type":"agent_message","author":"a","recipient":"b","content":"plain","novel":"n1"}`,
		`{"type":"message","role":"narrator","content":[{"type":"output_text","text":"n2"},{"type":"hologram","shape":"n3"}],"novel":{"deep":["n4"]}}`,
		`{"type":"function_call","name":"f","arguments":"not JSON","call_id":"c1"}`,
		`{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"n5"},{"type":"input_image","image_url":"https://n6"}]}`,
		`{"type":"local_shell_call","id":"c2","action":{"type":"exec","command":["ls","n7"],"working_directory":"/n8"}}`,
		`{"type":"web_search_call","action":{"type":"open_page","url":"https://n9"}}`,
		`{"type":"ghost_snapshot","ghost_commit":{"parent":"n10"}}`,
		`{"type":"novelty","text":"n11"}`,
	} {
		f.item(payload)
	}
	for _, payload := range []string{
		`{"type":"mcp_tool_call_end","call_id":"c9","invocation":{"server":"s"},"result":{"Ok":{"content":[{"type":"text","text":"m1"}]}}}`,
		`{"type":"item_completed","item":{"type":"Novelty","text":"m2"}}`,
		`{"type":"novelty","text":"m3"}`,
		`{"type":"error","message":"m4"}`,
		`{"type":"collab_agent_spawn_end","prompt":"m5"}`,
		`{"type":"thread_goal_updated","goal":{"objective":"m6"}}`,
		`{"type":"user_message","message":"m7","images":[]}`,
	} {
		f.event(payload)
	}
	f.line(lineCompacted, `{"message":"k1","replacement_history":[{"type":"message","content":"not here"}]}`)
	files := fixtures(t)
	files[rollout] = []byte(f.String())
	for path, data := range files {
		r := adapters.Parse(t, New(), withFacts(path), data)
		var all strings.Builder
		for _, e := range r.Entries {
			for _, part := range e.Parts {
				all.Write(part.Text)
				all.WriteByte('\n')
			}
		}
		text := all.String()
		for line := range strings.Lines(string(data)) {
			var v map[string]any
			if json.Unmarshal([]byte(line), &v) == nil {
				visitStrings("", v, func(at, s string) {
					if !isOmitted(at) && !strings.Contains(text, strings.TrimSpace(s)) {
						t.Errorf("%s: %q of %s is in no part", filepath.Base(path), session.Cut(s, 80), at)
					}
				})
			}
		}
	}
}

// visitStrings visits the strings of a value, those in JSON in a string too.
func visitStrings(at string, v any, visit func(at, s string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			visitStrings(at+"."+key, value, visit)
		}
	case []any:
		for _, value := range v {
			visitStrings(at, value, visit)
		}
	case string:
		var inside map[string]any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inside) == nil && !strings.HasSuffix(at, "message") {
			visitStrings(at, inside, visit)
			return
		}
		if _, after, ok := strings.Cut(v, "Output:\n"); ok { // an envelope, whose figures are facts
			v = after
		}
		v = strings.TrimPrefix(v, "Wall time: 6.4 seconds\n")
		visit(at, strings.TrimSuffix(v, "\n</result>\n</user_shell_command>"))
	}
}

// omitted are the strings that are no text, and why.
var omitted = []string{
	".payload.base_instructions", ".payload.instructions", ".instructions", // the same in every file, or a message repeats it
	".payload.state", ".payload.thread_settings", ".payload.user_instructions", ".developer_instructions", // messages say it
	".payload.replacement_history", ".payload.replacement_history_metadata", ".payload.retained_context", // copies of earlier lines
	".encrypted_content",                                                                        // encrypted
	".last_agent_message",                                                                       // a copy
	".command", ".parsed_cmd.cmd", ".parsed_cmd.name", ".parsed_cmd.path", ".invocation.server", // calls say it
	".internal_chat_message_metadata_passthrough", ".metadata", ".rate_limits", ".turn_attribution", ".collaboration_mode_kind", ".codex_error_info", ".git", ".context_window",
	".originator", ".cli_version", ".source", ".thread_source", ".model_provider", ".history_mode", ".runtime_workspace_roots", ".provenance", ".forked_from_id", ".history_base", ".phase", ".multi_agent_version", ".item.cwd", ".item.action", ".record_type", ".author", ".recipient", ".role", ".model_context_window", ".kind",
}

func isOmitted(at string) bool {
	key := at[strings.LastIndexByte(at, '.')+1:]
	if key == "type" || key == "id" || strings.HasSuffix(key, "_id") || key == "timestamp" || key == "status" || key == "updated_at" || key == "cwd" || key == "namespace" {
		return at != ".payload.action.type"
	}
	for _, o := range omitted {
		if strings.Contains(at+".", o+".") {
			return !strings.HasPrefix(at, ".payload.arguments") && !strings.HasPrefix(at, ".payload.action")
		}
	}
	return false
}

// Files of other agents, and other files of Codex, are not rollouts.
func TestNearMisses(t *testing.T) {
	for _, agent := range []string{"claude", "omp", "openclaw"} {
		for path, data := range adapters.Fixtures(t, agent) {
			if sort := New().Recognize(data[:min(len(data), adapter.HeadLength)]); sort != adapter.Foreign {
				t.Errorf("%s is a file of Codex", path)
			}
		}
	}
	for _, path := range testkit.SessionFiles(t) {
		if at := filepath.ToSlash(path); strings.Contains(at, "/agents/codex/") || strings.Contains(at, "/.codex/") {
			continue
		}
		data, err := os.ReadFile(path)
		testkit.Check(t, err)
		if sort := New().Recognize(data[:min(len(data), adapter.HeadLength)]); sort != adapter.Foreign {
			t.Errorf("%s is a file of Codex", path)
		}
	}
	for _, line := range []string{
		"", "{}", "[]", "null",
		`{"session_id":"` + aSession + `","ts":1763760376,"text":"hi"}`,
		`{"type":"session","version":3,"id":"x","timestamp":"2026-11-21T21:26:16Z","cwd":"/x"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`,
		`{"id":"x","timestamp":"2026-11-21T21:26:16Z","instructions":null,"messages":[]}`,
		`{"timestamp":"2026-11-21T21:26:16Z","type":"event_msg","payload":"text"}`,
		`{"type":"thread.started","thread_id":"x"}`,
		`{"id":"x","thread_name":"y","updated_at":"z","more":1}`,
	} {
		if sort := New().Recognize([]byte(line)); sort != adapter.Foreign {
			t.Errorf("%s is a file of Codex", line)
		}
	}
	head := begun().message("user", "hi").String()
	if New().Recognize([]byte(head[:250])) != adapter.Transcript || New().Recognize([]byte("broken\n"+head[300:])) != adapter.Transcript {
		t.Error("a rollout with a damaged head is not recognized")
	}
}

// Anything may be in a file. Offsets stay inside the line, the memo stays small, and nothing
// panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(begun().message("user", "hi").call("c", "exec_command", `{"cmd":"ls"}`).output("c", "Wall time: 1 seconds\nOutput:\nx").String()), false)
	f.Add([]byte(`{"id":"x","timestamp":"2026-11-21T21:26:16Z","instructions":null}`+"\n"+`{"type":"message","role":"user","content":"x"}`), false)
	f.Add([]byte(`{"id":"x","thread_name":"n","updated_at":"y"}`), true)
	for _, data := range fixtures(f) {
		f.Add(data[max(0, len(data)-4000):], false)
	}
	f.Fuzz(func(t *testing.T, data []byte, notes bool) {
		state := adapter.State{Path: rollout, Facts: true, Header: session.Header{Notes: notes}}
		adapters.Halves(t, New(), state, data)
		adapters.Alone(t, New(), state, data)
		for _, e := range adapters.Parse(t, New(), state, data).Entries {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+int64(e.Length) > int64(len(data)) || data[e.Offset] != '{' {
				t.Errorf("entry at %d, %d bytes long", e.Offset, e.Length)
			}
			for _, part := range e.Parts {
				if len(part.Text) == 0 && len(e.Images) == 0 {
					t.Errorf("an empty part: %+v", e)
				}
			}
		}
		for _, line := range adapters.Lines(t, data) {
			adapter.View(New(), state, line, func(*session.Entry, *session.View) {})
		}
		New().Recognize(data)
	})
}
