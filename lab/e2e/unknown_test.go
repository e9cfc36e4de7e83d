package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/pi"
)

// Lines and members that no version known to us writes lose no text: it is found in the scope all
// alone, as kind other, and the status counts it.
func TestUnknownTextIsCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent adapter.Agent
		file  func(home string) string
		lines []string // "aardvark" in a line of an unknown type, "badger" in a member of a known one
	}{
		{pi.New(), func(home string) string { return filepath.Join(home, ".pi", "agent", "sessions", "--x--", "a.jsonl") }, []string{
			strings.TrimSpace(piHeader), `{"type":"unheard","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","words":{"of":["the aardvark"]}}`,
			`{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"user","content":"a capybara","more":"the badger"}}`,
		}},
		{claude.New(), claudeFile, []string{
			`{"type":"unheard","sessionId":"` + claudeID + `","words":{"of":["the aardvark"]}}`,
			strings.Replace(claudeLine("u1", "null", "user", `{"role":"user","content":"a capybara"}`), `"type":"user"`, `"type":"user","more":"the badger"`, 1),
		}},
		{codex.New(), func(home string) string { return codexFile(home, codexID) }, codexLines(10, codexMeta(codexID, ""),
			[2]string{"unheard", `{"words":{"of":["the aardvark"]}}`},
			[2]string{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"a capybara"}],"more":"the badger"}`})},
	} {
		t.Run(test.agent.Label(), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			appendTo(t, test.file(home), strings.Join(test.lines, "\n")+"\n")
			run := program(t, home, nil, everyAgent()...)
			for word, want := range map[string]string{"aardvark": "other\n", "badger": "other\n", "capybara": "prompt\n"} {
				if got := run("search", "--flat", "--scope", "all", "--format", "{kind}", "--quiet", word); got != want {
					t.Errorf("%s is found as %q, want %q", word, got, want)
				}
				if got := run("search", "--flat", "--format", "{kind}", "--quiet", word); strings.Contains(got, "other") {
					t.Errorf("%s is found without being asked for: %q", word, got)
				}
			}
			if n := status(t, run).documents("other"); n != 2 {
				t.Errorf("%d texts are counted as other", n)
			}
		})
	}
}

// A result of Claude Code with no more than the beginning of an output is counted.
// What else the line has of the output is found.
func TestPartialResults(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	result := func(id, content, more string) string {
		line := claudeLine("r"+id, `"a1"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c`+id+`","content":`+content+`}]}`)
		return strings.Replace(line, `"type":"user"`, `"type":"user",`+more+`"promptId":"p"`, 1)
	}
	const text = `<persisted-output>\nOutput too large (50.1KB). Full output saved to: /x/tool-results/c1.txt\n\nPreview (first 2KB):\nthe aardvark`
	appendTo(t, claudeFile(home), claudeLine("u1", "null", "user", `{"role":"user","content":"<persisted-output> is what I typed"}`)+
		claudeLine("a1", `"u1"`, "assistant", `{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"ls"}}]}`)+
		result("1", `"`+text+`"`, `"toolUseResult":{"stdout":"the aardvark\nand the badger","stderr":""},`)+
		result("2", `[{"type":"text","text":"`+text+`"}]`, "")+
		result("3", `"all of the capybara"`, ""))
	run := program(t, home, nil, everyAgent()...)
	run("index")
	if got := status(t, run); got.PartialResults != 2 {
		t.Errorf("%d results are partial", got.PartialResults)
	}
	if got := run("status"); !strings.Contains(got, "partial\t2 results have only the beginning of an output") {
		t.Errorf("the status: %s", got)
	}
	if got := run("search", "--flat", "--scope", "all", "--format", "{kind}", "--quiet", "badger"); got != "details\n" {
		t.Errorf("the rest of the output is found as %q", got)
	}
}

type statusAnswer struct {
	Kinds []struct {
		Kind      string
		Documents int
	}
	PartialResults int
}

func status(t *testing.T, run func(...string) string) (s statusAnswer) {
	t.Helper()
	if out := run("status", "--json", "--quiet"); json.Unmarshal([]byte(out), &s) != nil {
		t.Fatalf("status: %s", out)
	}
	return s
}

func (s statusAnswer) documents(kind string) int {
	for _, k := range s.Kinds {
		if k.Kind == kind {
			return k.Documents
		}
	}
	return 0
}
