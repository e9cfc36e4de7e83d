package gemini

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

const (
	dir    = "/h/.gemini/tmp/greeter"
	inFile = dir + "/chats/session-2026-11-27T20-16-a0fae58e.jsonl"
	head   = `{"sessionId":"a0fae58e-b350-4443-ae3c-8acd51456d25","projectHash":"x","startTime":"2026-11-27T20:16:14.741Z"}`
)

func user(id, at, text string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-27T20:16:%sZ","type":"user","content":[{"text":%q}]}`, id, at, text)
}

func reply(id, at, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-27T20:16:%sZ","type":"gemini","content":%q,"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13}%s}`, id, at, text, more)
}

func call(id, status, output string) string {
	return fmt.Sprintf(`{"id":%q,"name":"run_shell_command","args":{"command":"make"},"status":%q,"timestamp":"2026-11-27T20:17:00Z","result":[{"functionResponse":{"id":%[1]q,"name":"run_shell_command","response":{"output":%[3]q}}}]}`, id, status, output)
}

// list is a line with the conversation as it is now.
func list(messages ...string) string {
	return `{"$set":{"messages":[` + strings.Join(messages, ",") + `],"lastUpdated":"2026-11-27T20:20:00Z"}}`
}

func read(t *testing.T, path string, lines ...string) adapters.Read {
	t.Helper()
	return adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, []byte(strings.Join(lines, "\n")+"\n"))
}

// said returns the texts that are not hidden, each with its kind.
func said(r adapters.Read) (texts []string) {
	for _, e := range r.Visible() {
		for _, part := range e.Parts {
			texts = append(texts, string(part.Kind)+": "+string(part.Text))
		}
	}
	return texts
}

// branch returns the ids of the entries with text on the branch at which the file ends.
func branch(r adapters.Read) (ids []string) {
	rec := &session.Record{Summary: session.Summary{Header: r.End.Header}}
	for i := range r.Entries {
		rec.Add(&r.Entries[i])
	}
	for _, i := range rec.Tree().Path() {
		if len(r.Entries[i].Parts) > 0 {
			ids = append(ids, rec.Nodes[i].ID)
		}
	}
	return ids
}

// Each line says what it says once, whatever is written again.
func TestLines(t *testing.T) {
	context := user("c", "01", "<session_context>\n- **Workspace Directories:**\n  - /w\n</session_context>")
	copied := func(id, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-27T20:16:30Z","type":"gemini","content":[{"text":%q}],"thoughts":[],"tokens":null}`, id, text)
	}
	first := []string{head, list(context), user("u", "02", "fix the bilby"), reply("g", "03", "Fixed.", "")}
	for name, tt := range map[string]struct {
		lines []string
		want  []string
		on    []string
	}{
		"a conversation": {nil, nil, []string{"u", "g"}},
		"the last line of an id counts": {[]string{reply("g", "03", "Fixed.", `,"toolCalls":[`+call("k", "success", "done")+`]`)},
			[]string{"-reply: Fixed.", "reply: Fixed.", "call: run_shell_command\ncommand: make", "result: done"}, []string{"u", "g", "+"}},
		"more calls of an id": {[]string{reply("g", "03", "Fixed.", `,"toolCalls":[`+call("k", "success", "one")+`]`), reply("g", "03", "Fixed.", `,"toolCalls":[`+call("k", "success", "one")+`,`+call("l", "success", "two")+`]`)},
			[]string{"-reply: Fixed.", "reply: Fixed.", "call: run_shell_command\ncommand: make", "call: run_shell_command\ncommand: make", "result: one", "result: two"}, []string{"u", "g", "+", "+"}},
		"a copy of what tools answered":     {[]string{`{"id":"f","timestamp":"2026-11-27T20:16:04Z","type":"user","content":[{"functionResponse":{"id":"k","response":{"output":"x"}}}]}`}, nil, []string{"u", "g"}},
		"the messages again after a resume": {[]string{head, list(context, user("u", "02", "fix the bilby"), copied("g", "Fixed."))}, nil, []string{"u", "g"}},
		"a cancelled turn leaves the conversation": {[]string{
			user("v", "20", "and the numbat"), `{"id":"i","timestamp":"2026-11-27T20:16:30Z","type":"info","content":"Request cancelled."}`,
			strings.Replace(user("w", "30", "<session_context>x"), `}]`, `},{"text":"fix the bilby"}]`, 1), copied("x", "Fixed."),
			list(strings.Replace(user("w", "30", "<session_context>x"), `}]`, `},{"text":"fix the bilby"}]`, 1), copied("x", "Fixed.")), user("y", "40", "go on"),
		}, []string{"prompt: and the numbat", "note: Request cancelled.", "prompt: go on"}, []string{"u", "g", "y"}},
		"the same prompt after a rewind is a new one": {[]string{`{"$rewindTo":"u"}`, user("v", "20", "fix the bilby")}, []string{"prompt: fix the bilby"}, []string{"v"}},
		"a rewind to a copy":                          {[]string{user("w", "03", "fix the bilby"), `{"$rewindTo":"w"}`, user("v", "20", "again")}, []string{"prompt: again"}, []string{"v"}},
		"an unknown message":                          {[]string{`{"$rewindTo":"nobody"}`, user("v", "20", "again")}, []string{"prompt: again"}, []string{"v"}},
		"a failed prompt leaves":                      {[]string{user("v", "20", "fails"), list(context, user("u", "02", "fix the bilby"), copied("g", "Fixed.")), user("y", "40", "go on")}, []string{"prompt: fails", "prompt: go on"}, []string{"u", "g", "y"}},
		"a compression": {[]string{list(context, user("s", "30", "They fixed a bilby."), copied("t", thanks)), user("y", "40", "go on")},
			[]string{"summary: They fixed a bilby.", "summary: " + thanks, "prompt: go on"}, []string{"u", "g", "+", "y"}},
		"a message that only a list has": {[]string{list(context, user("o", "30", "only here"))}, []string{"prompt: only here"}, []string{"o"}},
		"a name and notes":               {[]string{`{"$set":{"summary":"Bilby","memoryScratchpad":{"workflowSummary":"make"}}}`}, []string{"title: Bilby", "data: make"}, []string{"u", "g"}},
		"what a shell printed":           {[]string{user("v", "20", "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```")}, []string{"shell: I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```"}, []string{"u", "g", "v"}},
		"what was added to a prompt":     {[]string{`{"id":"v","timestamp":"2026-11-27T20:16:20Z","type":"user","content":[{"text":"see @a"},{"text":"--- a ---"}],"displayContent":[{"text":"see @a"}]}`}, []string{"prompt: see @a", "note: --- a ---"}, []string{"u", "g", "v"}},
		"an error":                       {[]string{`{"id":"v","timestamp":"2026-11-27T20:16:20Z","type":"error","content":"no quota"}`}, []string{"error: no quota"}, []string{"u", "g", "v"}},
		"a note without a text":          {[]string{`{"id":"v","timestamp":"2026-11-27T20:16:20Z","type":"info","content":""}`}, nil, []string{"u", "g"}},
		"a line of a later version":      {[]string{`{"type":"future","text":"a quokka"}`}, []string{"other: a quokka"}, []string{"u", "g", "+"}},
		"a message of a later version":   {[]string{`{"id":"v","timestamp":"2026-11-27T20:16:20Z","type":"oracle","content":"a wombat"}`}, []string{"other: a wombat"}, []string{"u", "g", "v"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, inFile, append(first[:4:4], tt.lines...)...)
			want := []string{"system: <session_context>\n- **Workspace Directories:**\n  - /w\n</session_context>", "prompt: fix the bilby", "reply: Fixed."}
			for _, text := range tt.want {
				if strings.HasPrefix(text, "-") {
					want = want[:len(want)-1]
					continue
				}
				want = append(want, text)
			}
			if diff := cmp.Diff(want, said(r)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			on := branch(r)
			for i := range on {
				if i < len(tt.on) && tt.on[i] == "+" {
					on[i] = "+"
				}
			}
			if diff := cmp.Diff(tt.on, on); diff != "" {
				t.Errorf("branch (-want +got):\n%s", diff)
			}
			state := adapter.State{Path: inFile, Facts: true}
			data := []byte(strings.Join(append(first[:4:4], tt.lines...), "\n") + "\n")
			adapters.Alone(t, New(), state, data)
			adapters.Halves(t, New(), state, data)
			adapters.Sparse(t, New(), state, data)
		})
	}
}

