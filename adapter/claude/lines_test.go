package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// node is a line in the tree: its id, the id of the line before, and more members.
func node(id, parent, members string) string {
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/u/app","sessionId":"s1","version":"2.1.0","gitBranch":"main",%s,"uuid":"%s","timestamp":"2026-03-01T10:00:00.000Z"}`, up, members, id)
}

// user is the line of a user with a content in JSON, and more members.
func user(id, parent, content string, more ...string) string {
	return node(id, parent, strings.Join(append([]string{`"type":"user","message":{"role":"user","content":` + content + `}`}, more...), ","))
}

// reply is a line of the reply m with a block in JSON, and what the reply used so far.
func reply(id, parent, m, block string, output int) string {
	return node(id, parent, fmt.Sprintf(`"type":"assistant","requestId":"r","message":{"id":"%s","type":"message","role":"assistant","model":"claude-opus-4-5-20251101","content":[%s],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":%d}}`, m, block, output))
}

func callBlockOf(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"%s","input":%s}`, id, name, input)
}

// result is the result of a call with a content in JSON, and more members of the line.
func result(id, parent, call, content string, more ...string) string {
	return user(id, parent, fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"%s","content":%s}]`, call, content), more...)
}

func failure(id, parent, call, content string) string {
	return user(id, parent, fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"%s","is_error":true,"content":%s}]`, call, content))
}

// shown writes an entry as "role or type|kind: text|kind: text".
func shown(e *session.Entry) string {
	s := cmp.Or(e.Role, e.Type)
	for _, p := range e.Parts {
		s += "|" + string(p.Kind) + ": " + string(p.Text)
	}
	return s
}

var lineTests = []struct{ name, line, want string }{
	{"prompt", user("u", "", `"fix it"`), "user|prompt: fix it"},
	{"prompt of blocks", user("u", "", `[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},{"type":"text","text":"this"}]`),
		"user|prompt: see|prompt: this"},
	{"only an image", user("u", "", `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`), "user|prompt: "},
	{"meta", user("u", "", `"Caveat: the messages below"`, `"isMeta":true`), "system|system: Caveat: the messages below"},
	{"command", user("u", "", `"<command-name>/init</command-name>\n <command-message>init</command-message>\n <command-args>fast</command-args>"`), "user|prompt: /init fast"},
	{"command without arguments", user("u", "", `"<command-name>/ide</command-name>\n<command-message>ide</command-message>\n<command-args></command-args>"`), "user|prompt: /ide"},
	{"command with a message", user("u", "", `"<command-message>init is analyzing</command-message>\n<command-name>/init</command-name>"`), "user|prompt: /init\n<command-message>init is analyzing</command-message>"},
	{"command and more", user("u", "", `"<command-name>/a</command-name> and more"`), "user|prompt: /a\nand more"},
	{"output of a command", user("u", "", `"<local-command-stdout>Goodbye!</local-command-stdout>"`), "bashExecution|shell: Goodbye!"},
	{"no output", user("u", "", `"<local-command-stdout></local-command-stdout>"`), "user"},
	{"shell", user("u", "", `"<bash-input>ls -la</bash-input>"`), "bashExecution|shell: ls -la"},
	{"output of a shell", user("u", "", `"<bash-stdout>total 0</bash-stdout><bash-stderr>odd</bash-stderr>"`), "bashExecution|shell: total 0|shell: odd"},
	{"leading tags", user("u", "", `"\ufeff <system-reminder>be brief</system-reminder>\n<ide_selection>a.go</ide_selection>\nfix <b>it</b>"`), "user|system: be brief|system: a.go|prompt: \nfix <b>it</b>"},
	{"only a tag", user("u", "", `"<ide_opened_file>The user opened a.go</ide_opened_file>"`), "system|system: The user opened a.go"},
	{"a tag that does not end", user("u", "", `"<system-reminder> is what I type"`), "user|prompt: <system-reminder> is what I type"},
	{"another tag", user("u", "", `"<html> is broken"`), "user|prompt: <html> is broken"},
	{"interruption", user("u", "", `[{"type":"text","text":"[Request interrupted by user for tool use]"}]`), "custom|note: [Request interrupted by user for tool use]"},
	{"notification", user("u", "", `"<task-notification>\n<task-id>b1</task-id>\n</task-notification>"`), "custom|note: <task-notification>\n<task-id>b1</task-id>\n</task-notification>"},
	{"notification with advice", user("u", "", `"<task-notification>x</task-notification>\nRead the output file."`), "custom|note: <task-notification>x</task-notification>\nRead the output file."},
	{"feedback of a hook", user("u", "", `"Stop hook feedback: run the tests"`), "custom|note: Stop hook feedback: run the tests"},
	{"summary", user("u", "", `"This session is being continued from a previous conversation that ran out"`), "compactionSummary|summary: This session is being continued from a previous conversation that ran out"},
	{"summary, marked", user("u", "", `"Did a.go"`, `"isCompactSummary":true`, `"isVisibleInTranscriptOnly":true`), "compactionSummary|summary: Did a.go"},
	{"plan", user("u", "", `"Implement: do a"`, `"planContent":"do a"`), "user|prompt: Implement: do a"},
	{"unknown member", user("u", "", `"hi"`, `"novelty":{"of":"newt"}`), "user|prompt: hi|other: newt"},
	{"spread message", user("u", "", `"hi"`, `"message":{"0":"h","1":"i"}`), "user|other: h\ni"},
	{"message of another shape", user("u", "", `"hi"`, `"message":"emu"`), "user|other: emu"},
	{"content of another shape", user("u", "", `{"type":"novel","text":"emu"}`), "user|other: emu"},

	{"reply", reply("a", "u", "m", `{"type":"text","text":"Done."}`, 1), "assistant|reply: Done."},
	{"reply with sources", reply("a", "u", "m", `{"type":"text","text":"Done.","citations":[{"cited_text":"as gnus do"}]}`, 1), "assistant|reply: Done.|other: as gnus do"},
	{"thinking", reply("a", "u", "m", `{"type":"thinking","thinking":"hm","signature":"SIG"}`, 1), "assistant|thinking: hm"},
	{"empty thinking", reply("a", "u", "m", `{"type":"thinking","thinking":"","signature":"SIG"},{"type":"redacted_thinking","data":"SIG"}`, 1), "assistant"},
	{"call", reply("a", "u", "m", callBlockOf("c", "Bash", `{"command":"ls -la","timeout":5}`), 1), "assistant|call: Bash\ncommand: ls -la\ntimeout: 5"},
	{"tool of the provider", reply("a", "u", "m", `{"type":"server_tool_use","id":"c","name":"web_search","input":{"query":"gnu"}},{"type":"web_search_tool_result","tool_use_id":"c","content":[{"type":"web_search_result","title":"Gnus","url":"https://gnu.example"}]}`, 1),
		"assistant|call: web_search\nquery: gnu|result: web_search_result\nGnus\nhttps://gnu.example"},
	{"unknown block", reply("a", "u", "m", `{"type":"fallback","from":{"model":"x"},"to":{"model":"y"}}`, 1), "assistant|other: x\ny"},
	{"failed", node("a", "u", `"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"m","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}`), "assistant|error: API Error: 529"},

	{"result", result("r", "a", "c", `"ok"`), "toolResult|result: ok"},
	{"result of blocks", result("r", "a", "c", `[{"type":"text","text":"one"},{"type":"tool_reference","tool_name":"WebFetch"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`), "toolResult|result: one|result: WebFetch"},
	{"details", result("r", "a", "c", `"ok\n"`, `"toolUseResult":{"stdout":"ok\n","stderr":"warn zebra","originalFile":"quokka"}`), "toolResult|result: ok\n|details: warn zebra"},
	{"details, a string", result("r", "a", "c", `"Exit code 1\nno"`, `"toolUseResult":"Error: Exit code 1\nno"`), "toolResult|result: Exit code 1\nno"},
	{"details of an edit", result("r", "a", "c", `"The file a.go has been updated"`, `"toolUseResult":{"filePath":"a.go","oldString":"gnu","newString":"gnat","originalFile":"quokka","structuredPatch":[{"lines":["-gnu","+gnat"]}],"userModified":false}`),
		"toolResult|result: The file a.go has been updated"},
	{"details of an edit that the person changed", result("r", "a", "c", `"updated a.go"`, `"toolUseResult":{"filePath":"a.go","oldString":"gnu","newString":"gnat","structuredPatch":[],"userModified":true}`),
		"toolResult|result: updated a.go|details: gnat"},
	{"details of an image", result("r", "a", "c", `[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`, `"toolUseResult":{"type":"image","file":{"base64":"QUJD","type":"image/png"}}`), "toolResult|result: seen|details: image/png"},
	{"details of a file that was read", result("r", "a", "c", `"     1→gnu"`, `"toolUseResult":{"type":"text","file":{"filePath":"a.go","content":"gnu","numLines":1}}`), "toolResult|result:      1→gnu|details: a.go"},

	{"progress", node("p", "a", `"type":"progress","toolUseID":"t","data":{"type":"agent_progress","prompt":"gnu","agentId":"a1","message":{"type":"user","uuid":"x","timestamp":"2026","message":{"role":"user","content":[{"type":"text","text":"gnat"}]}}}`), "progress|details: gnat"},
	{"progress of a command", node("p", "a", `"type":"progress","data":{"type":"bash_progress","output":"b\n","fullOutput":"a\nb\n"}`), "progress|details: b\n"},
	{"turn", node("s", "a", `"type":"system","subtype":"turn_duration","durationMs":5`), "system"},
	{"boundary", node("s", "", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","level":"info","compactMetadata":{"trigger":"auto","preTokens":9}`), "compaction|meta: Conversation compacted"},
	{"error of the service", node("s", "a", `"type":"system","subtype":"api_error","level":"error","error":{"status":529,"error":{"message":"overloaded"}},"retryInMs":5`), "system|error: overloaded"},
	{"command in a system line", node("s", "a", `"type":"system","subtype":"local_command","content":"<local-command-stdout>Set</local-command-stdout>","level":"info"`), "bashExecution|shell: Set"},
	{"recap", node("s", "a", `"type":"system","subtype":"away_summary","content":"Was at a.go"`), "custom_message|summary: Was at a.go"},
	{"unknown system line", node("s", "a", `"type":"system","subtype":"novel","content":"emu"`), "system|other: emu"},
	{"skills", node("t", "a", `"type":"attachment","attachment":{"type":"skill_listing","content":"- skill: does","isInitial":true}`), "attachment|system: - skill: does"},
	{"hook", node("t", "a", `"type":"attachment","attachment":{"type":"hook_success","hookName":"Stop","toolUseID":"x","hookEvent":"Stop","content":"ran","stdout":"ran","stderr":"","exitCode":0}`), "attachment|details: ran\nStop"},
	{"file", node("t", "a", `"type":"attachment","attachment":{"type":"file","filename":"a.go","content":{"type":"text","file":{"filePath":"/b/a.go","content":"gnu"}}}`), "attachment|details: /b/a.go\ngnu\na.go"},
	{"unknown attachment", node("t", "a", `"type":"attachment","attachment":{"type":"novel","say":"emu"}`), "attachment|details: emu"},
	{"queued prompt", node("t", "a", `"type":"attachment","attachment":{"type":"queued_command","prompt":"go on","commandMode":"prompt"}`), "user|prompt: go on"},
	{"queued notification", node("t", "a", `"type":"attachment","attachment":{"type":"queued_command","prompt":"<task-notification>x</task-notification>","commandMode":"task-notification"}`), "custom_message|note: <task-notification>x</task-notification>"},

	{"snapshot", `{"type":"file-history-snapshot","messageId":"u","snapshot":{"trackedFileBackups":{"a.go":{"backupFileName":"h@v1"}}},"isSnapshotUpdate":false}`, "file-history-snapshot"},
	{"title", `{"type":"custom-title","customTitle":"Fix it","sessionId":"s1"}`, "session_info|title: Fix it"},
	{"summary line", `{"type":"summary","summary":"Old work","leafUuid":"x"}`, "session_info|title: Old work"},
	{"tag", `{"type":"tag","tag":"later","sessionId":"s1"}`, "label|label: later"},
	{"last prompt", `{"type":"last-prompt","lastPrompt":"fix…","leafUuid":"a","sessionId":"s1"}`, "leaf|data: fix…"},
	{"mode", `{"type":"mode","mode":"normal","sessionId":"s1"}`, "mode|data: normal"},
	{"unknown line", `{"type":"novel","sessionId":"s1","say":{"what":["emu"]}}`, "novel|other: emu"},
	{"no type", `{"say":"emu"}`, "|other: emu"},
}

