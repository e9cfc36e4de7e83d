package claude

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/internal/session"
)

// What calls do, and how they end.
func TestFacts(t *testing.T) {
	unknown := session.Outcome{Exit: session.Unknown, Duration: session.Unknown}
	ended := func(change func(*session.Outcome)) session.Outcome {
		o := unknown
		change(&o)
		return o
	}
	call := func(tool, input string) string { return reply("a", "u", "m", callBlockOf("c", tool, input), 1) }
	tests := []struct {
		name, line string
		calls      []session.EntryCall
		outcome    session.Outcome
	}{
		{"command", call("Bash", `{"command":"ls -la","dangerouslyDisableSandbox":true}`), []session.EntryCall{
			{ID: "c", Tool: "Bash", Deed: session.DeedRun, Text: []byte("command: ls -la\ndangerouslyDisableSandbox: true"), Command: []byte("ls -la"), Escapes: true, Outcome: unknown}}, unknown},
		{"PowerShell", call("PowerShell", `{"command":"dir"}`), []session.EntryCall{
			{ID: "c", Tool: "PowerShell", Deed: session.DeedRun, Dialect: session.DialectPowerShell, Text: []byte("command: dir"), Command: []byte("dir"), Outcome: unknown}}, unknown},
		{"edit", call("Edit", `{"file_path":"a.go"}`), []session.EntryCall{
			{ID: "c", Tool: "Edit", Deed: session.DeedEdit, Text: []byte("file_path: a.go"), Files: []session.FileUse{{Path: "a.go"}}, Outcome: unknown}}, unknown},
		{"tool of others", call("mcp__x__y", `{"path":"a"}`), []session.EntryCall{{ID: "c", Tool: "mcp__x__y", Text: []byte("path: a"), Outcome: unknown}}, unknown},
		{"two calls", reply("a", "u", "m", text("I look.")+","+callBlockOf("c", "TodoWrite", `{}`)+","+callBlockOf("d", "Task", `{}`), 1), []session.EntryCall{
			{Part: 1, ID: "c", Tool: "TodoWrite", Deed: session.DeedPlan, Text: []byte{}, Outcome: unknown}, {Part: 2, ID: "d", Tool: "Task", Deed: session.DeedDelegate, Text: []byte{}, Outcome: unknown}}, unknown},
		{"shell of the user", user("u", "", `"<bash-input>make</bash-input>"`), []session.EntryCall{
			{Kind: session.CallShell, Tool: session.ShellTool, Deed: session.DeedRun, Command: []byte("make"), Outcome: unknown}}, unknown},

		{"success", result("r", "a", "c", `"ok"`, `"toolUseResult":{"durationMs":7}`), nil, ended(func(o *session.Outcome) { o.Bytes, o.Duration = 2, 7 })},
		{"failure", failure("r", "a", "c", `"Exit code 2\nno"`), nil, ended(func(o *session.Outcome) { o.Failed, o.Exit, o.Bytes = true, 2, 14 })},
		{"rejected", failure("r", "a", "c", `"The user doesn't want to proceed with this tool use."`), nil, ended(func(o *session.Outcome) { o.Rejected, o.Bytes = true, 52 })},
		{"not permitted", failure("r", "a", "c", `"Claude requested permissions to write to a"`), nil, ended(func(o *session.Outcome) { o.Rejected, o.Bytes = true, 42 })},
		{"nothing found", result("r", "a", "c", `""`, `"toolUseResult":{"stdout":"","returnCodeInterpretation":"No matches found"}`), nil, ended(func(o *session.Outcome) { o.NoMatch = true })},
		{"of a subagent", result("r", "a", "c", `"did it"`, `"toolUseResult":{"totalTokens":90000,"totalDurationMs":12,"usage":{"output_tokens":90000}}`), nil, ended(func(o *session.Outcome) { o.Bytes, o.Duration = 6, 12 })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, _ := parseLines(t, tt.line)
			f := entries[0].Facts
			if f == nil {
				t.Fatal("no facts")
			}
			if diff := cmp.Diff(tt.calls, f.Calls, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.outcome, f.Outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if f.IsResult == (tt.calls != nil) || f.IsResult && f.HasUsage {
				t.Errorf("facts %+v", f)
			}
		})
	}
}

