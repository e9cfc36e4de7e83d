package claude

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/adapters"
	"pigrep/lab/testkit"
)

func environment(vars map[string]string) adapter.Environment {
	return adapter.Environment{
		Home: "/home/u", WorkDir: "/home/u/app", Getenv: func(name string) string { return vars[name] },
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

func TestRoots(t *testing.T) {
	for _, tt := range []struct {
		dir  string
		want []string
	}{
		{"", []string{"/home/u/.claude/projects default", "/home/u/.config/claude/projects default"}},
		{"~/work", []string{"/home/u/work/projects $CLAUDE_CONFIG_DIR", "/home/u/.claude/projects default", "/home/u/.config/claude/projects default"}},
		{testkit.Absolute("/a") + ", " + testkit.Absolute("/home/u/.claude"), []string{"/a/projects $CLAUDE_CONFIG_DIR", "/home/u/.claude/projects $CLAUDE_CONFIG_DIR", "/home/u/.config/claude/projects default"}},
	} {
		env := environment(map[string]string{configDirVariable: tt.dir})
		env.Home, env.WorkDir = testkit.Absolute(env.Home), testkit.Absolute(env.WorkDir)
		roots, err := New().Roots(env)
		var got []string
		if last := roots[len(roots)-1]; last.Path != filepath.Join(desktop(env, runtime.GOOS), desktopSessions) || !last.Usual {
			t.Errorf("root of Claude Desktop: %+v", last)
		}
		for _, r := range roots[:len(roots)-1] {
			path := filepath.ToSlash(strings.TrimPrefix(r.Path, filepath.VolumeName(r.Path)))
			got = append(got, path+" "+r.Origin)
			if r.Usual != strings.HasPrefix(path, "/home/u/.c") || // also if the variable names it: the name of the index stays
				r.Layout == nil {
				t.Errorf("root %+v", r)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.dir, err, diff)
		}
	}
}

// Only sessions and the conversations of subagents are opened.
func TestLayout(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	home := New().Home(func(name string) bool { return name == projects+"/" })
	if home == nil || New().Home(func(name string) bool { return name == "sessions/" }) != nil {
		t.Fatal("its own directory is not known, or another one is")
	}
	for path, want := range map[string]bool{
		"p/" + id + ".jsonl":                                true,
		"p/any.jsonl":                                       true,
		"p/agent-a1.jsonl":                                  true,
		"p/" + id + "/subagents/agent-a1.jsonl":             true,
		"p/" + id + "/subagents/workflows/w/agent-a1.jsonl": true,

		"a.jsonl":                                  false,
		"p/sessions-index.json":                    false,
		"p/memory/a.jsonl":                         false,
		"p/" + id + "/a.jsonl":                     false,
		"p/" + id + "/tool-results/a.jsonl":        false,
		"p/" + id + "/subagents/journal.jsonl":     false,
		"p/" + id + "/subagents/agent-a.meta.json": false,
		"p/" + id + "/workflows/agent-a1.jsonl":    false,
	} {
		if got := file(adapter.NewLayout("", files), path); got != want {
			t.Errorf("%s: opened %t, want %t", path, got, want)
		}
		if got := file(home, projects+"/"+path); got != want {
			t.Errorf("%s below the home: opened %t, want %t", path, got, want)
		}
	}
	for _, path := range []string{"history.jsonl", "todos/a.jsonl", "projectsx/p/a.jsonl"} {
		if file(home, path) {
			t.Errorf("%s is opened", path)
		}
	}
	path := []byte("p/" + id + "/subagents/agent-a1.jsonl")
	l := adapter.NewLayout("", files)
	if n := testing.AllocsPerRun(100, func() { l.Enter(path[:40]); l.File(path) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Claude Desktop keeps a directory of Claude Code for each of its sessions, and a log beside it.
func TestDesktop(t *testing.T) {
	const local = "0aaaaaaa-0000-4000-8000-000000000001/0bbbbbbb-0000-4000-8000-000000000002/local_0ccccccc-0000-4000-8000-000000000003/"
	for path, want := range map[string]bool{
		local + ".claude/projects/p/any.jsonl":                                                     true,
		local + ".claude/projects/p/01234567-89ab-cdef-0123-456789abcdef/subagents/agent-a1.jsonl": true,

		local + "audit.jsonl":               false,
		local + ".claude/history.jsonl":     false,
		local + "outputs/a.jsonl":           false,
		local + ".other/projects/p/a.jsonl": false,
		"audit.jsonl":                       false,
	} {
		if got := file(adapter.NewLayout("*/*/*/.claude/projects", files), path); got != want {
			t.Errorf("%s: opened %t, want %t", path, got, want)
		}
	}
	env := environment(nil)
	for system, want := range map[string]string{"linux": "/home/u/.config/Claude", "darwin": "/home/u/Library/Application Support/Claude", "windows": "/home/u/AppData/Roaming/Claude"} {
		if got := filepath.ToSlash(desktop(env, system)); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
	s := session.Summary{Path: "/home/u/.config/Claude/" + desktopSessions + "/" + local + ".claude/projects/p/01234567-89ab-cdef-0123-456789abcdef.jsonl"}
	s.Version = 2
	if _, argv := New().ResumeCommand(env, &s); argv != nil {
		t.Errorf("resumed by %q", argv)
	}
}

// file reports whether a walk finds a file and opens it.
func file(l adapter.Layout, path string) bool {
	for i := range path {
		if path[i] == '/' && !l.Enter([]byte(path[:i])) {
			return false
		}
	}
	return l.File([]byte(path)) == adapter.Transcript
}

func TestRecognize(t *testing.T) {
	long := user("u", "", `"`+strings.Repeat("x", adapter.HeadLength)+`"`)
	for _, tt := range []struct {
		name, head string
		want       adapter.Sort
	}{
		{"prompt", user("u", "", `"hi"`), adapter.Transcript},
		{"after zero bytes", "\x00\x00" + user("u", "", `"hi"`), adapter.Transcript},
		{"after a broken line", "oops\n" + user("u", "", `"hi"`), adapter.Transcript},
		{"a long first line", long[:adapter.HeadLength], adapter.Transcript},
		{"summary", `{"type":"summary","summary":"s","leafUuid":"x"}`, adapter.Transcript},
		{"snapshot", `{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`, adapter.Transcript},
		{"mode", `{"type":"mode","mode":"normal","sessionId":"s"}`, adapter.Transcript},

		{"nothing", "", adapter.Foreign},
		{"blank lines", "\n\n\x00", adapter.Foreign},
		{"pi", `{"type":"session","version":3,"id":"a","cwd":"/x"}` + "\n" + `{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"hi"}}`, adapter.Foreign},
		{"an old pi", `{"type":"user","message":{"role":"user","content":"hi"}}`, adapter.Foreign},
		{"codex", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a","cwd":"/x"}}`, adapter.Foreign},
		{"journal", `{"type":"started","agentId":"a"}` + "\n" + `{"type":"result","agentId":"a","result":"ok"}`, adapter.Foreign},
		{"history", `{"display":"hi","pastedContents":{},"timestamp":1,"project":"/x","sessionId":"s"}`, adapter.Foreign},
		{"a line that quotes one", `{"text":"` + strings.ReplaceAll(long, `"`, `\"`)[:adapter.HeadLength], adapter.Foreign},
		{"text", `"parentUuid":"isSidechain":"sessionId":"`, adapter.Foreign},
	} {
		if got := New().Recognize([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for path, data := range adapters.Fixtures(t, "claude") {
		if New().Recognize(data[:min(len(data), adapter.HeadLength)]) != adapter.Transcript {
			t.Errorf("%s is not recognized", path)
		}
	}
}

func TestResume(t *testing.T) {
	const id = "01234567-89ab-cdef-0123-456789abcdef"
	record := func(path, cwd string) *session.Record {
		r := &session.Record{}
		r.Path, r.CWD, r.Version, r.Messages = path, cwd, 2, 1
		return r
	}
	own := record("/home/u/.claude/projects/-home-u-app/"+id+".jsonl", "/home/u/app")
	sub := record("/home/u/.claude/projects/-home-u-app/"+id+"/subagents/agent-a1.jsonl", "/home/u/app")
	sub.Relation, sub.ParentSession = session.Spawned, id
	empty := record(own.Path, own.CWD)
	empty.Messages = 0
	long := strings.Repeat("/directory", 25)
	tests := []struct {
		name string
		q    adapter.ResumeRequest
		vars map[string]string
		want string // the command, or the reason
	}{
		{"a session", adapter.ResumeRequest{Record: own}, nil, "claude --resume " + id},
		{"a fork", adapter.ResumeRequest{Record: own, Fork: true}, nil, "claude --resume " + id + " --fork-session"},
		{"in its own directory", adapter.ResumeRequest{Record: own, Dir: "/home/u/app/"}, nil, "claude --resume " + id},
		{"in its own directory, by a link", adapter.ResumeRequest{Record: own, Dir: "/home/u/link"}, nil, "claude --resume " + id},
		{"elsewhere", adapter.ResumeRequest{Record: own, Dir: "/home/u"}, nil, "Claude Code finds a session only in the directory where it began"},
		{"a subagent", adapter.ResumeRequest{Record: sub, Root: &own.Summary}, nil, "claude --resume " + id},
		{"an orphan", adapter.ResumeRequest{Record: sub}, nil, "it is a subagent, and the session that it worked for is gone"},
		{"without messages", adapter.ResumeRequest{Record: empty}, nil, "it has no messages"},
		{"a copy", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/-home-u-app/full.jsonl", "/home/u/app")}, nil, "its file is not named after the id of a session"},
		{"another home", adapter.ResumeRequest{Record: own}, map[string]string{configDirVariable: testkit.Absolute("/c")}, "Claude Code looks for sessions in " + testkit.Absolute("/c")},
		{"another project", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/x/"+id+".jsonl", "/home/u/app")}, nil, "its file is not in the directory of its project"},
		{"a project with a name", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/x/"+id+".jsonl", "/home/u/app")}, map[string]string{"CLAUDE_CODE_PROJECT_DIR_NAME": "x"}, "claude --resume " + id},
		{"a long directory", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/"+strings.ReplaceAll(long, "/", "-")[:200]+"-x1/"+id+".jsonl", long)}, nil, "claude --resume " + id},
		{"an odd directory", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/C--a-b---/"+id+".jsonl", `C:\a_b.😀`)}, nil, "claude --resume " + id},
		{"no directory", adapter.ResumeRequest{Record: record("/home/u/.claude/projects/x/"+id+".jsonl", "")}, nil, "it does not say in which directory it began"},
	}
	for _, tt := range tests {
		env := environment(tt.vars)
		env.RealPath = func(path string) string { return strings.Replace(path, "/link", "/app", 1) }
		r, err := New().Resume(env, &tt.q)
		got := ""
		var o *adapter.Obstacle
		if errors.As(err, &o) {
			got = o.Reason
		} else {
			got = strings.Join(r.Argv, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, r := range []*session.Record{own, sub} {
		if dir, argv := New().ResumeCommand(environment(nil), &r.Summary); dir != "/home/u/app" || strings.Join(argv, " ") != "claude --resume "+id {
			t.Errorf("command %q in %q", argv, dir)
		}
	}
}

func TestHost(t *testing.T) {
	home := testkit.Absolute("/c")
	env := environment(map[string]string{currentVariable: "s1", configDirVariable: home})
	if id, path := New().Current(env); id != "s1" || path != "" || New().SkillDir(env) != filepath.Join(home, "skills") {
		t.Errorf("session %q %q, skills in %s", id, path, New().SkillDir(env))
	}
	for _, s := range New().Stores(env) {
		if private := strings.Contains(s.Name, "credentials") || s.Name == "state" || s.Name == "telemetry"; private && s.Coverage != adapter.Private || s.Coverage == adapter.Searched && s.Path != filepath.Join(home, projects) {
			t.Errorf("store %+v", s)
		}
	}
}

// A memo that is full is small enough, and says the same when it is read again.
func TestMemo(t *testing.T) {
	var m memo
	long := strings.Repeat("x", 1000)
	m.CWD, m.Git, m.Tip, m.Message = adapter.Short(long[:longestPlace], longestPlace), adapter.Short(long[:longestPlace], longestPlace), long[:longestID], 1<<63
	for range 100 {
		m.Group, m.Asides = adapter.Remember(m.Group, 1<<63, mostRemembered), adapter.Remember(m.Asides, 1<<63, mostRemembered)
		m.Queue = adapter.Remember(m.Queue, queued{1 << 50, 1 << 28, true, 1 << 63}, mostQueued)
		m.Tasks = adapter.Remember(m.Tasks, task{long[:longestID], long[:longestID]}, mostTasks)
	}
	p := New().Parse(adapter.State{}).(*parser)
	p.Memo = m
	whole := p.State().Memo
	p.Reset(adapter.State{Memo: whole})
	if len(whole) > adapter.MaxMemo || !slices.Equal(p.State().Memo, whole) || len(p.Memo.Tasks) != mostTasks || adapter.Short(long, longestPlace) != "" {
		t.Errorf("%d bytes, and %d when it is read again", len(whole), len(p.State().Memo))
	}
	for i := range whole {
		p.Reset(adapter.State{Memo: whole[:i]}) // of another version
	}
}

// FuzzParse gives the parser any bytes: it must not panic, lose its place, remember too much,
// or depend on where it was interrupted.
func FuzzParse(f *testing.F) {
	for _, tt := range lineTests {
		f.Add([]byte(tt.line + "\n" + tt.line))
	}
	for _, tt := range placeTests {
		f.Add([]byte(strings.Join(tt.lines, "\n")))
	}
	for _, tt := range queueTests {
		f.Add([]byte(strings.Join(tt.lines, "\n") + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, _, end := parse(t, sessionFile, data)
		state := adapter.State{Path: sessionFile, Facts: true}
		n := 0
		for _, line := range adapters.Lines(t, data) {
			p := New().Parse(state)
			p.Parse(line, func(e *session.Entry) {
				if n >= len(whole) {
					t.Fatalf("line %d has more entries when it is read on", line.Number)
				}
				if diff := testkit.Diff(whole[n], adapters.Clone(e)); diff != "" {
					t.Errorf("line %d, read on (-whole +part):\n%s", line.Number, diff)
				}
				if e.Offset < line.Offset || e.Offset+int64(e.Length) > line.Offset+line.Length {
					t.Errorf("line %d: entry at %d of %d bytes is not within it", line.Number, e.Offset, e.Length)
				}
				for _, part := range e.Parts {
					if len(part.Text) == 0 && len(e.Images) == 0 {
						t.Errorf("line %d has an empty part", line.Number)
					}
				}
				n++
			})
			adapter.View(New(), state, line, func(*session.Entry, *session.View) {})
			line.Wanted = func([]byte) bool { return false }
			New().Parse(state).Parse(line, func(*session.Entry) {})
			if state = p.State(); len(state.Memo) > adapter.MaxMemo {
				t.Fatalf("the memo has %d bytes", len(state.Memo))
			}
		}
		if diff := cmp.Diff(end, state); diff != "" || n != len(whole) {
			t.Errorf("%d of %d entries; state (-whole +parts):\n%s", n, len(whole), diff)
		}
	})
}
