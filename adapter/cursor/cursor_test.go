package cursor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

// truth is what another reader read in a file.
type truth struct {
	Lines, Entries int
	Types          map[string]int `json:"entries_by_type"`
	Session        struct {
		ID          string
		FirstPrompt string `json:"first_prompt"`
		Start       string
		End         string
	}
	Tools        map[string]int
	Results      int
	ErrorResults int `json:"error_results"`
	Parts        []struct {
		Line int
		Kind session.Kind
		Text string
	}
}

// Files say what another reader reads in them.
func TestTruth(t *testing.T) {
	for path, data := range adapters.Fixtures(t, "cursor") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path + ".truth.json")
			if err != nil {
				t.Fatal(err)
			}
			var want truth
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			r := adapters.Parse(t, New(), adapter.State{Path: path, Facts: true}, data)
			if len(r.Problems) > 0 || len(r.Entries) != want.Entries || r.End.Lines != want.Lines {
				t.Errorf("%d entries of %d lines, problems %v", len(r.Entries), r.End.Lines, r.Problems)
			}
			types, tools := make(map[string]int), make(map[string]int)
			var prompt, first, last string
			results, failed, at := 0, 0, 0
			for _, e := range r.Entries {
				switch {
				case e.Type != session.TypeMessage:
					types[e.Type]++
				case e.Role == session.RoleToolResult:
					types["user"]++
				default:
					types[e.Role]++
				}
				if prompt == "" {
					prompt = e.UserText
				}
				if !e.Timestamp.IsZero() {
					last = e.Timestamp.Format("2006-01-02T15:04:05Z")
				}
				if first == "" {
					first = last
				}
				for _, part := range e.Parts {
					if at == len(want.Parts) {
						t.Fatalf("more parts: %s %q", part.Kind, part.Text)
					}
					w := want.Parts[at]
					at++
					said := string(part.Text)
					if begin, _, isCut := strings.Cut(w.Text, "…"); isCut {
						w.Text, said = begin, said[:min(len(said), len(begin))]
					}
					if part.Kind == session.KindMeta {
						w.Text, said = "", ""
					}
					if w.Line != e.Line || w.Kind != part.Kind || !sameText(w.Text, said) {
						t.Errorf("line %d: %s %q, want line %d: %s %q", e.Line, part.Kind, said, w.Line, w.Kind, w.Text)
					}
				}
				if f := e.Facts; f != nil {
					for _, c := range f.Calls {
						tools[c.Tool]++
					}
					if f.IsResult {
						results++
						if f.Failed {
							failed++
						}
					}
				}
			}
			if at != len(want.Parts) {
				t.Errorf("%d parts, want %d", at, len(want.Parts))
			}
			if diff := cmp.Diff(want.Types, types); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Tools, tools, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			h := r.End.Header
			got := []any{h.ID, prompt, results, failed, first, last, h.Version > 0}
			if diff := cmp.Diff([]any{want.Session.ID, want.Session.FirstPrompt, want.Results, want.ErrorResults, want.Session.Start, want.Session.End, true}, got); diff != "" {
				t.Errorf("session (-want +got):\n%s", diff)
			}
			if isSub := strings.Contains(path, "/subagents/"); isSub != (h.Relation == session.Spawned) || isSub && h.ParentSession != filepath.Base(filepath.Dir(filepath.Dir(path))) {
				t.Errorf("%s is of %q", path, h.ParentSession)
			}
		})
	}
}

// sameText compares texts by their words: a list among arguments has a name for each element.
func sameText(want, got string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	}
	all := words(got)
	return want == got || strings.Contains(want, ": [") && !slices.ContainsFunc(words(want), func(w string) bool { return !slices.Contains(all, w) })
}

const (
	atPath = "/h/.cursor/projects/w/agent-transcripts/1a697c98-20b6-5223-a643-58300bdc0b02/1a697c98-20b6-5223-a643-58300bdc0b02.jsonl"
	asked  = `{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\nfix the\nbilby\n</user_query>"}]}}`
)

// partsOf returns the parts of lines, each with its kind.
func partsOf(t *testing.T, lines string) (list []string, entries []session.Entry) {
	t.Helper()
	r := adapters.Parse(t, New(), adapter.State{Path: atPath, Facts: true}, []byte(lines))
	for _, e := range r.Entries {
		for _, part := range e.Parts {
			list = append(list, string(part.Kind)+": "+string(part.Text))
		}
	}
	for _, problem := range r.Problems {
		list = append(list, "problem: "+problem.Reason)
	}
	return list, r.Entries
}

