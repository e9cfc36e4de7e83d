package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
)

const (
	claudeID  = "0a1b2c3d-89ab-cdef-0123-456789abcdef"
	claudeDir = "-home-u-app"
)

// claudeStory is a session of Claude Code with what surprises most in its files.
func claudeStory() []string {
	n := 0
	node := func(id, parent, members string) string {
		n++
		if parent = `"` + parent + `"`; parent == `""` {
			parent = "null"
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/home/u/app","sessionId":"%s","gitBranch":"main",%s,"uuid":"%s","timestamp":"2026-03-01T10:%02d:%02d.000Z"}`,
			parent, claudeID, members, id, n/60, n%60)
	}
	user := func(id, parent, content string, more ...string) string {
		return node(id, parent, strings.Join(append([]string{`"type":"user","message":{"role":"user","content":` + content + `}`}, more...), ","))
	}
	reply := func(id, parent, message, block string, output int) string {
		return node(id, parent, fmt.Sprintf(`"type":"assistant","message":{"id":"%s","role":"assistant","model":"claude-opus-4-5","content":[%s],"usage":{"input_tokens":2,"output_tokens":%d}}`, message, block, output))
	}
	call := func(id, command string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"` + command + `"}}`
	}
	result := func(id, parent, call, text string, more ...string) string {
		return user(id, parent, `[{"type":"tool_result","tool_use_id":"`+call+`","content":"`+text+`"}]`, more...)
	}
	queue := func(members string) string {
		return `{"type":"queue-operation",` + members + `,"timestamp":"2026-03-01T10:00:30.000Z","sessionId":"` + claudeID + `"}`
	}
	head := []string{
		`{"type":"summary","summary":"Another walrus","leafUuid":"elsewhere"}`,
		user("u1", "", `"Caveat: ignore this"`, `"isMeta":true`),
		user("u2", "u1", `"<command-name>/init</command-name><command-args>fast</command-args>"`),
	}
	talk := []string{
		user("u3", "u2", `[{"type":"text","text":"<system-reminder>be brief</system-reminder>"},{"type":"text","text":"fix the aardvark"}]`),
		reply("a1", "u3", "m1", `{"type":"text","text":"I look at the badger."}`, 1),
		reply("a2", "a1", "m1", call("c1", "ls capybara"), 5),
		reply("a3", "a2", "m1", call("c2", "ls dingo"), 9),
		result("r1", "a2", "c1", `echidna\n`, `"toolUseResult":{"stdout":"echidna\n","stderr":"warn zebra","originalFile":"quokka"}`),
		node("p1", "a3", `"type":"progress","data":{"type":"agent_progress","message":{"message":{"role":"user","content":"ferret"}}}`),
		result("r2", "a3", "c2", "gazelle"),
		reply("a4", "r2", "m2", `{"type":"text","text":"Done, says the hedgehog."}`, 4),
	}
	boundary := func(id, last string) string {
		return node(id, "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"`+last+`","content":"Conversation compacted"`)
	}
	return slices.Concat(head, talk, []string{
		queue(`"operation":"enqueue","content":"also the ibex"`),
		queue(`"operation":"dequeue"`),
		user("u4", "a4", `"also the ibex"`),
		queue(`"operation":"enqueue","content":"and the jackal"`),
		queue(`"operation":"remove"`),
		reply("a5", "u4", "m3", `{"type":"text","text":"So be it."}`, 3),
		user("u5", "a5", `"[Request interrupted by user]"`),
		boundary("b1", "u5"), user("s1", "b1", `"Did the kudu"`, `"isCompactSummary":true`),
	}, talk, []string{
		boundary("b2", "a4"), user("s2", "b2", `"Did the lemur"`, `"isCompactSummary":true`),
		`{"type":"custom-title","customTitle":"Of animals","sessionId":"` + claudeID + `"}`,
		`{"type":"last-prompt","lastPrompt":"also the ibex","leafUuid":"s2","sessionId":"` + claudeID + `"}`,
		`{"type":"mode","mode":"normal","sessionId":"` + claudeID + `"}`,
	})
}

func claudeFile(home string) string {
	return filepath.Join(home, ".claude", "projects", claudeDir, claudeID+".jsonl")
}

