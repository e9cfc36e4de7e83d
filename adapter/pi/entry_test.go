package pi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// partString writes a part as "kind: text", with its tool and call where it has them.
func partString(p session.Part) string {
	s := string(p.Kind)
	if p.Tool != "" || p.ToolCallID != "" {
		s += "(" + p.Tool + " " + p.ToolCallID + ")"
	}
	return s + ": " + string(p.Text)
}

func shown(e session.Entry) []string {
	var all []string
	for _, p := range e.Parts {
		all = append(all, partString(p))
	}
	return all
}

// message wraps a message in an entry.
func messageLine(m string) string {
	return `{"type":"message","id":"e","parentId":"p","timestamp":"2026-01-02T03:04:05.678Z","message":` + m + `}`
}

func TestParts(t *testing.T) {
	tests := []struct {
		name, entry string
		want        []string
	}{
		{"user, content a string", messageLine(`{"role":"user","content":"hi\nthere"}`), []string{"prompt: hi\nthere"}},
		{"user, blocks", messageLine(`{"role":"user","content":[{"type":"text","text":"one"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"two"}]}`),
			[]string{"prompt: one", "prompt: two"}},
		{"user, content one block", messageLine(`{"role":"user","content":{"type":"text","text":"one"}}`), []string{"prompt: one"}},
		{"user, a string among blocks", messageLine(`{"role":"user","content":["one",{"type":"text","text":"two"}]}`), []string{"prompt: one", "prompt: two"}},
		{"content null", messageLine(`{"role":"user","content":null}`), nil},
		{"content absent", messageLine(`{"role":"user"}`), nil},
		{"content empty", messageLine(`{"role":"user","content":""}`), nil},
		{"content of numbers", messageLine(`{"role":"user","content":[1,null,true,[]]}`), nil},
		{"attachments", messageLine(`{"role":"user","content":"see","attachments":[
			{"id":"1","type":"image","fileName":"a.png","mimeType":"image/png","size":3,"content":"QUJD","preview":"QUJD"},
			{"id":"2","type":"document","fileName":"b.txt","mimeType":"text/plain","content":"QUJD","extractedText":"inside"},
			{"id":"3","extractedText":"no name"}]}`),
			[]string{"prompt: see", "prompt: a.png", "prompt: b.txt\ninside", "prompt: no name"}},

		{"assistant", messageLine(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"SIG"},{"type":"text","text":"yes","textSignature":"SIG"},
			{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls -la","timeout":5},"thoughtSignature":"SIG","partialJson":"{\"comm"}],
			"api":"a","provider":"p","model":"m","usage":{"input":1},"stopReason":"toolUse","responseId":"r","responseModel":"rm","durationMs":7}`),
			[]string{"thinking: hm", "reply: yes", "call(bash c1): bash\ncommand: ls -la\ntimeout: 5"}},
		{"redacted thinking", messageLine(`{"role":"assistant","content":[{"type":"thinking","thinking":"","redacted":true,"thinkingSignature":"SIG"}]}`), nil},
		{"error", messageLine(`{"role":"assistant","content":[],"stopReason":"error","errorMessage":"529 overloaded"}`), []string{"error: error: 529 overloaded"}},
		{"error without a reason", messageLine(`{"role":"assistant","errorMessage":"529"}`), []string{"error: 529"}},
		{"error before the content", messageLine(`{"errorMessage":"529","stopReason":"aborted","content":"x","role":"assistant"}`), []string{"reply: x", "error: aborted: 529"}},
		{"diagnostics", messageLine(`{"role":"assistant","content":"x","diagnostics":[{"type":"d","error":{"message":"odd"}}]}`), []string{"reply: x", "other: d\nodd"}},

		{"call arguments", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"a.ts",
			"edits":[{"old":"x\n\ty","new":"z"},{"old":"","new":"w"}],"o":{"deep":{"list":[1,true,null,"s",1e400]}},"e":{},"l":[]}}]}`),
			[]string{"call(edit c): edit\npath: a.ts\nedits.0.old: x\n\ty\nedits.0.new: z\nedits.1.old: \nedits.1.new: w\no.deep.list.0: 1\no.deep.list.1: true\no.deep.list.2: null\no.deep.list.3: s\no.deep.list.4: 1e400\ne: {}\nl: []"}},
		{"call, left-overs of streaming", messageLine(`{"role":"assistant","content":[
			{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"},"partialArgs":"{\"command\":\"ls\"}","streamIndex":0},
			{"type":"toolCall","id":"d","name":"read","arguments":{"partialArgs":"mine"},"partialJson":"{\"pa","partialArgs":{"path":"x"},"streamIndex":"1"}]}`),
			[]string{"call(bash c): bash\ncommand: ls", "call(read d): read\npartialArgs: mine"}},
		{"call in details, left-overs of streaming", messageLine(`{"role":"toolResult","toolName":"subagent","content":"done","details":{"messages":[
			{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"},"partialArgs":"{\"com","partialJson":"{\"","streamIndex":"0"}]}]}}`),
			[]string{"result(subagent ): done", "details(subagent ): assistant\ntoolCall\nc\nbash\nls"}},
		{"call, arguments a string", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":"{half"}]}`), []string{"call(n c): n\n{half"}},
		{"call, arguments a list", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":["a",["b"]]}]}`), []string{"call(n c): n\n0: a\n1.0: b"}},
		{"call, no arguments", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}},{"type":"toolCall","name":"o"}]}`), []string{"call(n c): n", "call(o ): o"}},
		{"call, the last of the same keys", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{"a":"1","b":{"x":"2","x":"3"},"a":"4","\u0062":"5"}}]}`),
			[]string{"call(n c): n\na: 4\nb: 5"}},
		{"call, an image among the arguments", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{"i":{"data":"QUJD","type":"image","alt":"cat"},"f":{"data":"text","mimeType":"text/plain"}}}]}`),
			[]string{"call(n c): n\ni.type: image\ni.alt: cat\nf.data: text\nf.mimeType: text/plain"}},
		{"call, more in the block", messageLine(`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{},"argumentsError":"bad","namespace":"ns"}]}`), []string{"call(n c): n", "other: bad\nns"}},

		{"result", messageLine(`{"role":"toolResult","toolCallId":"c1","toolName":"edit","content":[{"type":"text","text":"done: src/a.ts"},{"type":"image","data":"QUJD","mimeType":"image/png"}],
			"details":{"diff":"-a\n+b","path":"src/a.ts","n":3},"isError":false,"durationMs":3,"usage":{}}`),
			[]string{"result(edit c1): done: src/a.ts", "details(edit c1): -a\n+b"}},
		{"details before the content", messageLine(`{"role":"toolResult","details":"a word","content":"has a word","toolName":"t","toolCallId":"c"}`), []string{"result(t c): has a word"}},
		{"details with an image", messageLine(`{"role":"toolResult","content":"x","details":{"content":[{"type":"image","data":"QUJD","mimeType":"image/png"},{"data":"QUJD","mimeType":"image/png","k":"v"}]}}`),
			[]string{"result: x", "details: image\nimage/png\nimage/png\nv"}},
		{"nested calls", messageLine(`{"role":"toolResult","toolCallId":"c1","toolName":"code","content":"ok","nestedCalls":{"complete":false,"calls":[
			{"id":"c1/0","name":"bash","arguments":{"command":"make"},"status":"ok","durationMs":1},{"id":"c1/1","name":"read","status":"error","error":"no such file","argumentsBytes":9000}]}}`),
			[]string{"result(code c1): ok", "call(bash c1/0): bash\ncommand: make", "call(read c1/1): read", "other(code c1): no such file"}},

		{"shell", messageLine(`{"role":"bashExecution","command":"make","output":"ok\n","exitCode":0,"cancelled":false,"truncated":true,"fullOutputPath":"/tmp/x","excludeFromContext":true}`), []string{"shell: make\nok\n"}},
		{"shell without output", messageLine(`{"role":"bashExecution","command":"make","output":""}`), []string{"shell: make"}},
		{"custom role", messageLine(`{"role":"custom","customType":"t","content":"note","display":true,"details":{"a":"more"}}`), []string{"note: note", "details: more"}},
		{"hookMessage role", messageLine(`{"role":"hookMessage","customType":"t","content":[{"type":"text","text":"note"}]}`), []string{"note: note"}},
		{"summary roles", messageLine(`{"role":"compactionSummary","summary":"short","tokensBefore":4}`), []string{"summary: short"}},
		{"branch summary role", messageLine(`{"role":"branchSummary","summary":"short","fromId":"abc"}`), []string{"summary: short"}},
		{"system", messageLine(`{"role":"system","content":"You are pi. Use grep.","sections":{"preamble":"You are pi.","tools":"Use find."},"toolsAdded":[{"name":"grep","description":"finds text"}],"toolsRemoved":[]}`),
			[]string{"system: You are pi. Use grep.", "system: Use find.\nfinds text"}},
		{"unknown role", messageLine(`{"role":"artifact","filename":"x.html","content":"emu","n":1,"k":{"l":["m"]}}`), []string{"other: x.html\nemu\nm"}},
		{"unknown role, blocks", messageLine(`{"role":"artifact","content":[{"type":"text","text":"emu"},{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"thinking","thinking":"hm"}]}`), []string{"thinking: hm", "other: emu"}},
		{"no role", messageLine(`{"content":"who"}`), []string{"other: who"}},
		{"unknown block", messageLine(`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool","id":"x","query":"q","source":{"type":"base64","media_type":"image/png","data":"QUJD"}},{"type":"text","text":"b"}]}`),
			[]string{"reply: a", "reply: b", "other: q\nbase64\nimage/png"}},
		{"block without a type", messageLine(`{"role":"assistant","content":[{"text":"a"}]}`), []string{"other: a"}},
		{"unknown members", `{"type":"message","id":"e","extra":"top","message":{"role":"user","content":[{"type":"text","text":"a","cache":{"kind":"c"}}],"more":"m"},"end":"z"}`,
			[]string{"prompt: a", "other: top\nc\nm\nz"}},
		{"text of another shape", messageLine(`{"role":"user","content":[{"type":"text","text":{"value":"v"}}]}`), []string{"other: v"}},
		{"message of another shape", messageLine(`"hello"`), []string{"other: hello"}},
		{"no message", `{"type":"message","id":"m"}`, nil},

		{"compaction", `{"type":"compaction","id":"c","summary":"did a.go","firstKeptEntryId":"k","tokensBefore":1,"details":{"readFiles":["a.go"],"modifiedFiles":["b.go"]},"fromHook":true,
			"systemMessage":{"role":"system","content":"sys","timestamp":1}}`, []string{"summary: did a.go", "details: b.go", "system: sys"}},
		{"compaction of the fourth format", `{"kind":"entry","type":"compaction","id":"c","seq":4,"lane":"main","parentId":null,"timestamp":1768473003000,"summary":"s","retainedTail":[{"role":"user","content":"kept"}],"fromHook":false}`,
			[]string{"summary: s", "other: user\nkept"}},
		{"branch summary", `{"type":"branch_summary","id":"c","fromId":"root","summary":"tried x","details":{"readFiles":["a.go"]}}`, []string{"summary: tried x", "details: a.go"}},
		{"custom", `{"type":"custom","customType":"t","data":{"a":"b","n":1,"l":["c",{"d":"e"}]},"id":"c"}`, []string{"data: b\nc\ne"}},
		{"custom, data a string", `{"type":"custom","customType":"t","data":"just this"}`, []string{"data: just this"}},
		{"custom without data", `{"type":"custom","customType":"t"}`, nil},
		{"custom message", `{"type":"custom_message","customType":"t","content":[{"type":"text","text":"n"}],"display":false,"details":{"x":"y"},"id":"c"}`, []string{"note: n", "details: y"}},
		{"context edit", `{"type":"context_edit","targetId":"t","replacement":{"content":[{"type":"text","text":"instead"}]}}`, []string{"note: instead"}},
		{"context edit, a string", `{"type":"context_edit","targetId":"t","replacement":{"content":"instead"}}`, []string{"note: instead"}},
		{"context edit, nothing", `{"type":"context_edit","targetId":"t","replacement":null}`, nil},
		{"label", `{"type":"label","targetId":"t","label":"keep"}`, []string{"label: keep"}},
		{"label cleared", `{"type":"label","targetId":"t"}`, nil},
		{"name", `{"type":"session_info","name":"auth work"}`, []string{"title: auth work"}},
		{"model", `{"type":"model_change","provider":"anthropic","modelId":"opus"}`, []string{"meta: anthropic/opus"}},
		{"model as 0.7 wrote it", `{"type":"model_change","model":"openai/gpt-5"}`, []string{"meta: openai/gpt-5"}},
		{"level", `{"type":"thinking_level_change","thinkingLevel":"high"}`, []string{"meta: high"}},
		{"usage", `{"type":"usage","kind":"cache_warming","provider":"p","model":"m","usage":{"input":1},"note":"warm"}`, []string{"meta: cache_warming\np/m\nwarm"}},
		{"usage of kind record", `{"type":"usage","kind":"record","note":"warm"}`, []string{"meta: record\nwarm"}},
		{"tools of the library", `{"type":"active_tools_change","activeToolNames":["bash","read"]}`, []string{"meta: bash\nread"}},
		{"leaf of the library", `{"type":"leaf","id":"l","targetId":"t"}`, nil},
		{"unknown entry", `{"type":"future","id":"f","parentId":"p","timestamp":"2026-01-02T03:04:05.678Z","payload":{"text":"new","textSignature":"SIG"},"z":"y"}`, []string{"other: new\ny"}},
		{"no type", `{"id":"f","hello":"world","kind":"odd"}`, []string{"other: world\nodd"}},

		{"fact: name", `{"kind":"fact","seq":3,"fact":"name","name":"auth"}`, []string{"title: auth"}},
		{"fact: label", `{"kind":"fact","seq":3,"fact":"label","targetId":"t","label":"keep"}`, []string{"label: keep"}},
		{"value: name", `{"kind":"value","op":"set","seq":3,"namespace":"pi.session.name","key":"","value":"auth"}`, []string{"title: auth"}},
		{"value: label", `{"kind":"value","op":"set","seq":3,"namespace":"pi.entry.label","key":"t","value":"keep"}`, []string{"label: keep"}},
		{"lane", `{"kind":"lane","seq":3,"lane":"main","leafId":"t"}`, nil},
		{"record", `{"kind":"record","id":"r","lane":"main","type":"operation_started","seq":3,"timestamp":1768473003000,"intent":{"kind":"run","systemPromptOverride":"be brief"}}`, []string{"other: run\nbe brief"}},
		{"entry of the fourth format", `{"kind":"entry","lane":"main","type":"message","id":"e","parentId":null,"seq":1,"timestamp":1768473003000,"message":{"role":"user","content":"hi"}}`, []string{"prompt: hi"}},

		{"strings", messageLine(`{"role":"user","content":"\u00e9\ud83d\ude00\ud800 \u0000 \"q\" \\ \/"}`), []string{"prompt: é😀\ufffd \x00 \"q\" \\ /"}},
		{"the last of the same keys", messageLine(`{"role":"user","content":"first","content":"last","role":"assistant"}`), []string{"reply: last"}},
		{"escaped keys", `{"t\u0079pe":"message","message":{"r\u006fle":"user","content":"x"}}`, []string{"prompt: x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entry := strings.NewReplacer("\n", " ", "\t", " ").Replace(tt.entry)
			entries, problems := parseAll(t, entry)
			if len(problems) > 0 || len(entries) != 1 {
				t.Fatalf("%d entries, problems %v", len(entries), problems)
			}
			if diff := cmp.Diff(tt.want, shown(entries[0])); diff != "" {
				t.Errorf("parts of %s (-want +got):\n%s", entry, diff)
			}
		})
	}
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestEntryFacts(t *testing.T) {
	const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`
	first := int64(len(header) + 1)
	now := at("2026-01-02T03:04:05.678Z")
	tests := []struct {
		name, entry string
		want        session.Entry
	}{
		{"user", messageLine(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"QQ=="},{"type":"text","text":"b"},{"type":"image","mimeType":"image/jpeg"}],"timestamp":1768473003001}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "user", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{Images: []session.Image{{MimeType: "image/png", Size: 1}, {MimeType: "image/jpeg"}}, MessageTime: at("2026-01-15T10:30:03.001Z"), UserText: "a b"}}},
		{"assistant", messageLine(`{"role":"assistant","content":[],"provider":"p","model":"m"}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "assistant", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{Provider: "p", Model: "m"}}},
		{"failed", messageLine(`{"role":"assistant","errorMessage":"x"}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "assistant", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{IsError: true}}},
		{"error message empty", messageLine(`{"role":"assistant","errorMessage":""}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "assistant", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}}},
		{"result", messageLine(`{"role":"toolResult","toolName":"bash","toolCallId":"c","isError":true}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "toolResult", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{Tool: "bash", ToolCallID: "c", IsError: true}}},
		{"shell that failed", messageLine(`{"role":"bashExecution","exitCode":3}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "bashExecution", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{IsError: true}}},
		{"shell that did not", messageLine(`{"role":"bashExecution","exitCode":null}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "bashExecution", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}}},
		{"custom role", messageLine(`{"role":"custom","customType":"t"}`),
			session.Entry{Identity: session.Identity{Type: "message", Role: "custom", ID: "e", Timestamp: now}, Position: session.Position{ParentID: "p", HasParent: true}, Said: session.Said{CustomType: "t"}}},
		{"custom", `{"type":"custom","customType":"t","id":"x","parentId":null}`,
			session.Entry{Identity: session.Identity{Type: "custom", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Position: session.Position{HasParent: true}, Said: session.Said{CustomType: "t"}}},
		{"label", `{"type":"label","id":"x","targetId":"t","label":"l"}`,
			session.Entry{Identity: session.Identity{Type: "label", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Named: session.Named{TargetID: "t", Label: "l"}}},
		{"name", `{"type":"session_info","name":"n"}`,
			session.Entry{Identity: session.Identity{Type: "session_info", ID: "@90", Timestamp: at("2026-01-01T00:00:00Z")}, Named: session.Named{Name: "n"}}},
		{"id is no string", `{"type":"session_info","id":7,"parentId":7}`,
			session.Entry{Identity: session.Identity{Type: "session_info", ID: "@90", Timestamp: at("2026-01-01T00:00:00Z")}, Position: session.Position{HasParent: true}}},
		{"model", `{"type":"model_change","id":"x","provider":"p","modelId":"m"}`,
			session.Entry{Identity: session.Identity{Type: "model_change", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Said: session.Said{Provider: "p", Model: "m"}}},
		{"model of 0.7", `{"type":"model_change","id":"x","model":"p/m/n"}`,
			session.Entry{Identity: session.Identity{Type: "model_change", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Said: session.Said{Provider: "p", Model: "m/n"}}},
		{"compaction", `{"type":"compaction","id":"x","firstKeptEntryId":"k"}`,
			session.Entry{Identity: session.Identity{Type: "compaction", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Position: session.Position{FirstKeptID: "k"}}},
		{"compaction of the first format", `{"type":"compaction","firstKeptEntryIndex":0}`,
			session.Entry{Identity: session.Identity{Type: "compaction", ID: "@90", Timestamp: at("2026-01-01T00:00:00Z")}, Position: session.Position{FirstKeptIndex: 1}}},
		{"context edit", `{"type":"context_edit","id":"x","targetId":"t","replacement":null}`,
			session.Entry{Identity: session.Identity{Type: "context_edit", ID: "x", Timestamp: at("2026-01-01T00:00:00Z")}, Named: session.Named{TargetID: "t"}}},
		{"fact", `{"kind":"fact","fact":"label","targetId":"t","label":"l"}`,
			session.Entry{Identity: session.Identity{Type: "label", ID: "@90", Timestamp: at("2026-01-01T00:00:00Z")}, Named: session.Named{TargetID: "t", Label: "l"}}},
		{"lane", `{"kind":"lane","leafId":"t"}`,
			session.Entry{Identity: session.Identity{Type: "lane", ID: "@90", Timestamp: at("2026-01-01T00:00:00Z")}, Named: session.Named{TargetID: "t"}}},
		{"fourth format", `{"kind":"entry","type":"message","id":"x","parentId":"y","timestamp":1768473003001,"message":{"role":"user","content":""}}`,
			session.Entry{Identity: session.Identity{Type: "message", Role: "user", ID: "x", Timestamp: at("2026-01-15T10:30:03.001Z")}, Position: session.Position{ParentID: "y", HasParent: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, problems := parseAll(t, header, tt.entry)
			if len(problems) > 0 || len(entries) != 1 {
				t.Fatalf("%d entries, problems %v", len(entries), problems)
			}
			want := tt.want
			want.FirstKeptIndex-- // 0 in the table is the usual -1
			want.Again = want.ID[0] != '@'
			want.Offset, want.Length, want.Line = first, len(tt.entry), 2
			ignore := cmpopts.IgnoreFields(session.Entry{}, "Parts", "Copy")
			if diff := cmp.Diff(want, entries[0], ignore, cmpopts.IgnoreFields(session.Position{}, "Step"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("entry of %s (-want +got):\n%s", tt.entry, diff)
			}
		})
	}
}

func TestUserTextIsBounded(t *testing.T) {
	entries, _ := parseAll(t, messageLine(`{"role":"user","content":["`+strings.Repeat("é", adapter.MaxPrompt)+`","more"]}`))
	got := entries[0].UserText
	if len(got) > adapter.MaxPrompt+1 || !strings.HasPrefix(got, "éé") || strings.ContainsRune(got, '\ufffd') {
		t.Errorf("UserText has %d bytes", len(got))
	}
	if n := len(entries[0].Parts[0].Text); n != 2*adapter.MaxPrompt {
		t.Errorf("the part has %d bytes, want %d", n, 2*adapter.MaxPrompt)
	}
}

// Names of leaves do not make a text many times as long as the arguments.
func TestCallTextIsBounded(t *testing.T) {
	arguments := `{"` + strings.Repeat("k", 1000) + `":[` + strings.Repeat("1,", 100_000) + `1]}`
	entries, _ := parseAll(t, messageLine(`{"role":"assistant","content":[{"type":"toolCall","name":"n","arguments":`+arguments+`}]}`))
	text := entries[0].Parts[0].Text
	if len(text) > 3*len(arguments)+64<<10 {
		t.Errorf("%d bytes of arguments became %d", len(arguments), len(text))
	}
	if lines := strings.Count(string(text), "\n"); lines != 100_001 {
		t.Errorf("%d lines, want every element on one", lines)
	}
}

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"custom","data":{`)
	for i := range 200 {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"k` + strings.Repeat("x", i%100) + `":"v` + strings.Repeat("x", i%100) + strings.Repeat("y", i/100) + `"`)
	}
	b.WriteString(`}}`)
	entries, _ := parseAll(t, b.String())
	got := strings.Split(string(entries[0].Parts[0].Text), "\n")
	if len(got) != 100 || got[0] != "vy" || got[99] != "v"+strings.Repeat("x", 99)+"y" {
		t.Errorf("%d strings, first %q, want the 100 last ones", len(got), got[0])
	}
}

func TestTimestamps(t *testing.T) {
	const header = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}`
	tests := []struct {
		name    string
		lines   []string
		want    string // of the last entry; "" for none
		hasCopy bool
	}{
		{"entry", []string{header, `{"type":"x","timestamp":"2026-01-15T10:30:03.123Z","message":{"timestamp":5}}`}, "2026-01-15T10:30:03.123Z", true},
		{"entry with an offset", []string{`{"type":"x","timestamp":"2026-01-15T10:30:03+02:00"}`}, "2026-01-15T08:30:03Z", true},
		{"end of a month", []string{`{"type":"x","timestamp":"2026-01-31T10:30:03.001Z"}`}, "2026-01-31T10:30:03.001Z", true},
		{"no such day", []string{header, `{"type":"x","timestamp":"2026-02-30T10:30:03.001Z"}`}, "2026-01-01T00:00:00Z", false},
		{"finer than milliseconds", []string{`{"type":"x","timestamp":"2026-01-15T10:30:03.123456Z"}`}, "2026-01-15T10:30:03.123Z", true},
		{"entry in milliseconds", []string{`{"type":"x","timestamp":1768473003123}`}, "2026-01-15T10:30:03.123Z", true},
		{"with a fraction", []string{`{"type":"x","timestamp":1768473003123.9}`}, "2026-01-15T10:30:03.123Z", true},
		{"with an exponent", []string{`{"type":"x","timestamp":1.768473003123e12}`}, "2026-01-15T10:30:03.123Z", true},
		{"message", []string{header, `{"type":"message","message":{"role":"user","timestamp":1768473003123}}`}, "2026-01-15T10:30:03.123Z", true},
		{"message in ISO", []string{`{"type":"message","message":{"role":"user","timestamp":"2026-01-15T10:30:03.123Z"}}`}, "2026-01-15T10:30:03.123Z", true},
		{"entry unreadable", []string{header, `{"type":"message","timestamp":"soon","message":{"role":"user","timestamp":1768473003123}}`}, "2026-01-15T10:30:03.123Z", true},
		{"previous entry", []string{header, `{"type":"x","timestamp":"2026-01-15T10:30:03.123Z"}`, `{"type":"y"}`, `{"type":"z"}`}, "2026-01-15T10:30:03.123Z", false},
		{"header", []string{header, `{"type":"y"}`}, "2026-01-01T00:00:00Z", false},
		{"nothing", []string{`{"type":"y","timestamp":null}`}, "", false},
		{"out of range", []string{`{"type":"y","timestamp":1e400}`}, "", false},
		{"far out of range", []string{`{"type":"y","timestamp":99999999999999999999}`}, "", false},
		{"Go's zero time", []string{header, `{"type":"x","timestamp":"0001-01-01T00:00:00Z"}`}, "2026-01-01T00:00:00Z", false},
		{"Go's zero time in milliseconds", []string{header, `{"type":"message","timestamp":-62135596800000,"message":{"timestamp":"0001-01-01T00:00:00.000Z"}}`}, "2026-01-01T00:00:00Z", false},
		{"a number in a string", []string{header, `{"type":"y","timestamp":"1768473003123"}`}, "2026-01-01T00:00:00Z", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _ := parseAll(t, tt.lines...)
			e := entries[len(entries)-1]
			var want time.Time
			if tt.want != "" {
				want = at(tt.want)
			}
			if !e.Timestamp.Equal(want) {
				t.Errorf("Timestamp = %v, want %v", e.Timestamp, want)
			}
			if got := e.Copy != 0; got != tt.hasCopy {
				t.Errorf("Copy = %d, want one: %t", e.Copy, tt.hasCopy)
			}
		})
	}
}

