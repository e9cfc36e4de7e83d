package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
)

const (
	codexID   = "01a20000-b68f-7cd3-8a8e-4fc636d8105d"
	codexFork = "01a20000-bcc0-75c3-a5e7-f950a13eb02b"
)

// codexLines makes the lines of a rollout from their types and payloads.
func codexLines(hour int, lines ...[2]string) (list []string) {
	for i, l := range lines {
		list = append(list, fmt.Sprintf(`{"timestamp":"2026-03-01T%02d:00:%02d.000Z","type":"%s","payload":%s}`, hour, i, l[0], l[1]))
	}
	return list
}

func codexMeta(id, more string) [2]string {
	return [2]string{"session_meta", `{"id":"` + id + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/home/u/app","cli_version":"0.92.0","model_provider":"openai","base_instructions":{"text":"the pangolin"},"git":{"branch":"main"}` + more + `}`}
}

// codexTalk are the lines of a turn, which a fork copies.
func codexTalk() [][2]string {
	return [][2]string{
		{"turn_context", `{"cwd":"/home/u/app","model":"gpt-5-codex","turn_id":"t1"}`},
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /home/u/app\n\n<INSTRUCTIONS>\nbe kind to the axolotl\n</INSTRUCTIONS>"},{"type":"input_text","text":"build the badger"}]}`},
		{"response_item", `{"type":"function_call","name":"shell","call_id":"call_0123456789abcdefghijklmn","arguments":"{\"command\":[\"bash\",\"-lc\",\"go build all\\ngo vet all\"]}"}`},
		{"response_item", `{"type":"function_call_output","call_id":"call_0123456789abcdefghijklmn","output":"{\"output\":\"no capybara\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.5}}"}`},
		{"event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"output_tokens":10,"total_tokens":110},"last_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10}}}`},
	}
}

func codexFile(home, id string) string {
	return filepath.Join(home, ".codex", "sessions", "2026", "03", "01", "rollout-2026-03-01T10-00-00-"+id+".jsonl")
}

// What Codex wrote is found where it belongs, and nothing but its sessions is read.
func TestCodexStory(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), codex.New())
	own := codexLines(10, slices.Concat([][2]string{codexMeta(codexID, "")}, codexTalk(), [][2]string{
		{"response_item", `{"type":"custom_tool_call","name":"apply_patch","call_id":"call_9123456789abcdefghijklmn","input":"*** Begin Patch\n*** Delete File: dingo.go\n*** End Patch"}`},
		{"compacted", `{"message":"So far the echidna","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"the ferret"}]}]}`},
		{"event_msg", `{"type":"task_complete","last_agent_message":"","error":{"message":"no gazelle"}}`},
		{"unheard_of", `{"words":"of the hedgehog"}`},
		{"event_msg", `{"type":"agent_message","message":"Done, says the jackal"}`},
		{"response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done, says the jackal"}]}`},
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"ask the lemur"}]}`},
		{"event_msg", `{"type":"user_message","message":"ask the lemur"}`},
	})...)
	appendTo(t, codexFile(h.dir, codexID), strings.Join(own, "\n")+"\n")
	fork := codexLines(12, slices.Concat([][2]string{codexMeta(codexFork, `,"forked_from_id":"`+codexID+`"`), codexMeta(codexID, "")}, codexTalk(), [][2]string{
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"now the ibex"}]}`},
	})...)
	appendTo(t, codexFile(h.dir, codexFork), strings.Join(fork, "\n")+"\n")
	appendTo(t, filepath.Join(h.dir, ".codex", "history.jsonl"), `{"session_id":"`+codexID+`","ts":1,"text":"an ocelot"}`+"\n")
	appendTo(t, filepath.Join(h.dir, ".codex", "log", "rollout-x.jsonl"), own[0]+"\n")
	appendTo(t, filepath.Join(h.dir, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	res := h.checked(t)
	h.wantHits(t, res.Reader, map[string][]string{
		"axolotl": {"system 3"}, "badger": {"prompt 3"}, `"all go vet"`: {"call 4"}, "capybara": {"result 5"}, "dingo": {"call 7"}, "echidna": {"summary 8"},
		"gazelle": {"error 9"}, "hedgehog": {"other 10"}, "ibex": {"prompt 8"}, "jackal": {"reply 12"}, "lemur": {"prompt 13"}, "ferret": nil, "ocelot": nil, "pangolin": nil, "getOvenTimer": {"prompt 2"},
	})

	s := ofFile(res, codexFile(h.dir, codexID))[0]
	if s.ID != codexID || s.FirstPrompt != "build the badger" || s.CWD != "/home/u/app" || s.Git != "main" || s.UsedTokens != 110 || s.Skipped != 0 {
		t.Errorf("session %+v", s)
	}
	if s := ofFile(res, codexFile(h.dir, codexFork)); len(s) != 1 || s[0].ParentSession != codexID || s[0].Relation != session.Copied {
		t.Errorf("fork %+v", s)
	}
}

// An index that grows line by line is the one that is made at once.
func TestCodexLineByLine(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), codex.New())
	lines := codexLines(10, slices.Concat([][2]string{codexMeta(codexID, "")}, codexTalk(), [][2]string{
		{"event_msg", `{"type":"agent_message","message":"Done."}`},
		{"response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`},
		{"event_msg", `{"type":"thread_rolled_back","num_turns":1}`},
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"build the kudu"}]}`},
		{"event_msg", `{"type":"user_message","message":"build the kudu"}`},
		{"event_msg", `{"type":"turn_aborted","reason":"interrupted"}`},
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"build the kudu"}]}`},
	})...)
	for i := range lines {
		lines[i] += "\n"
	}
	h.grow(t, codexFile(h.dir, codexID), lines...)
}

// Codex keeps the names of its sessions in one file beside them. The last line about a session
// counts; without the file they have none, and no session is read again.
func TestCodexNames(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, codexFile(home, codexID), strings.Join(codexLines(10, append([][2]string{codexMeta(codexID, "")}, codexTalk()...)...), "\n")+"\n")
	index := filepath.Join(home, ".codex", "session_index.jsonl")
	line := func(id, name string) string {
		return fmt.Sprintf(`{"id":%q,"thread_name":%q,"updated_at":"2026-03-01T11:00:00Z"}`+"\n", id, name)
	}
	run := program(t, home, nil, pi.New(), codex.New())
	appendTo(t, index, line(codexID, "aardvark")+line(codexFork, "elsewhere")+line(codexID, "capybara talk"))
	for _, test := range []struct{ args, want string }{
		{"sessions --format {name}", "capybara talk\n"},
		{"search --flat --format {kind}:{sessionPath} talk", "title:" + codexFile(home, codexID) + "\n"},
		{"search --flat --format {kind}:{sessionPath} aardvark", ""},
		{"search --flat --format {kind}:{sessionPath} elsewhere", "title:" + index + "\n"},
		{"search --flat --format {kind} badger title:capybara", "prompt\n"},
		{"resume " + codexID, "codex resume " + codexID},
	} {
		if got := run(strings.Fields(test.args)...); !strings.Contains(got, test.want) || test.want == "" && strings.Contains(got, "title:") {
			t.Errorf("pigrep %s: %q, want %q", test.args, got, test.want)
		}
	}
	appendTo(t, index, line(codexID, ""))
	if got := run("sessions", "--format", "{name}|{title}"); !strings.Contains(got, "|build the badger") {
		t.Errorf("after it was cleared: %q", got)
	}
}