// A line that is not one of Gemini's, or has no end, is a problem, and hides no other line.
func TestBadLines(t *testing.T) {
	r := adapters.Parse(t, New(), adapter.State{Path: inFile}, []byte(head+"\n"+`"a string"`+"\n[1]\n{\n"+user("u", "02", "hi")+"\n"+`{"id":"torn","timestamp"`))
	var reasons []string
	for _, p := range r.Problems {
		reasons = append(reasons, fmt.Sprint(p.Line, p.Torn))
	}
	if diff := cmp.Diff([]string{"2 false", "3 false", "4 false", "6 true"}, reasons); diff != "" || len(said(r)) != 1 {
		t.Errorf("%q %s", said(r), diff)
	}
}

// Long conversations are forgotten from their beginning, and the memo stays small.
func TestLongConversation(t *testing.T) {
	lines := []string{head}
	var all []string
	for i := range 1500 {
		m := user(fmt.Sprintf("u%035d", i), fmt.Sprintf("%02d", i%60), fmt.Sprintf("prompt %d", i))
		lines, all = append(lines, m), append(all, m)
	}
	r := read(t, inFile, append(lines, list(all...), user("last", "59", "go on"))...)
	if n := len(said(r)); n != 1501 {
		t.Errorf("%d texts, want 1501", n)
	}
	if len(r.End.Memo) > adapter.MaxMemo {
		t.Errorf("the memo has %d bytes", len(r.End.Memo))
	}
}

