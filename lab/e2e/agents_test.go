package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/lab/testkit"
)

// claudeLine is a line of Claude Code in the session claudeID, with a message in JSON.
func claudeLine(id, parent, kind, message string) string {
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/u/app","sessionId":"%s","type":"%s","message":%s,"uuid":"%s","timestamp":"2026-03-01T10:00:02.000Z"}`+"\n",
		parent, claudeID, kind, message, id)
}

// The same command of three agents is found alike, though Codex writes it as JSON within JSON: as
// a phrase over the end of a line, with all words, and line by line with grep.
func TestCommandOfAnyAgent(t *testing.T) {
	t.Parallel()
	h := newHome(t, everyAgent()...)
	const command = `go build all\ngo vet all`
	appendTo(t, filepath.Join(h.dir, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+
		`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"`+command+`"}}]}}`+"\n")
	appendTo(t, claudeFile(h.dir), claudeLine("u1", "null", "assistant", `{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"`+command+`"}}]}`))
	appendTo(t, codexFile(h.dir, codexID), strings.Join(codexLines(10, codexMeta(codexID, ""),
		[2]string{"response_item", `{"type":"function_call","name":"exec_command","call_id":"c","arguments":"{\"cmd\":\"` + strings.ReplaceAll(command, `\`, `\\`) + `\"}"}`}), "\n")+"\n")
	run := program(t, h.dir, nil, everyAgent()...)
	for _, args := range [][]string{
		{"search", `"all go vet"`}, {"search", "--all-words", `"all go vet"`}, {"search", "--all-words", "--scope", "all", "+build", "+vet"},
		{"grep", "-F", "go build all"}, {"grep", "-F", "go vet all"}, {"grep", "--no-index", "-F", "go vet all"}, {"grep", "-w", "^go vet all$"},
	} {
		out := run(append([]string{args[0], "--json"}, args[1:]...)...)
		for _, agent := range []string{"pi", "claude", "codex"} {
			if strings.Count(out, `"agent":"`+agent+`"`) == 0 {
				t.Errorf("%q finds nothing of %s:\n%s", args, agent, out)
			}
		}
	}
}

// noIndexDir leaves it to the program where the index is.
var noIndexDir = map[string]string{"PIGREP_INDEX_DIR": ""}

// Another agent on the machine, or fewer of them asked for, needs no other index, and no session
// is read twice.
func TestOneIndexForAllAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	indexes := func() []string {
		t.Helper()
		dirs, err := filepath.Glob(filepath.Join(home, ".cache", "pigrep", "*"))
		testkit.Check(t, err)
		return dirs
	}
	letTimesSettle()
	if out := program(t, home, noIndexDir, pi.New())("index"); !strings.Contains(out, "1 new") || len(indexes()) != 1 {
		t.Fatalf("the first index is %v:\n%s", indexes(), out)
	}
	first := indexes()
	run := program(t, home, noIndexDir, everyAgent()...)
	appendTo(t, codexFile(home, codexID), strings.Join(codexLines(10, slices.Concat([][2]string{codexMeta(codexID, "")}, codexTalk())...), "\n")+"\n")
	letTimesSettle()
	if out := run("index"); !strings.Contains(out, "2 files (1 new") || strings.Contains(out, "rewritten") {
		t.Errorf("with another agent, index says:\n%s", out)
	}
	appendTo(t, filepath.Join(home, ".config", "pigrep", "config.toml"), `agents = ["pi"]`+"\n")
	for _, args := range [][]string{{"sessions", "--agent", "pi", "--jsonl"}, {"sessions", "--jsonl"}} {
		if out := run(args...); strings.Count(out, `"agent":"pi"`) != 1 || strings.Contains(out, `"agent":"codex"`) {
			t.Errorf("%v prints:\n%s", args, out)
		}
	}
	if out := run("index"); !strings.Contains(out, "2 files, nothing new") {
		t.Errorf("at the end, index says:\n%s", out)
	}
	if !slices.Equal(indexes(), first) {
		t.Errorf("the indexes are %v, were %v", indexes(), first)
	}
}

// A session of the oldest versions of Codex says no directory: no project has it, and Codex of
// today does not resume it.
func TestSessionWithoutDirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t, everyAgent()...)
	testkit.Check(t, os.MkdirAll(filepath.Dir(codexFile(h.dir, codexID)), 0o755))
	appendTo(t, codexFile(h.dir, codexID), `{"id":"`+codexID+`","timestamp":"2025-08-01T10:00:00.000Z","instructions":null,"git":null}`+"\n"+
		`{"record_type":"state"}`+"\n"+`{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"greet the walrus"}]}`+"\n")
	run := program(t, h.dir, nil, everyAgent()...)
	for _, test := range []struct {
		args       []string
		want, lack string
	}{
		{[]string{"search", "--jsonl", "walrus"}, codexID, ""},
		{[]string{"search", "--jsonl", "--here", "walrus"}, "", codexID},
		{[]string{"search", "--jsonl", "--project", "app", "walrus"}, "", codexID},
		{[]string{"resume", codexID, "--in", h.dir}, "cannot", ""},
		{[]string{"sessions", "--jsonl"}, `"modified":"2025-08-01T10:00:00.000Z"`, ""},
	} {
		if out := run(test.args...); !strings.Contains(out, test.want) || test.lack != "" && strings.Contains(out, `"session":"`+test.lack) {
			t.Errorf("%v, want %q, not %q:\n%s", test.args, test.want, test.lack, out)
		}
	}
	if s := ofFile(h.checked(t), codexFile(h.dir, codexID)); len(s) != 1 || s[0].CWD != "" || s[0].UsedTokens != 0 || s[0].FirstPrompt != "greet the walrus" {
		t.Errorf("session %+v", s)
	}
}

// What Codex puts before a prompt titles no session, neither in its message nor in one before.
func TestTitleBehindInstructions(t *testing.T) {
	t.Parallel()
	h := newHome(t, everyAgent()...)
	say := func(texts ...string) [2]string {
		return [2]string{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"` + strings.Join(texts, `"},{"type":"input_text","text":"`) + `"}]}`}
	}
	for id, test := range map[string]struct {
		message [2]string
		want    string
	}{
		codexID:   {say(`# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>`, `<environment_context>\n<cwd>/srv</cwd>\n</environment_context>`, `make it blue`), "make it blue"},
		codexFork: {say(`# Context from my IDE setup:\n\n## Open tabs:\n- a.go\n\n## My request for Codex:\nrename x`), "rename x"},
	} {
		appendTo(t, codexFile(h.dir, id), strings.Join(codexLines(10, codexMeta(id, ""), test.message), "\n")+"\n")
		if s := ofFile(h.checked(t), codexFile(h.dir, id)); len(s) != 1 || s[0].FirstPrompt != test.want {
			t.Errorf("first prompt of %+v, want %q", s, test.want)
		}
	}
}