// A prompt is what a person typed; what Cursor puts around it is of the system.
func TestLines(t *testing.T) {
	user := func(content string) string { return `{"role":"user","message":{"content":` + content + `}}` }
	reply := func(content string) string { return `{"role":"assistant","message":{"content":` + content + `}}` }
	for _, tt := range []struct {
		line string
		want []string
		step session.Step
	}{
		{asked, []string{"prompt: fix the\nbilby"}, 0},
		{user(`"say <b>"`), []string{"prompt: say <b>"}, 0},
		{user(`[{"type":"text","text":"<attached_files>a.go</attached_files>"},{"type":"text","text":"<user_query>do</user_query>\n<rules>be brief</rules>"}]`),
			[]string{"system: <attached_files>a.go</attached_files>", "prompt: do", "system: <rules>be brief</rules>"}, 0},
		{user(`"<user_query>one</user_query>\n<user_query>two"`), []string{"prompt: one", "prompt: two"}, 0},
		{user(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}]`), []string{"prompt: "}, 0},
		{user(`[{"type":"tool_result","tool_use_id":"c","content":"no such file","is_error":true}]`), []string{"result: no such file"}, 0},
		{user(`null`), nil, session.StepEmpty},
		{`{"role":"user"}`, nil, session.StepEmpty},
		{reply(`"done"`), []string{"reply: done"}, 0},
		{reply(`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}]`), []string{"thinking: hm"}, 0},
		{reply(`[{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]`), []string{"call: Shell\ncommand: ls"}, 0},
		{reply(`[{"type":"future","text":"of a numbat"}]`), []string{"other: of a numbat"}, 0},
		{`{"role":"user","mode":"plan","message":{"content":"go","draft":"of a quokka"}}`, []string{"prompt: go", "other: plan\nof a quokka"}, 0},
		{`{"type":"turn_ended","status":"success"}`, []string{"meta: success"}, session.StepEmpty},
		{`{"type":"turn_ended","status":"error","error":{"message":"no network"}}`, []string{"error: error\nno network"}, 0},
		{`{"event":"turn_ended","message":{"content":[{"type":"text","text":"turn complete"}]}}`, []string{"meta: text\nturn complete"}, session.StepEmpty},
		{`{"type":"future","text":"of a wombat"}`, []string{"other: of a wombat"}, session.StepRecord},
		{"[1]\n", []string{"problem: not an object"}, 0},
		{`{"role":"user","message":{"content":"torn`, []string{"problem: unfinished last line"}, 0},
	} {
		got, entries := partsOf(t, tt.line)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
		if len(entries) > 0 && entries[0].Step != tt.step {
			t.Errorf("%s: step %d, want %d", tt.line, entries[0].Step, tt.step)
		}
	}
}

// Calls say what they do to which files, in whatever form they are written.
func TestCalls(t *testing.T) {
	for input, want := range map[string]session.EntryCall{
		`"name":"Shell","input":{"command":"go test"}`:                                  {Tool: "Shell", Deed: session.DeedRun, Command: []byte("go test")},
		`"name":"Write","input":{"path":"a.go","contents":"x"},"id":"7"`:                {Tool: "Write", ID: "7", Deed: session.DeedWrite, Files: []session.FileUse{{Path: "a.go"}}},
		`"name":"read_file","input":{"file_path":"b.go"}`:                               {Tool: "read_file", Deed: session.DeedRead, Files: []session.FileUse{{Path: "b.go"}}},
		`"name":"ApplyPatch","input":"*** Begin Patch\n*** Delete File: c\n*** End"`:    {Tool: "ApplyPatch", Deed: session.DeedEdit, Files: []session.FileUse{{Path: "c", Deed: session.DeedDelete}}},
		`"name":"apply_patch","input":{"patch":"*** Begin Patch\n*** Add File: d\n+x"}`: {Tool: "apply_patch", Deed: session.DeedEdit, Files: []session.FileUse{{Path: "d", Deed: session.DeedWrite}}},
		`"name":"quoll","input":[1]`:                                                    {Tool: "quoll"},
	} {
		_, entries := partsOf(t, `{"role":"assistant","message":{"content":[{"type":"tool_use",`+input+`}]}}`)
		want.Outcome, want.Ended = adapter.UnknownOutcome, want.ID == ""
		got := entries[0].Facts.Calls[0]
		got.Text = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
}

// An entry that is read alone is what it was in order, and reading on at any line gives what
// reading at once gives. Of an entry of which only some texts are wanted, each part keeps its number.
func TestAloneAndHalves(t *testing.T) {
	files := adapters.Fixtures(t, "cursor")
	files[atPath] = []byte(asked + "\n\n" + `{"role":"assistant","timestamp":"2026-06-24T12:00:00Z","message":{"content":"x"}}{"type":"turn_ended"}` + "\n{\n" + asked + "\n" + asked)
	for path, data := range files {
		state := adapter.State{Path: path, Facts: true}
		adapters.Alone(t, New(), state, data)
		adapters.Halves(t, New(), state, data)
		adapters.Sparse(t, New(), state, data)
	}
}

// Files of other agents are not Cursor's, whatever lines they share with it.
func TestRecognize(t *testing.T) {
	for head, want := range map[string]adapter.Sort{
		asked: adapter.Transcript,
		`{"type":"turn_ended","status":"success"}` + "\n" + asked:             adapter.Transcript,
		`{"role":"user","message":{"content":"torn`:                           adapter.Transcript,
		`{"type":"message","message":{"role":"user","content":"torn`:          adapter.Foreign,
		`{"role":"user","content":"hi"}`:                                      adapter.Foreign,
		`{"type":"user","role":"user","message":{"content":"hi"}}`:            adapter.Foreign,
		`{"role":"user","sessionId":"s","message":{"content":"hi"}}`:          adapter.Foreign,
		`{"role":"user","uuid":"u","message":{"role":"user","content":"hi"}}`: adapter.Foreign,
	} {
		if got := New().Recognize([]byte(head)); got != want {
			t.Errorf("%s: %d, want %d", head, got, want)
		}
	}
}

// Only transcripts are looked at, and no file that may have tokens.
func TestLayout(t *testing.T) {
	roots, err := New().Roots(adapter.Environment{Home: "/h", WorkDir: "/w", Getenv: func(string) string { return "other" }})
	if err != nil || len(roots) != 2 || roots[0].Path != filepath.FromSlash("/w/other/projects") || roots[1].Path != filepath.FromSlash("/h/.cursor/projects") {
		t.Fatalf("%+v, %v", roots, err)
	}
	l := roots[0].Layout
	for path, want := range map[string]adapter.Sort{
		"p/agent-transcripts/i.jsonl": adapter.Transcript, "p/agent-transcripts/i/i.jsonl": adapter.Transcript, "p/agent-transcripts/i/subagents/j.jsonl": adapter.Transcript,
		"agent-transcripts/i.jsonl": adapter.Transcript, "agent-transcripts/i/i.jsonl": adapter.Transcript,
		"p/agent-transcripts/i/i.json": adapter.Foreign, "p/mcp.jsonl": adapter.Foreign, "p/terminals/i.jsonl": adapter.Foreign, "p/agent-transcripts": adapter.Foreign, "i.jsonl": adapter.Foreign,
	} {
		if got := l.File([]byte(path)); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	for dir, want := range map[string]bool{"p": true, "p/agent-transcripts": true, "p/agent-transcripts/i": true, "p/agent-transcripts/i/subagents": true, "p/terminals": false, "p/agent-transcripts/i/other": false} {
		if got := l.Enter([]byte(dir)); got != want {
			t.Errorf("enter %s: %t, want %t", dir, got, want)
		}
	}
}

// A session is in the directory that the name of its project means, if it can mean only one.
func TestPlace(t *testing.T) {
	dirs := map[string][]string{
		"/": {"home", "srv", "Users"}, "/home": {"x"}, "/home/x": {".config", "my-app", "my", "a_b"}, "/home/x/my": {"tool"}, "/home/x/.config": {"nvim"},
		"/Users": {"x"}, "/Users/x": {"my", "my.app"}, "/Users/x/my": {"app"},
	}
	env := adapter.Environment{Home: "/home/x", DirsIn: func(dir string) []string { return dirs[filepath.ToSlash(dir)] }}
	for project, want := range map[string]string{
		"home-x-my-app": "/home/x/my-app", "home-x-my-tool": "/home/x/my/tool", "home-x-a-b": "/home/x/a_b", "home-x--config-nvim": "/home/x/.config/nvim", "home-x-config-nvim": "/home/x/.config/nvim",
		"home-x": "/home/x", "home-x-gone": "", "Users-x-my-app": "", "srv": "/srv", "": "",
	} {
		if got := New().Place(env, "/h/.cursor/projects/"+project+"/agent-transcripts/i/i.jsonl"); got != filepath.FromSlash(want) {
			t.Errorf("%s is %q, want %q", project, got, want)
		}
	}
	if got := New().Place(env, "/h/home-x/i.jsonl"); got != "" {
		t.Error(got)
	}
}