// Each line of a reply says what it used so far; what Claude Code wrote itself used nothing.
func TestUsage(t *testing.T) {
	entries, _, _ := parseLines(t,
		reply("a1", "u", "m1", text("one"), 1), reply("a2", "a1", "m1", text("two"), 9), reply("a3", "a2", "m2", text("three"), 4),
		node("a4", "a3", `"type":"assistant","message":{"id":"x","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}],"usage":{"input_tokens":0,"output_tokens":0}}`),
		node("a5", "a4", `"type":"assistant","costUSD":0.5,"message":{"role":"assistant","model":"glm-4","content":"hi","usage":{"input_tokens":-1,"output_tokens":2,"cache_creation_input_tokens":6}}`))
	first, second, third, bad := entries[0].Facts, entries[1].Facts, entries[2].Facts, entries[4].Facts
	if first.UsageOf != second.UsageOf || first.UsageOf == third.UsageOf || first.UsageOf == 0 || entries[0].Message != "m1" {
		t.Errorf("responses %d, %d, %d", first.UsageOf, second.UsageOf, third.UsageOf)
	}
	if want := (session.Usage{Input: 3, Output: 9, CacheRead: 5, NoCost: true}); second.Usage != want {
		t.Errorf("usage %+v, want %+v", second.Usage, want)
	}
	if entries[3].Facts != nil || entries[3].Model != "" {
		t.Errorf("what is no reply: %+v", entries[3])
	}
	if want := (session.Usage{Output: 2, CacheWrite: 6, Cost: 0.5, Unusable: true}); bad.Usage != want || bad.UsageOf != 0 || entries[4].Provider != "" || entries[0].Provider != "anthropic" {
		t.Errorf("usage %+v, want %+v; providers %q and %q", bad.Usage, want, entries[0].Provider, entries[4].Provider)
	}
}

// What an adviser used counts for its own model, and making room for the context for that of the reply.
func TestIterations(t *testing.T) {
	iterations := func(usage string) *session.EntryFacts {
		line := strings.Replace(reply("a", "u", "m", text("done"), 1), `"usage":{`, `"usage":{"speed":"fast",`+usage+`,`, 1)
		entries, _, _ := parseLines(t, line)
		return entries[0].Facts
	}
	f := iterations(`"iterations":[{"type":"message","input_tokens":2},{"type":"advisor_message","model":"claude-opus-4-7","input_tokens":159419,"output_tokens":7805},{"type":"compaction","input_tokens":100000,"output_tokens":3500}]`)
	if u := f.Usage; u.Input != 100003 || u.Output != 3501 || !u.Faster {
		t.Errorf("usage %+v", u)
	}
	want := []session.OtherUsage{{Model: "anthropic/claude-opus-4-7", Usage: session.Usage{Input: 159419, Output: 7805, NoCost: true}}}
	if diff := cmp.Diff(want, f.Others); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
	if f := iterations(`"iterations":"none"`); len(f.Others) != 0 || f.Usage.Input != 3 {
		t.Errorf("no list: %+v", f)
	}
}

// A session's names have ranks, and those of other sessions have a target.
func TestNames(t *testing.T) {
	entries, _, end := parseLines(t, `{"type":"summary","summary":"Other","leafUuid":"x"}`, user("u", "", `"hi"`),
		`{"type":"ai-title","aiTitle":"Guess","sessionId":"s1"}`, `{"type":"custom-title","customTitle":"Mine","sessionId":"s1"}`, `{"type":"agent-name","agentName":"Bob","sessionId":"s1"}`)
	if entries[0].TargetID != "x" || entries[0].NameRank >= entries[2].NameRank || entries[2].NameRank >= entries[4].NameRank || entries[4].NameRank >= entries[3].NameRank || entries[3].Name != "Mine" {
		t.Errorf("names %+v", entries)
	}
	h := end.Header
	if h.ID != "01234567-89ab-cdef-0123-456789abcdef" || h.CWD != "/home/u/app" || h.Git != "main" || h.Version != 2 || h.Timestamp.IsZero() {
		t.Errorf("header %+v", h)
	}
}

