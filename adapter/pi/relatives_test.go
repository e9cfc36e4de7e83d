package pi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	slashed "path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
)

const (
	aSlot    = `{"type":"title","v":1,"title":"Quail","source":"auto","updatedAt":"2026-11-21T21:40:34.943Z","pad":"   "}` + "\n"
	aHeader  = `{"type":"session","version":3,"id":"id-1","timestamp":"2026-11-21T21:39:51.576Z","cwd":"/srv/p"}` + "\n"
	aMessage = `{"type":"message","id":"e1","parentId":null,"timestamp":"2026-11-21T21:39:52.576Z","message":{"role":"user","content":"hello"}}` + "\n"
)

// A file belongs to the program that wrote it, as far as it says so.
func TestWriters(t *testing.T) {
	deep := strings.Replace(aHeader, `"cwd"`, `"delegationDepth":0,"cwd"`, 1) + `{"type":"user/message","text":"hello"}` + "\n"
	for _, test := range []struct {
		what, head     string
		pi, omp, prime adapter.Sort
	}{
		{"a header", aHeader + aMessage, adapter.Transcript, adapter.Transcript, adapter.Transcript},
		{"a slot", aSlot + aHeader + aMessage, adapter.Foreign, adapter.Transcript, adapter.Foreign},
		{"a slot alone", aSlot, adapter.Foreign, adapter.Transcript, adapter.Foreign},
		{"two slots", aSlot + aSlot + aHeader, adapter.Foreign, adapter.Transcript, adapter.Foreign},
		{"a torn slot", aSlot[:40], adapter.Foreign, adapter.Foreign, adapter.Foreign},
		{"a member of the header", strings.Replace(aHeader, `"cwd"`, `"titleSource":"auto","cwd"`, 1), adapter.Foreign, adapter.Transcript, adapter.Foreign},
		{"messages alone", aMessage, adapter.Foreign, adapter.Foreign, adapter.Foreign},
		{"a session of DeepSeek", deep, adapter.Foreign, adapter.Foreign, adapter.Foreign},
		{"an artifact of a subagent", `{"version":1,"recordType":"message","role":"assistant","usage":{"input":5}}` + "\n", adapter.Foreign, adapter.Foreign, adapter.Foreign},
		{"a title of something else", `{"type":"title","title":"A page"}` + "\n", adapter.Foreign, adapter.Foreign, adapter.Foreign},
		{"nothing", "", adapter.Foreign, adapter.Foreign, adapter.Foreign},
	} {
		head := []byte(test.head)
		got := [3]adapter.Sort{New().Recognize(head), NewOhMyPi().Recognize(head), NewPrime().Recognize(head)}
		if want := [3]adapter.Sort{test.pi, test.omp, test.prime}; got != want {
			t.Errorf("%s is %v to pi, oh-my-pi and Prime Agent, want %v", test.what, got, want)
		}
	}
}

func TestVolatileIsTheSlot(t *testing.T) {
	for head, want := range map[string]int{
		aSlot + aHeader: len(aSlot), aSlot + aSlot + aHeader: len(aSlot), aSlot[:len(aSlot)-1]: 0, aHeader + aSlot: 0, "": 0,
		strings.Replace(aSlot, "   ", strings.Repeat(" ", 400), 1) + aHeader: len(aSlot) + 397,
	} {
		if got := NewOhMyPi().Volatile([]byte(head)); got != int64(want) {
			t.Errorf("Volatile(%.60q) = %d, want %d", head, got, want)
		}
	}
}