// Whatever Claude Code writes twice is found once, where it belongs.
func TestClaudeStory(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), claude.New())
	appendTo(t, claudeFile(h.dir), strings.Join(claudeStory(), "\n")+"\n")
	sub := filepath.Join(strings.TrimSuffix(claudeFile(h.dir), ".jsonl"), "subagents", "agent-a1.jsonl")
	appendTo(t, sub, `{"parentUuid":null,"isSidechain":true,"agentId":"a1","cwd":"/home/u/app","sessionId":"`+claudeID+`","type":"user","message":{"role":"user","content":"find the ferret"},"uuid":"x1","timestamp":"2026-03-01T10:00:08.000Z"}`+"\n")
	appendTo(t, filepath.Join(filepath.Dir(sub), "journal.jsonl"), `{"type":"started","agentId":"a1","text":"ocelot"}`+"\n")
	appendTo(t, filepath.Join(h.dir, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	res := h.checked(t)
	h.wantHits(t, res.Reader, map[string][]string{
		"aardvark": {"prompt 4"}, "badger": {"reply 5"}, "capybara": {"call 6"}, "dingo": {"call 7"}, "echidna": {"result 8"}, "zebra": {"details 8"},
		"gazelle": {"result 10"}, "hedgehog": {"reply 11"}, "ibex": {"data 32", "prompt 14"}, "jackal": {"prompt 15"}, "kudu": {"summary 20"}, "lemur": {"summary 30"},
		"animals": {"title 31"}, "walrus": {"title 1"}, "ferret": {"details 9", "prompt 1"}, "init": {"prompt 3"}, `"init fast"`: {"prompt 3"}, "brief": {"system 4"},
		"interrupted": {"note 18"}, "quokka": nil, "ocelot": nil, "getOvenTimer": {"prompt 2"},
	})

	s := ofFile(res, claudeFile(h.dir))[0]
	if s.ID != claudeID || s.Name != "Of animals" || s.FirstPrompt != "fix the aardvark" || s.CWD != "/home/u/app" || s.Git != "main" || s.Skipped != 0 || s.UsedTokens != 2*3+9+4+3 {
		t.Errorf("session %+v", s)
	}
	if s := ofFile(res, sub); len(s) != 1 || s[0].ID != "agent-a1" || s[0].ParentSession != claudeID || s[0].Relation != session.Spawned {
		t.Errorf("subagent %+v", s)
	}
}

// An index that grows line by line is the one that is made at once.
func TestClaudeLineByLine(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), claude.New())
	var lines []string
	for _, line := range claudeStory() {
		lines = append(lines, line+"\n")
	}
	h.grow(t, claudeFile(h.dir), lines...)
}

// Odd files among the sessions of Claude Code hide nothing: an empty one, a torn one, one of pi,
// one of another program, one whose name says nothing, and lines without ids and times.
func TestClaudeOddFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), claude.New())
	dir := filepath.Dir(claudeFile(h.dir))
	bare := `{"type":"user","message":{"role":"user","content":"the %s"},"uuid":null,"parentUuid":null,"sessionId":"s"}`
	files := map[string]string{
		"empty.jsonl": "", "torn.jsonl": fmt.Sprintf(bare, "tapir") + "\n" + `{"type":"user","mess`, "pi.jsonl": piHeader + piPrompt,
		"other.jsonl": `{"kind":"novel","text":"urchin"}` + "\n", strings.Repeat("x", 200) + "\x1b[1m.jsonl": fmt.Sprintf(bare, "viper") + "\n",
		"zero.jsonl": "\x00\x00\x00\n\x00" + fmt.Sprintf(bare, "weasel") + "\n",
	}
	for name, text := range files {
		appendTo(t, filepath.Join(dir, name), text)
	}
	res := h.checked(t)
	for word, want := range map[string]string{"tapir": "torn.jsonl", "getOvenTimer": "pi.jsonl", "urchin": "other.jsonl", "viper": "x", "weasel": "zero.jsonl"} {
		if hits := h.hits(t, res.Reader, word); len(hits) != 1 || !strings.HasPrefix(filepath.Base(hits[0].SessionPath), want) {
			t.Errorf("%s: %d hits", word, len(hits))
		}
	}
	for name, agent := range map[string]string{"pi.jsonl": pi.Name, "torn.jsonl": claude.Name} {
		if s := ofFile(res, filepath.Join(dir, name)); len(s) != 1 || s[0].Agent != agent {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