func TestCopies(t *testing.T) {
	const entry = `{"type":"message","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"x y","more":{"cost":0.5,"list":[1,"é😀/\"\n"]}}}`
	of := func(s string) uint64 {
		entries, _ := parseAll(t, s)
		return entries[0].Copy
	}
	want := of(entry)
	for name, same := range map[string]string{
		"ids":         strings.NewReplacer(`"a"`, `"aa"`, `"b"`, `null`).Replace(entry),
		"no ids":      strings.NewReplacer(`"id":"a","parentId":"b",`, ``).Replace(entry),
		"other ids":   strings.NewReplacer(`"id":"a"`, `"targetId":"a","fromId":"c","firstKeptEntryId":"d","firstKeptEntryIndex":3`).Replace(entry),
		"white space": strings.NewReplacer(`":`, "\" :\t ", `,"`, ` , "`, `}`, ` } `).Replace(entry),
		"escapes":     strings.NewReplacer(`é`, `\u00e9`, `😀`, `\uD83D\ude00`, `/`, `\/`, `\"`, `\u0022`, `\n`, `\u000A`, `x y`, `\u0078 y`, `role`, `r\u006fle`).Replace(entry),
		"order":       strings.NewReplacer(`"role":"user",`, ``, `"cost":0.5,`, ``, `]}}`, `],"cost":0.5},"role":"user"}`).Replace(entry),
		"numbers":     strings.NewReplacer(`0.5`, `5.0E-1`, `[1,`, `[1.0,`).Replace(entry),
	} {
		if got := of(same); got != want {
			t.Errorf("%s: Copy(%s) = %x, want %x", name, same, got, want)
		}
	}
	for name, other := range map[string]string{
		"time":            strings.Replace(entry, "678Z", "679Z", 1),
		"text":            strings.Replace(entry, "x y", "xy", 1),
		"ids further in":  strings.Replace(entry, `"role"`, `"id":"i","role"`, 1),
		"order in a list": strings.Replace(entry, `[1,"é😀/\"\n"]`, `["é😀/\"\n",1]`, 1),
		"type":            strings.Replace(entry, `[1,`, `["1",`, 1),
		"list for object": strings.NewReplacer(`"list":[`, `"list":{"0":`, `1,"é`, `1,"1":"é`, `]}}`, `}}}`).Replace(entry),
		"one more member": strings.Replace(entry, `"type"`, `"more":1,"type"`, 1),
	} {
		if got := of(other); got == want {
			t.Errorf("%s: Copy(%s) is that of %s", name, other, entry)
		}
	}
}