// Every profile of oh-my-pi is searched, and nothing else in its directory.
func TestProfiles(t *testing.T) {
	for path, want := range map[string]adapter.Sort{
		"agent/sessions/-p/t_id.jsonl":                adapter.Transcript,
		"agent/sessions/-p/t_id/helper.jsonl":         adapter.Transcript,
		"agent/sessions/-p/t_id/a/b.jsonl":            adapter.Transcript,
		"profiles/wörk %x/agent/sessions/p/a.jsonl":   adapter.Transcript,
		"profiles/agent/agent/sessions/p/a.jsonl":     adapter.Transcript,
		"profiles/sessions/agent/sessions/p/a.jsonl":  adapter.Transcript,
		"sessions/-p/a.jsonl":                         adapter.Transcript,
		"agent/sessions/-p/t_id.jsonl.12345.bak":      adapter.Foreign,
		"agent/sessions/-p/t_id/output.log":           adapter.Foreign,
		"agent/blobs/a.jsonl":                         adapter.Foreign,
		"agent/custom-session-files/a.jsonl":          adapter.Foreign,
		"agent/a.jsonl":                               adapter.Foreign,
		"a.jsonl":                                     adapter.Foreign,
		"profiles/x.jsonl":                            adapter.Foreign,
		"profiles/x/a.jsonl":                          adapter.Foreign,
		"profiles/x/agent/blobs/a.jsonl":              adapter.Foreign,
		"profiles//agent/terminal-sessions/odd.jsonl": adapter.Foreign,
	} {
		got := adapter.NewLayout("", profiles).File([]byte(path))
		for dir := slashed.Dir(path); dir != "."; dir = slashed.Dir(dir) {
			if !adapter.NewLayout("", profiles).Enter([]byte(dir)) {
				got = adapter.Foreign
			}
		}
		if got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func relativeEnv(vars map[string]string) adapter.Environment {
	return adapter.Environment{
		Home: "/home/u", WorkDir: "/work", Getenv: func(name string) string { return vars[name] },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

func TestRelativeRoots(t *testing.T) {
	for _, test := range []struct {
		vars map[string]string
		want []string // + is a usual one
	}{
		{nil, []string{"+.omp", "+.local/share/omp", "+.prime/agent/sessions"}},
		{map[string]string{"PI_CODING_AGENT_DIR": "/shared"}, []string{"+.omp", "+.local/share/omp", "+.prime/agent/sessions"}},
		{map[string]string{"PI_CONFIG_DIR": ".omp", "XDG_DATA_HOME": "relative"}, []string{"+.omp", "+.local/share/omp", "+.prime/agent/sessions"}},
		{map[string]string{"PI_CONFIG_DIR": ".my pi", "XDG_DATA_HOME": "/data"}, []string{".my pi", "+.omp", "+/data/omp", "+.prime/agent/sessions"}},
		{map[string]string{"PRIME_AGENT_SESSION_DIR": "/p", "PRIME_AGENT_CODING_AGENT_DIR": "~/.prime/agent"}, []string{"+.omp", "+.local/share/omp", "/p", "+.prime/agent/sessions"}},
		{map[string]string{"PRIME_AGENT_CODING_AGENT_DIR": "/q"}, []string{"+.omp", "+.local/share/omp", "/q/sessions", "+.prime/agent/sessions"}},
	} {
		roots, err := adapter.NewRegistry(relativeEnv(test.vars), NewOhMyPi(), NewPrime()).Roots()
		var got []string
		for _, r := range roots {
			path := strings.TrimPrefix(filepath.ToSlash(r.Path), "/home/u/")
			if r.Usual {
				path = "+" + path
			}
			got = append(got, path)
		}
		if filepath.Separator == '/' && (err != nil || !slices.Equal(got, test.want)) { // other systems have other absolute paths
			t.Errorf("%v: roots %q, %v, want %q", test.vars, got, err, test.want)
		}
	}
}

func TestRelativesResume(t *testing.T) {
	record := func(change func(*session.Record)) *session.Record {
		r := &session.Record{}
		r.Path, r.ID, r.CWD, r.Version = "/s/a.jsonl", "id-1", "/srv/p", 3
		change(r)
		return r
	}
	root := record(func(r *session.Record) { r.Path, r.CWD = "/s/root.jsonl", "/srv/root" })
	child := record(func(r *session.Record) { r.Relation, r.ParentSession = session.Spawned, "/s/root.jsonl" })
	plain := record(func(*session.Record) {})
	for _, test := range []struct {
		what  string
		agent adapter.Resumer
		q     adapter.ResumeRequest
		want  string
	}{
		{"a session", NewOhMyPi(), adapter.ResumeRequest{Record: plain}, "omp --resume /s/a.jsonl"},
		{"a fork", NewOhMyPi(), adapter.ResumeRequest{Record: plain, Fork: true}, "omp --fork id-1"},
		{"of Prime", NewPrime(), adapter.ResumeRequest{Record: plain}, "prime-agent --resume /s/a.jsonl"},
		{"a subagent", NewOhMyPi(), adapter.ResumeRequest{Record: child, Root: &root.Summary}, "omp --resume /s/root.jsonl in /srv/root"},
		{"a lost subagent", NewOhMyPi(), adapter.ResumeRequest{Record: child}, "it is a subagent, and the session that it worked for is gone"},
		{"without a header", NewPrime(), adapter.ResumeRequest{Record: record(func(r *session.Record) { r.Version = 0 })}, "it has no session header"},
		{"without an id", NewPrime(), adapter.ResumeRequest{Record: record(func(r *session.Record) { r.ID = "" })}, "its header has no id"},
		{"of the library", NewOhMyPi(), adapter.ResumeRequest{Record: record(func(r *session.Record) { r.Version = 4 })}, "it is of format 4, which only pi's agent library writes"},
		{"a compressed one", NewOhMyPi(), adapter.ResumeRequest{Record: plain, Packed: true}, "its file is compressed"},
	} {
		r, err := test.agent.Resume(relativeEnv(nil), &test.q)
		got := ""
		switch o, ok := err.(*adapter.Obstacle); {
		case ok:
			got = o.Reason
		case err == nil:
			if got = strings.Join(r.Argv, " "); r.Dir != "" {
				got += " in " + r.Dir
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
	if dir, argv := NewOhMyPi().ResumeCommand(relativeEnv(nil), &child.Summary); dir != "/srv/p" || !slices.Equal(argv, []string{"omp", "--resume", "/s/root.jsonl"}) {
		t.Errorf("a subagent: %s %v", dir, argv)
	}
}

// Sessions in the directory of another one are those of its subagents.
func TestParentsOfSubagents(t *testing.T) {
	sessions := filepath.FromSlash("/h/.omp/agent/sessions/-p")
	main := filepath.Join(sessions, "2026-11-21T21-39-51-576Z_01a2000d")
	for path, want := range map[string]string{
		main + ".jsonl":                                    "",
		filepath.Join(main, "helper.jsonl"):                main + ".jsonl",
		filepath.Join(main, "helper", "__advisor.jsonl"):   filepath.Join(main, "helper.jsonl"),
		filepath.Join(sessions, "under_score", "a.jsonl"):  "",
		filepath.Join(sessions, "2026-11-21T_", "a.jsonl"): "",
	} {
		state := adapter.State{Path: path, Header: session.Header{Agent: OhMyPiName}}
		p := NewOhMyPi().Parse(state)
		p.Parse(adapter.Line{Data: []byte(aHeader), Number: 1, Ended: true}, func(*session.Entry) {})
		if h := p.State().Header; h.ParentSession != want || (h.Relation == session.Spawned) != (want != "") {
			t.Errorf("%s: parent %q, relation %d, want %q", path, h.ParentSession, h.Relation, want)
		}
	}
}

// What the family writes and pi does not.
func TestFamilyLines(t *testing.T) {
	wrap := func(message string) string {
		return `{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-21T21:40:00Z","message":` + message + `}`
	}
	for _, test := range []struct {
		line string
		want string // role, then parts
	}{
		{`{"type":"title_change","id":"t","parentId":null,"title":"New","previousTitle":"Old","source":"user","trigger":"slash"}`, " title:New meta:Old"},
		{wrap(`{"role":"pythonExecution","code":"print(1)","output":"1","exitCode":0}`), "bashExecution shell:print(1)\n1"},
		{wrap(`{"role":"jsExecution","code":"1+1"}`), "bashExecution shell:1+1"},
		{wrap(`{"role":"fileMention","files":[{"path":"a.md","content":"alpha","lineCount":1},{"path":"b.png","content":"","image":{"type":"image","mimeType":"image/png","data":"aGk="}}]}`), "fileMention prompt:a.md\nalpha prompt:b.png"},
		{wrap(`{"role":"developer","content":"be brief"}`), "system system:be brief"},
		{wrap(`{"role":"assistant","content":[{"type":"redactedThinking","data":"c2VjcmV0"},{"type":"text","text":"ok"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls","i":"list"},"partialArgs":"{\"command\"","streamIndex":0,"intent":"list"}],"providerPayload":{"items":[{"text":"ok"}]}}`), "assistant reply:ok call:bash\ncommand: ls\ni: list"},
		{`{"type":"custom","id":"s","customType":"tool_execution_start","data":{"toolName":"bash","args":{"command":"ls"}}}`, ""},
		{`{"type":"custom","id":"s","customType":"session_exit","data":{"reason":"dispose"}}`, " data:dispose"},
		{`{"type":"model_change","id":"m","model":"p/m","role":"default","resolvedModelIsFallback":false}`, " meta:p/m"},
		{`{"type":"mode_change","id":"m","mode":"plan"}`, " meta:plan"},
		{`{"type":"model_usage","id":"m","purpose":"title","provider":"p","model":"m","usage":{"input":3,"output":4}}`, " meta:p/m\ntitle"},
		{`{"type":"session_init","id":"i","systemPrompt":"You help","task":"look","tools":["bash"]}`, " system:You help data:look\nbash"},
		{`{"type":"compaction","id":"c","summary":"long","shortSummary":"short","preserveData":{"x":"ZW5j"},"tokensAfter":5}`, " summary:long summary:short"},
	} {
		var got string
		p := New().Parse(adapter.State{Header: session.Header{Version: 3}, Facts: true})
		p.Parse(adapter.Line{Data: []byte(test.line), Raw: []byte(test.line), Offset: 900, Number: 2, Ended: true}, func(e *session.Entry) {
			got = e.Role
			for _, part := range e.Parts {
				got += " " + string(part.Kind) + ":" + string(part.Text)
			}
		})
		if got != test.want {
			t.Errorf("%s\n%q, want %q", test.line, got, test.want)
		}
	}
}

// The truth files count every custom entry, and take a title for a part once. Here the slot
// has it, and the entry about its change repeats it as a remark.
func TestOhMyPiAsItReports(t *testing.T) {
	for path, data := range adapters.Fixtures(t, "omp") {
		raw, err := os.ReadFile(path + ".truth.json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Entries int
			Parts   map[string]int `json:"parts_by_kind"`
			Types   map[string]int `json:"entries_by_type"`
			Tree    struct{ Nodes int }
			Phrases []struct {
				Phrase, Kind string
				Line         int
			}
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		want.Parts["data"] -= want.Types["custom/"+toolStart]
		want.Parts["meta"] += want.Types[typeTitleChange] - bytes.Count(data, []byte(`"thinkingLevel":null`)) // which has no text
		entries, problems, _ := parseFile(t, bytes.NewReader(data))
		got, nodes := make(map[string]int), 0
		for _, e := range entries {
			if !e.Apart {
				nodes++
			}
			for _, p := range e.Parts {
				got[string(p.Kind)]++
			}
		}
		if diff := gocmp.Diff(want.Parts, got); diff != "" || len(problems) > 0 {
			t.Errorf("%s: problems %v, parts (-want +got):\n%s", path, problems, diff)
		}
		if len(entries)+1 != want.Entries || nodes != want.Tree.Nodes {
			t.Errorf("%s: %d entries and a header, %d in the tree, want %d and %d", path, len(entries), nodes, want.Entries, want.Tree.Nodes)
		}
		for _, phrase := range want.Phrases {
			var found []string
			for _, e := range entries {
				for _, p := range e.Parts {
					if strings.Contains(string(p.Text), phrase.Phrase) {
						found = append(found, fmt.Sprintf("%s in line %d", p.Kind, e.Line))
					}
				}
			}
			if place := fmt.Sprintf("%s in line %d", phrase.Kind, phrase.Line); !slices.Equal(found, []string{place}) {
				t.Errorf("%s: %q is %v, want %s", path, phrase.Phrase, found, place)
			}
		}
	}
}