// An index that an earlier version made is made again where it is, with the sessions of agents
// that this version did not know.
func TestIndexOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	program(t, home, noIndexDir, pi.New())("index")
	manifests, err := filepath.Glob(filepath.Join(home, ".cache", "pigrep", "*", "gen-*", "manifest"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("manifests: %v, %v", manifests, err)
	}
	testkit.Check(t, os.WriteFile(manifests[0], fmt.Appendf(nil, "pigrep index %d\nwhatever it said then\n", index.SchemaVersion-1), 0o600))
	appendTo(t, codexFile(home, codexID), strings.Join(codexLines(10, slices.Concat([][2]string{codexMeta(codexID, "")}, codexTalk())...), "\n")+"\n")
	run := program(t, home, noIndexDir, everyAgent()...)
	if out := run("search", "--flat", "--format", "{agent}", "getOvenTimer"); !strings.HasPrefix(out, "pi\n") || !strings.Contains(out, fmt.Sprintf("another version: %d", index.SchemaVersion-1)) {
		t.Errorf("pi's session: %s", out)
	}
	for _, test := range [][2]string{{"getOvenTimer", "pi\n"}, {"badger", "codex\n"}} {
		if out := run("search", "--flat", "--format", "{agent}", test[0]); out != test[1] {
			t.Errorf("%s: %q", test[0], out)
		}
	}
	if out := run("index"); !strings.Contains(out, "2 files, nothing new") {
		t.Errorf("index says: %s", out)
	}
	if all, err := filepath.Glob(filepath.Join(home, ".cache", "pigrep", "*")); err != nil || len(all) != 1 {
		t.Errorf("the indexes are %v, %v", all, err)
	}
}