// Each kind of line has its text in parts of the right kinds.
func TestLines(t *testing.T) {
	for _, tt := range lineTests {
		t.Run(tt.name, func(t *testing.T) {
			entries, problems, _ := parseLines(t, tt.line)
			if len(entries) != 1 || len(problems) > 0 {
				t.Fatalf("%d entries, problems %v", len(entries), problems)
			}
			if got := shown(&entries[0]); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// After a second /compact, a file has the lines before once more.
func TestCopiesInOneFile(t *testing.T) {
	before := []string{
		user("u1", "", `"fix it"`), reply("a1", "u1", "m1", `{"type":"text","text":"I look."}`, 1),
		reply("a2", "a1", "m1", callBlockOf("c1", "Bash", `{"command":"ls"}`), 8), result("r2", "a2", "c1", `"a.go"`),
	}
	boundary := func(id, last string) string {
		return node(id, "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"`+last+`","content":"Conversation compacted"`)
	}
	once := slices.Concat(before, []string{boundary("b1", "r2"), user("s1", "b1", `"Did a.go"`, `"isCompactSummary":true`)})
	lines := slices.Concat(once, before, []string{boundary("b2", "r2"), user("s2", "b2", `"Did b.go"`, `"isCompactSummary":true`)})
	entries, _, _ := parseLines(t, lines...)
	var texts []string
	for _, e := range visible(entries) {
		texts = append(texts, fmt.Sprint(e.Line, " ", shown(&e)))
	}
	want := []string{
		"1 user|prompt: fix it", "2 assistant|reply: I look.", "3 assistant|call: Bash\ncommand: ls", "4 toolResult|result: a.go",
		"5 compaction|meta: Conversation compacted", "6 compactionSummary|summary: Did a.go",
		"11 compaction|meta: Conversation compacted", "12 compactionSummary|summary: Did b.go",
	}
	if diff := gocmp.Diff(want, texts); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	used := make(map[uint64]int64)
	for i, e := range entries {
		if e.Facts != nil && e.Facts.HasUsage {
			used[e.Facts.UsageOf] = e.Facts.Usage.Output
		}
		if i >= len(once) && i < len(once)+len(before) && (e.ID != entries[i-len(once)].ID || e.Copy != entries[i-len(once)].Copy || e.ParentID != entries[i-len(once)].ParentID) {
			t.Errorf("line %d is no copy of line %d: %+v", e.Line, i-len(once)+1, e)
		}
	}
	if len(used) != 1 || used[entries[1].Facts.UsageOf] != 8 {
		t.Errorf("usage by response %v, want one of 8 tokens", used)
	}
}

// A compaction follows what it summarizes.
func TestCompaction(t *testing.T) {
	entries, problems, _ := parseLines(t, user("u1", "", `"fix it"`),
		node("b1", "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"u1","compactMetadata":{"preservedMessages":{"uuids":["u1"],"anchorUuid":"s"}}`),
		node("b2", "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"of-another-file","compactMetadata":{"preservedSegment":{"headUuid":"h"}}`))
	if len(problems) > 0 || entries[1].ParentID != "u1" || entries[1].FirstKeptID != "u1" || entries[2].ParentID != "of-another-file" || entries[2].FirstKeptID != "h" {
		t.Errorf("problems %v, entries %+v", problems, entries)
	}
}

// Bytes of a crash, torn and fused lines hide nothing else.
func TestBrokenLines(t *testing.T) {
	entries, problems, end := parse(t, sessionFile, []byte("\xef\xbb\xbf\x00\x00"+user("u1", "", `"fix it"`)+"\n"+
		user("u2", "u1", `"one"`)+user("u3", "u2", `"two"`)+"\n\noops\n[1]\n"+`{"type":"user","message":{"role":"us`))
	var got []string
	for _, e := range entries {
		got = append(got, shown(&e))
	}
	if diff := gocmp.Diff([]string{"user|prompt: fix it", "user|prompt: one", "user|prompt: two"}, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if len(problems) != 3 || problems[0].Line != 4 || problems[1].Torn || !problems[2].Torn || end.Lines != 6 {
		t.Errorf("problems %+v, state %+v", problems, end)
	}
}

// The first thing that the user typed titles a session: no output, nothing that Claude Code
// wrote. Commands (here with a !) are known as such.
func TestPrompts(t *testing.T) {
	entries, _, _ := parseLines(t,
		user("u1", "", `"<local-command-caveat>Caveat: x</local-command-caveat>"`, `"isMeta":true`),
		user("u2", "u1", `"<command-name>/init</command-name><command-args>fast</command-args>"`),
		user("u3", "u2", `"<local-command-stdout>done</local-command-stdout>"`),
		user("u4", "u3", `"/usage"`),
		user("u5", "u4", `[{"type":"text","text":"<system-reminder>be brief</system-reminder>"},{"type":"text","text":"fix it"},{"type":"text","text":"now"}]`),
		user("u6", "u5", `"/usr/bin fails"`), user("u7", "u6", `"[Request interrupted by user]"`),
		user("u8", "u7", `"<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n<command-args>12 all</command-args>"`),
		user("u9", "u8", `"Another Claude session sent a message:\n<agent-message from=\"a\">done</agent-message>"`),
		user("u10", "u9", `"<uploaded_files>\na.txt\n</uploaded_files>\nsum it up"`))
	var got []string
	for _, e := range entries {
		if e.Command != "" {
			e.UserText = "!" + e.Command
		}
		got = append(got, e.UserText)
	}
	if diff := gocmp.Diff([]string{"", "!/init fast", "", "!/usage", "fix it now", "/usr/bin fails", "", "!/review 12 all", "", "sum it up"}, got); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

func queue(operation, content string) string {
	if content != "" {
		content = `,"content":"` + content + `"`
	}
	return `{"type":"queue-operation","operation":"` + operation + `","timestamp":"2026-03-01T10:00:00.000Z","sessionId":"s1"` + content + `}`
}

func attached(id, parent, prompt string) string {
	return node(id, parent, `"type":"attachment","attachment":{"type":"queued_command","prompt":"`+prompt+`","commandMode":"prompt"}`)
}

var queueTests = []struct {
	name  string
	lines []string
	want  []int // lines with a prompt
}{
	{"its own turn", []string{queue("enqueue", "go on"), queue("dequeue", ""), user("u", "", `"go on"`)}, []int{3}},
	{"the line before the mark", []string{queue("enqueue", "go on"), user("u", "", `"go on\n"`), queue("dequeue", "")}, []int{2}},
	{"in the running turn, of old versions", []string{queue("enqueue", "go on"), queue("remove", ""), user("u", "", `"go on"`)}, []int{1, 3}},
	{"in the running turn", []string{queue("enqueue", "go on"), queue("remove", ""), attached("t", "", "go on")}, []int{3}},
	{"twice the same", []string{queue("enqueue", "go on"), queue("enqueue", "go on"), queue("remove", ""), queue("dequeue", ""), user("u", "", `"go on"`)}, []int{1, 5}},
	{"typed again later", []string{queue("enqueue", "go on"), queue("dequeue", ""), user("u", "", `"go on"`), user("v", "u", `"go on"`)}, []int{3, 4}},
	{"several as one", []string{queue("enqueue", "one"), queue("enqueue", "two"), queue("dequeue", ""), user("u", "", `"one\ntwo"`)}, []int{4}},
	{"a command", []string{queue("enqueue", "/compact now"), queue("dequeue", ""), user("u", "", `"<command-name>/compact</command-name>\n<command-args>now</command-args>"`)}, []int{3}},
	{"never typed", []string{queue("enqueue", "go on"), queue("popAll", "go on")}, []int{1}},
	{"a notification", []string{queue("enqueue", "<task-notification>x</task-notification>"), queue("dequeue", ""), user("u", "", `"<task-notification>x</task-notification>"`)}, nil},
	{"by its text", []string{queue("enqueue", "one"), queue("enqueue", "two"), queue("remove", "two"), user("u", "", `"one"`)}, []int{2, 4}},
}

// A prompt that waited in the queue stands once, wherever it went.
func TestQueue(t *testing.T) {
	for _, tt := range queueTests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, _ := parseLines(t, tt.lines...)
			var got []int
			for _, e := range visible(entries) {
				if len(e.Parts) > 0 && e.Parts[0].Kind == session.KindPrompt {
					got = append(got, e.Line)
				}
				if e.Pending && len(tt.want) == 0 {
					t.Errorf("line %d is left", e.Line)
				}
				if e.Pending && (e.Facts != nil || !e.Apart) {
					t.Errorf("a prompt in the queue has facts or is in the tree: %+v", e)
				}
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines with a prompt (-want +got):\n%s", diff)
			}
		})
	}
}

// places writes the place of each entry: "id<parent", and whether it is beside the branch.
func places(entries []session.Entry) (list []string) {
	for _, e := range entries {
		s := e.ID + "<" + e.ParentID
		if e.Aside {
			s += " aside"
		}
		if e.Side != "" {
			s += " of " + e.Side
		}
		list = append(list, s)
	}
	return list
}

func text(s string) string { return `{"type":"text","text":"` + s + `"}` }

func bash(id string) string { return callBlockOf(id, "Bash", `{"command":"ls"}`) }

func progress(id, parent string) string {
	return node(id, parent, `"type":"progress","data":{"type":"hook_progress","hookName":"h"}`)
}

// of makes a line that of a subagent.
func of(line string) string {
	return strings.Replace(line, `"isSidechain":false`, `"isSidechain":true`, 1)
}

var placeTests = []struct {
	name        string
	lines, want []string
}{
	{"parallel results", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), reply("a2", "a1", "m1", bash("c2"), 1),
		result("r1", "a1", "c1", `"x"`), result("r2", "a2", "c2", `"x"`), reply("a3", "r2", "m2", text("done"), 1),
	}, []string{"u1<", "a1<u1", "a2<a1", "r1<a1 aside", "r2<a2", "a3<r2"}},
	{"parallel results, the first one last", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), reply("a2", "a1", "m1", bash("c2"), 1),
		result("r2", "a2", "c2", `"x"`), result("r1", "a1", "c1", `"x"`), reply("a3", "r1", "m2", text("done"), 1),
	}, []string{"u1<", "a1<u1", "a2<a1", "r2<a2", "r1<a1 aside", "a3<r2"}},
	{"a result between the lines of a message", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), result("r1", "a1", "c1", `"x"`),
		reply("a2", "a1", "m1", bash("c2"), 1), result("r2", "a2", "c2", `"x"`),
	}, []string{"u1<", "a1<u1", "r1<a1", "a2<r1", "r2<a2"}},
	{"progress", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), progress("p1", "a1"), progress("p2", "p1"),
		result("r1", "a1", "c1", `"x"`), progress("p3", "r1"), reply("a2", "p3", "m2", text("done"), 1),
	}, []string{"u1<", "a1<u1", "p1<a1 aside", "p2<p1 aside", "r1<a1", "p3<r1 aside", "a2<r1"}},
	{"progress first", []string{progress("p1", ""), user("u1", "p1", `"go"`)}, []string{"p1<", "u1<p1"}},
	{"a branch", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), result("r1", "a1", "c1", `"x"`), reply("a2", "r1", "m2", text("done"), 1),
		user("u2", "u1", `"other"`), reply("a3", "u2", "m3", text("done"), 1),
	}, []string{"u1<", "a1<u1", "r1<a1", "a2<r1", "u2<u1", "a3<u2"}},
	{"an answer again", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", text("no"), 1), reply("a2", "u1", "m2", text("yes"), 1),
	}, []string{"u1<", "a1<u1", "a2<u1"}},
	{"subagents in the file", []string{
		user("u1", "", `"go"`), reply("a1", "u1", "m1", bash("c1"), 1), of(user("x1", "", `"task"`)), of(user("y1", "", `"task"`)),
		of(reply("x2", "x1", "n1", text("a"), 1)), of(reply("y2", "y1", "n2", text("b"), 1)), of(reply("x3", "x2", "n3", text("c"), 1)), result("r1", "a1", "c1", `"x"`),
	}, []string{"u1<", "a1<u1", "x1< of sidechain", "y1< of sidechain", "x2<x1 of sidechain", "y2<y1 of sidechain", "x3<x2 of sidechain", "r1<a1"}},
}

// Lines continue the branch, hang beside it, or begin another.
func TestPlaces(t *testing.T) {
	for _, tt := range placeTests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, _ := parseLines(t, tt.lines...)
			if diff := gocmp.Diff(tt.want, places(entries)); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

// A file without a line of Claude Code is no session.
func TestNoSession(t *testing.T) {
	entries, _, end := parseLines(t, `{"type":"novel","say":"emu"}`, `{}`)
	if len(entries) != 2 || end.Header.Version != 0 || end.Header.ID != "" {
		t.Errorf("%d entries, header %+v", len(entries), end.Header)
	}
}