// The file of a subagent names the session that it works for.
func TestSubagentFile(t *testing.T) {
	line := of(user("u", "", `"find it"`, `"agentId":"a1"`))
	for path, parent := range map[string]string{
		"/p/01234567-89ab-cdef-0123-456789abcdef/subagents/agent-a1.jsonl":             "01234567-89ab-cdef-0123-456789abcdef",
		"/p/01234567-89ab-cdef-0123-456789abcdef/subagents/workflows/w/agent-a1.jsonl": "01234567-89ab-cdef-0123-456789abcdef",
		"/p/agent-a1.jsonl": "s1",
	} {
		entries, _, end := parse(t, path, []byte(line+"\n"))
		h := end.Header
		if h.ID != "agent-a1" || h.ParentSession != parent || h.Relation != session.Spawned || entries[0].Side != "" || entries[0].UserText != "find it" {
			t.Errorf("%s: header %+v, entry %+v", path, h, entries[0])
		}
	}
}

// A command that goes on in the background ends in a later result.
func TestBackground(t *testing.T) {
	entries, _, _ := parseLines(t,
		reply("a1", "", "m1", callBlockOf("c1", "Bash", `{"command":"make","run_in_background":true}`), 1),
		result("r1", "a1", "c1", `"Command running in background with ID: b1"`, `"toolUseResult":{"stdout":"","backgroundTaskId":"b1"}`),
		reply("a2", "r1", "m2", callBlockOf("c2", "TaskOutput", `{"task_id":"b1"}`), 1),
		result("r2", "a2", "c2", `"done"`, `"toolUseResult":{"retrieval_status":"success","task":{"task_id":"b1","exitCode":2}}`),
		result("r3", "r2", "c3", `"done"`, `"toolUseResult":{"shellId":"b1","exitCode":0}`), result("r4", "r3", "c4", `"done"`, `"toolUseResult":{"shellId":"b2"}`))
	for i, want := range map[int]string{1: "", 3: "c1", 4: "c1", 5: ""} {
		if got := entries[i].Facts.Amends; got != want {
			t.Errorf("line %d amends %q, want %q", i+1, got, want)
		}
	}
	if f := entries[3].Facts; f.Exit != 2 || !f.Failed || entries[2].Facts.Calls[0].Deed != session.DeedPoll {
		t.Errorf("facts %+v", f)
	}
}

// A session that begins with lines of another one is a copy of it.
func TestCopies(t *testing.T) {
	theirs := strings.ReplaceAll(user("u", "", `"hi"`), `"sessionId":"s1"`, `"sessionId":"11111111-89ab-cdef-0123-456789abcdef"`)
	own := strings.ReplaceAll(user("v", "u", `"on"`), `"sessionId":"s1"`, `"sessionId":"01234567-89ab-cdef-0123-456789abcdef"`)
	for _, lines := range [][]string{
		{theirs, own},
		{strings.Replace(own, `{"parentUuid"`, `{"forkedFrom":{"sessionId":"11111111-89ab-cdef-0123-456789abcdef","messageUuid":"u"},"parentUuid"`, 1)},
	} {
		if _, _, end := parseLines(t, lines...); end.Header.Relation != session.Copied || end.Header.ParentSession != "11111111-89ab-cdef-0123-456789abcdef" {
			t.Errorf("header %+v", end.Header)
		}
	}
	if _, _, end := parseLines(t, own, theirs); end.Header.Relation != session.Unrelated {
		t.Errorf("header %+v", end.Header)
	}
	if _, _, end := parseLines(t, own, `{"type":"relocated","relocatedCwd":"/new","sessionId":"s1"}`); end.Header.CWD != "/new" {
		t.Errorf("header %+v", end.Header)
	}
}