// Claude Code continues a conversation in another file, which begins with its lines under a new
// id. Both sessions are listed; what they share is found once and counts once, for the first.
func TestConversationThatGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const other = "1a1b2c3d-89ab-cdef-0123-456789abcdef"
	reply := func(id, parent, text string, tokens int) string {
		return claudeLine(id, parent, "assistant", fmt.Sprintf(`{"id":"m%s","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":%d,"output_tokens":1}}`, id, text, tokens))
	}
	shared := claudeLine("u1", "null", "user", `{"role":"user","content":"feed the aardvark"}`) + reply("a1", `"u1"`, "the badger ate it", 100)
	appendTo(t, claudeFile(home), shared)
	own := claudeLine("u2", `"a1"`, "user", `{"role":"user","content":"and the capybara"}`) + reply("a2", `"u2"`, "it sleeps", 10)
	appendTo(t, strings.Replace(claudeFile(home), claudeID, other, 1), strings.ReplaceAll(shared+own, claudeID, other))
	run := program(t, home, nil, everyAgent()...)
	for _, test := range []struct{ args, want string }{
		{"sessions --quiet --format {sessionId}", claudeID + "\n" + other + "\n"},
		{"search --quiet --flat --format {sessionId} aardvark", claudeID + "\n"},
		{"search --quiet --flat --format {sessionId} badger", claudeID + "\n"},
		{"search --quiet --flat --format {sessionId} capybara", other + "\n"},
		{"usage --quiet --by session --format {sessionId}:{tokens}", claudeID + ":101\n" + other + ":11\n"},
	} {
		if got := run(strings.Fields(test.args)...); got != test.want {
			t.Errorf("pigrep %s: %q, want %q", test.args, got, test.want)
		}
	}
}

// What Claude Code writes when the person stops it is nothing that the person typed: neither a
// prompt nor a title.
func TestInterruptions(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	appendTo(t, claudeFile(home), claudeLine("u1", "null", "user", `{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`)+
		claudeLine("u2", `"u1"`, "user", `{"role":"user","content":"feed the aardvark"}`)+
		claudeLine("a1", `"u2"`, "assistant", `{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"feed"}}]}`)+
		claudeLine("u3", `"a1"`, "user", `{"role":"user","content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}`))
	run := program(t, home, nil, everyAgent()...)
	for _, test := range []struct{ args, want string }{
		{"search --quiet --flat --scope all --format {kind} interrupted", "note\nnote\n"},
		{"search --quiet --flat --format {kind} --kind prompt interrupted", ""},
		{"sessions --quiet --format {title}", "feed the aardvark\n"},
		{"tools calls --quiet --format {status}", "none\n"},
	} {
		if got := run(strings.Fields(test.args)...); got != test.want {
			t.Errorf("pigrep %s: %q, want %q", test.args, got, test.want)
		}
	}
}

// Old versions of Claude Code repeat the messages of a subagent in the file of the session that it
// works for. There they are details, for the case that the file of the subagent is gone.
func TestMessagesOfASubagentStandTwice(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const message = `{"role":"user","content":"look for the aardvark"}`
	progress := strings.Replace(claudeLine("p1", `"u1"`, "progress", "null"), `"message":null`, `"data":{"type":"agent_progress","message":{"type":"user","message":`+message+`}}`, 1)
	appendTo(t, claudeFile(home), claudeLine("u1", "null", "user", `{"role":"user","content":"find it"}`)+progress)
	child := filepath.Join(strings.TrimSuffix(claudeFile(home), ".jsonl"), "subagents", "agent-a1.jsonl")
	run := program(t, home, nil, everyAgent()...)
	search := func(scope string) string {
		return run("search", "--quiet", "--flat", "--scope", scope, "--format", "{kind} {sessionId}", "aardvark")
	}
	if all, usual := search("all"), search("conversations"); all != "details "+claudeID+"\n" || usual != "" {
		t.Errorf("without the file of the subagent: %q, by default %q", all, usual)
	}
	appendTo(t, child, claudeLine("s1", "null", "user", message))
	if usual := search("conversations"); usual != "prompt agent-a1\n" {
		t.Errorf("with the file of the subagent: %q", usual)
	}
}