func TestHeaders(t *testing.T) {
	tests := []struct {
		name, line string
		want       session.Header
	}{
		{"third", `{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T10:30:03.123Z","cwd":"/w","parentSession":"/p.jsonl"}`,
			session.Header{ID: "s", CWD: "/w", Version: 3, Timestamp: at("2026-01-15T10:30:03.123Z"), ParentSession: "/p.jsonl"}},
		{"second", `{"type":"session","version":2,"id":"s"}`, session.Header{ID: "s", Version: 2}},
		{"first", `{"type":"session","id":"s","provider":"p","modelId":"m","branchedFrom":"/b.jsonl"}`, session.Header{ID: "s", Version: 1, ParentSession: "/b.jsonl"}},
		{"0.7", `{"type":"session","id":"s","model":"p/m"}`, session.Header{ID: "s", Version: 1}},
		{"later", `{"type":"session","version":12,"id":"s"}`, session.Header{ID: "s", Version: 12}},
		{"odd version", `{"type":"session","version":"3","id":"s"}`, session.Header{ID: "s", Version: 1}},
		{"no id", `{"type":"session"}`, session.Header{Version: 1}},
		{"fourth", `{"kind":"header","version":4,"id":"s","createdAt":1768473003123,"cwd":"/w","legacyParentSessionPath":"/p.jsonl"}`,
			session.Header{ID: "s", CWD: "/w", Version: 4, Timestamp: at("2026-01-15T10:30:03.123Z"), ParentSession: "/p.jsonl"}},
		{"fourth, later", `{"v":4,"kind":"header","id":"s","createdAt":1768473003123,"storageVersion":1,"parentSessionId":"q"}`,
			session.Header{ID: "s", Version: 4, Timestamp: at("2026-01-15T10:30:03.123Z"), ParentSession: "q"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := "garbage\n" + `{"type":"x"}` + "\n" + tt.line + "\n" + `{"type":"session","version":3,"id":"another"}` + "\n"
			entries, problems, state := parseFile(t, strings.NewReader(file))
			tt.want.Offset = int64(strings.Index(file, tt.line))
			if diff := cmp.Diff(tt.want, state.Header); diff != "" {
				t.Errorf("header of %s (-want +got):\n%s", tt.line, diff)
			}
			if len(entries) != 1 || len(problems) != 1 || state.Lines != 4 {
				t.Errorf("%d entries, problems %v, %d lines, want 1, 1, 4", len(entries), problems, state.Lines)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	const a, b = `{"type":"a"}`, `{"type":"b"}`
	tests := []struct {
		name, file string
		want       []string // types of entries, and offsets and reasons of problems
	}{
		{"blank", "\n \n\t\r\n\x00\x00\n", nil},
		{"fused", a + b + "\n", []string{"a@0", "b@12"}},
		{"fused with space and zero bytes", a + " \x00\t" + b + "\x00\n", []string{"a@0", "b@15"}},
		{"garbage", "nothing {}\n" + a + "\n", []string{"!0 not JSON", "a@11"}},
		{"garbage after an object", a + "oops" + b + "\n" + b + "\n", []string{"a@0", "!12 not JSON", "b@29"}},
		{"glued to a torn line", `{"type":"x","y":"2{"type":"b"}` + "\n", []string{"!0 not JSON"}},
		{"torn and ended", a + `{"type":"b"` + "\n", []string{"a@0", "!12 JSON ends early"}},
		{"not objects", "42 null\n\"s\"" + a + "[1]\n[]\n", []string{"!0 not an object", "a@11", "!8 not an object", "!23 not an object", "!27 not an object"}},
		{"a list of entries", "[" + a + "," + b + "]\n", []string{"!0 not an object"}},
		{"a transaction", `[{"kind":"entry","type":"a"}, {"kind":"entry","type":"b"}]` + "\n", []string{"a@1", "b@30"}},
		{"control character", "{\"type\":\"a\x01\"}\n", []string{"!0 control character in a JSON string"}},
		{"complete without newline", a + "\n" + a + b, []string{"a@0", "a@13", "b@25"}},
		{"torn", a + "\n" + a + `{"type`, []string{"a@0", "!25 unfinished last line, torn"}},
		{"torn number", a + "\n4", []string{"a@0", "!13 unfinished last line, torn"}},
		{"torn garbage", a + "\nnope", []string{"a@0", "!13 unfinished last line, torn"}},
		{"blank without newline", a + "\n  ", []string{"a@0"}},
		{"byte order mark", "\ufeff" + a + "\n", []string{"a@3"}},
		{"byte order mark later", a + "\n\ufeff" + a + "\n", []string{"a@0", "!13 not JSON"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			p := New().Parse(adapter.State{})
			for _, line := range readLines(t, jsonl.NewReader(strings.NewReader(tt.file), 0, 0)) {
				problems := p.Parse(line, func(e *session.Entry) {
					got = append(got, e.Type+e.ID)
					if data := tt.file[e.Offset : e.Offset+int64(e.Length)]; data[0] != '{' || data[len(data)-1] != '}' {
						t.Errorf("entry at %d is %q", e.Offset, data)
					}
				})
				for _, pr := range problems {
					s := "!" + strings.TrimPrefix(adapter.OffsetID(pr.Offset), "@") + " " + pr.Reason
					if pr.Torn {
						s += ", torn"
					}
					got = append(got, s)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pieces of %q (-want +got):\n%s", tt.file, diff)
			}
		})
	}
}
