package codex

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

func environment(variables map[string]string) adapter.Environment {
	return adapter.Environment{Home: "/home/u", WorkDir: "/w", Getenv: func(name string) string { return variables[name] }}
}

func TestRoots(t *testing.T) {
	for _, c := range []struct {
		codexHome string
		want      []string
	}{
		{"", []string{"/home/u/.codex default"}},
		{testkit.Absolute("/home/u/.codex"), []string{"/home/u/.codex $CODEX_HOME"}},
		{"~/x", []string{"/home/u/x $CODEX_HOME", "/home/u/.codex default"}},
		{"x", []string{"/w/x $CODEX_HOME", "/home/u/.codex default"}},
	} {
		env := environment(map[string]string{homeVariable: c.codexHome})
		env.Home, env.WorkDir = testkit.Absolute(env.Home), testkit.Absolute(env.WorkDir)
		roots, err := New().Roots(env)
		var got []string
		for _, r := range roots {
			path := filepath.ToSlash(strings.TrimPrefix(r.Path, filepath.VolumeName(r.Path)))
			got = append(got, path+" "+r.Origin)
			if r.Usual != strings.HasSuffix(path, "/.codex") || r.Layout == nil {
				t.Errorf("root %+v", r)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", c.codexHome, err, diff)
		}
	}
}

// Below Codex's directory, nothing but sessions and their names is listed or opened.
func TestLayout(t *testing.T) {
	l := New().Home(func(name string) bool { return name == "sessions/" })
	if l == nil || New().Home(func(name string) bool { return name == "agent/" || name == "sessions" }) != nil {
		t.Fatal("the directory is not recognized")
	}
	for path, want := range map[string]adapter.Sort{
		"session_index.jsonl":                               adapter.Notes,
		"sessions/2026/11/21/rollout-2026-11-21T21-x.jsonl": adapter.Transcript,
		"archived_sessions/rollout-x.jsonl":                 adapter.Transcript,
		"sessions/2026/11/21/rollout-x.json":                adapter.Foreign,
		"sessions/2026/11/21/notes.jsonl":                   adapter.Foreign,
		"sessions/session_index.jsonl":                      adapter.Foreign,
		"sessions":                                          adapter.Foreign,
		"rollout-x.jsonl":                                   adapter.Foreign,
		"history.jsonl":                                     adapter.Foreign,
		"auth.json":                                         adapter.Foreign,
		"sessions.bak/rollout-x.jsonl":                      adapter.Foreign,
		"log/rollout-x.jsonl":                               adapter.Foreign,
	} {
		if got := l.File([]byte(path)); got != want {
			t.Errorf("%s is %d, want %d", path, got, want)
		}
	}
	for dir, want := range map[string]bool{"sessions": true, "sessions/2026/11/21": true, "archived_sessions": true, "log": false, "sessionsx": false, "skills/sessions": false} {
		if l.Enter([]byte(dir)) != want {
			t.Errorf("enters %s: %v", dir, !want)
		}
	}
	path := []byte("sessions/2026/11/21/rollout-2026-11-21T21-x.jsonl")
	if n := testing.AllocsPerRun(100, func() { l.File(path) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Secrets and databases are named, but never opened.
func TestStores(t *testing.T) {
	searched := 0
	for _, s := range New().Stores(environment(nil)) {
		if s.Coverage == adapter.Searched {
			searched++
		}
		private := filepath.Ext(s.Path) == ".sqlite" || s.Name == "auth" || s.Name == "credentials" || s.Name == "settings" || s.Name == "log files"
		if private != (s.Coverage == adapter.Private) {
			t.Errorf("%s is %s", s.Path, s.Coverage)
		}
	}
	if searched != 3 {
		t.Errorf("%d stores are searched", searched)
	}
}

func TestResume(t *testing.T) {
	at := func(path string, change func(*session.Summary)) *session.Record {
		rec := &session.Record{Summary: session.Summary{Header: session.Header{ID: aSession, CWD: "/srv/app", Version: version}, Path: filepath.FromSlash(path), Messages: 2}}
		if change != nil {
			change(&rec.Summary)
		}
		return rec
	}
	spawned := func(s *session.Summary) { s.ID, s.Relation, s.ParentSession = another, session.Spawned, aSession }
	for _, c := range []struct {
		name    string
		request adapter.ResumeRequest
		want    []string
		reason  string
		hint    string
	}{
		{"resume", adapter.ResumeRequest{Record: at(rollout, nil)}, []string{"codex", "resume", aSession, "-C", "/srv/app"}, "", ""},
		{"elsewhere", adapter.ResumeRequest{Record: at(rollout, nil), Dir: "/x"}, []string{"codex", "resume", aSession, "-C", "/x"}, "", ""},
		{"fork", adapter.ResumeRequest{Record: at(rollout, nil), Fork: true}, []string{"codex", "fork", aSession, "-C", "/srv/app"}, "", ""},
		{"compressed", adapter.ResumeRequest{Record: at(rollout, nil), Packed: true}, []string{"codex", "resume", aSession, "-C", "/srv/app"}, "", ""},
		{"no directory", adapter.ResumeRequest{Record: at(rollout, func(s *session.Summary) { s.CWD = "" })}, []string{"codex", "resume", aSession}, "", ""},
		{"subagent", adapter.ResumeRequest{Record: at(rollout, spawned), Root: &at(rollout, nil).Summary}, []string{"codex", "resume", aSession, "-C", "/srv/app"}, "", ""},
		{"orphan", adapter.ResumeRequest{Record: at(rollout, spawned)}, nil, "it is a subagent, and the session that it worked for is gone", ""},
		{"archived", adapter.ResumeRequest{Record: at("/home/u/.codex/archived_sessions/rollout-x.jsonl", nil)}, nil, "it is archived", "codex unarchive " + aSession},
		{"flat", adapter.ResumeRequest{Record: at(rollout, func(s *session.Summary) { s.Version = versionFlat })}, nil, "a version before 0.34 wrote it, and later ones do not open its format", ""},
		{"no header", adapter.ResumeRequest{Record: at(rollout, func(s *session.Summary) { s.Version = 0 })}, nil, "it has no session header", ""},
		{"empty", adapter.ResumeRequest{Record: at(rollout, func(s *session.Summary) { s.Messages = 0 })}, nil, "it has no messages", ""},
		{"loose", adapter.ResumeRequest{Record: at("/tmp/rollout-x.jsonl", nil)}, nil, "its file is not where Codex looks: in " + filepath.FromSlash("/home/u/.codex/sessions"), ""},
		{"another home", adapter.ResumeRequest{Record: at("/mnt/codex/sessions/2026/11/21/rollout-x.jsonl", nil)}, nil, "Codex looks for sessions in " + filepath.FromSlash("/home/u/.codex"), "set CODEX_HOME=" + filepath.FromSlash("/mnt/codex")},
	} {
		r, err := New().Resume(environment(nil), &c.request)
		var o *adapter.Obstacle
		switch errors.As(err, &o); {
		case o != nil:
			if o.Reason != c.reason || o.Hint != c.hint || o.Program != "codex" {
				t.Errorf("%s: %+v, want %q, %q", c.name, o, c.reason, c.hint)
			}
		default:
			if diff := cmp.Diff(c.want, r.Argv); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		}
		dir, argv := New().ResumeCommand(environment(nil), &c.request.Record.Summary)
		if c.name == "subagent" && (dir != "/srv/app" || argv[2] != aSession) || (c.name == "archived" || c.name == "flat") && argv != nil {
			t.Errorf("%s: %s %v", c.name, dir, argv)
		}
	}
}

func TestHost(t *testing.T) {
	env := environment(map[string]string{currentVariable: aSession})
	if id, path := New().Current(env); id != aSession || path != "" {
		t.Errorf("current %s %s", id, path)
	}
	if dir := filepath.ToSlash(New().SkillDir(env)); dir != "/home/u/.codex/skills" {
		t.Errorf("skills in %s", dir)
	}
}