// The exit code in the output decides whether a command failed, whatever the program calls it. Of a reply
// that is written again, calls and tokens count once.
func TestFacts(t *testing.T) {
	calls := `,"toolCalls":[` + call("a", "success", "Output: x\nExit Code: 3") + `,` + call("b", "cancelled", "denied") + `,` + call("c", "success", "ok") + `]`
	r := read(t, inFile, head, user("u", "02", "go"), reply("g", "03", "", ""), reply("g", "03", "", calls))
	usages, outcomes := 0, ""
	for _, e := range r.Visible() {
		if f := e.Facts; f != nil && f.HasUsage {
			usages++
			if f.Usage.Input != 6 || f.Usage.Output != 3 || f.Usage.CacheRead != 4 || !f.Usage.NoCost {
				t.Errorf("usage %+v", f.Usage)
			}
		}
		if f := e.Facts; f != nil && f.IsResult {
			outcomes += fmt.Sprintf("%s failed %t rejected %t exit %t\n", e.ToolCallID, f.Failed, f.Rejected, f.Exit == 3)
		}
	}
	if want := "a failed true rejected false exit true\nb failed false rejected true exit false\nc failed false rejected false exit false\n"; outcomes != want || usages != 1 {
		t.Errorf("%d usages, outcomes\n%s", usages, outcomes)
	}
}

// A file in which nobody has said anything is no session; a subagent is one of its parent.
func TestHeader(t *testing.T) {
	if h := read(t, inFile, head, list(user("c", "01", "<session_context>x"))).End.Header; h.Version != 0 || h.ID != "" {
		t.Errorf("%+v", h)
	}
	h := read(t, dir+"/chats/11111111-0000-4000-8000-000000000000/22222222-0000-4000-8000-000000000000.jsonl",
		`{"sessionId":"22222222-0000-4000-8000-000000000000","projectHash":"`+hashOf("/w")+`","startTime":"2026-11-27T20:16:14.741Z","kind":"subagent","directories":["/other","/w"]}`, user("u", "02", "look")).End.Header
	if h.ID != "22222222-0000-4000-8000-000000000000" || h.Relation != session.Spawned || h.ParentSession != "11111111-0000-4000-8000-000000000000" || h.CWD != "/w" {
		t.Errorf("%+v", h)
	}
}

// The directory of a session stands beside its file, or in a list by its name or its hash.
func TestPlace(t *testing.T) {
	tmp := "/h/.gemini/tmp/"
	files := map[string]string{tmp + "greeter/.project_root": "/w/greeter\n", "/h/.gemini/projects.json": `{"projects":{"/w/greeter":"no","/w/other":"other","/w/old":"x"}}`, tmp + "bad/.project_root": "relative"}
	env := adapter.Environment{Home: "/h", ReadFile: func(path string) ([]byte, error) {
		if text, ok := files[filepath.ToSlash(path)]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
	for name, want := range map[string]string{"greeter": "/w/greeter", "other": "/w/other", hashOf("/w/old"): "/w/old", "bad": "", "gone": ""} {
		for _, file := range []string{"/chats/session-x.jsonl", "/chats/11111111-0000-4000-8000-000000000000/x.jsonl"} {
			if got := New().Place(env, tmp+name+file); got != filepath.FromSlash(want) {
				t.Errorf("%s%s is in %q, want %q", name, file, got, want)
			}
		}
	}
}

// Nothing but sessions is looked at.
func TestLayout(t *testing.T) {
	roots, err := New().Roots(adapter.Environment{Home: "/h", Getenv: func(string) string { return "" }})
	if err != nil || len(roots) != 1 || roots[0].Path != filepath.FromSlash("/h/.gemini/tmp") {
		t.Fatalf("%+v, %v", roots, err)
	}
	for path, want := range map[string]adapter.Sort{
		"p/chats/session-x.jsonl": adapter.Transcript, "p/chats/session-x.json": adapter.Loose, "p/chats/i/x.jsonl": adapter.Transcript,
		"p/logs.json": adapter.Foreign, "p/chats/x.json": adapter.Foreign, "p/tool-outputs/session-x/y.jsonl": adapter.Foreign, "p/chats/session-x.jsonl.unreadable-1": adapter.Foreign, "p/.project_root": adapter.Foreign,
	} {
		if got := roots[0].Layout.File([]byte(path)); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	for text, want := range map[string]adapter.Sort{
		head: adapter.Transcript, user("u", "02", "x"): adapter.Transcript, list(): adapter.Transcript,
		`{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"message":{}}`: adapter.Foreign, `{"role":"user","message":{"content":"x"}}`: adapter.Foreign, `{"messages":[]}`: adapter.Foreign,
	} {
		if got := New().Recognize([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
