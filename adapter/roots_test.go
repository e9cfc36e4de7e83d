package adapter

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/session"
)

// environment is a machine with these variables and settings files.
func environment(t *testing.T, variables, files map[string]string) Environment {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this test are those of Unix")
	}
	return Environment{
		Home:    "/home/u",
		WorkDir: "/work/app",
		Getenv:  func(name string) string { return variables[name] },
		ReadFile: func(path string) ([]byte, error) {
			if filepath.Base(path) != "settings.json" {
				t.Errorf("%s was read", path)
			}
			if s, ok := files[path]; ok {
				if s == "unreadable" {
					return nil, fs.ErrPermission
				}
				return []byte(s), nil
			}
			return nil, fs.ErrNotExist
		},
	}
}

func TestRoots(t *testing.T) {
	const (
		global  = "/home/u/.pi/agent/settings.json"
		project = "/work/app/.pi/settings.json"
	)
	standard := Root{"/home/u/.pi/agent/sessions", "default"}
	tests := []struct {
		name             string
		variables, files map[string]string
		want             []Root
		problem          string
	}{
		{"default", nil, nil, []Root{standard}, ""},
		{"agent directory", map[string]string{"PI_CODING_AGENT_DIR": "~/pi"}, nil, []Root{{"/home/u/pi/sessions", "$PI_CODING_AGENT_DIR"}}, ""},
		{"agent directory, its settings", map[string]string{"PI_CODING_AGENT_DIR": "file:///opt/my%20pi"}, map[string]string{"/opt/my pi/settings.json": `{"sessionDir":"/s"}`},
			[]Root{{"/opt/my pi/sessions", "$PI_CODING_AGENT_DIR"}, {"/s", "sessionDir in /opt/my pi/settings.json"}}, ""},
		{"session directory", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "store"}, nil, []Root{standard, {"/work/app/store", "$PI_CODING_AGENT_SESSION_DIR"}}, ""},
		{"settings", nil, map[string]string{global: `{"theme":"x","sessionDir":"~/all"}`, project: "\ufeff {\"sessionDir\": \"./mine/\"} \n"},
			[]Root{standard, {"/home/u/all", "sessionDir in " + global}, {"/work/app/mine", "sessionDir in " + project}}, ""},
		{"twice the same", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "/s"}, map[string]string{global: `{"sessionDir":"/s/"}`},
			[]Root{standard, {"/s", "$PI_CODING_AGENT_SESSION_DIR"}}, ""},
		{"the default by name", nil, map[string]string{global: `{"sessionDir":"~/.pi/agent/sessions"}`}, []Root{standard}, ""},
		{"home", nil, map[string]string{global: `{"sessionDir":"~"}`}, []Root{standard, {"/home/u", "sessionDir in " + global}}, ""},
		{"no string", nil, map[string]string{global: `{"sessionDir":null}`, project: `[]`}, []Root{standard}, ""},
		{"broken settings", nil, map[string]string{global: `{"sessionDir":"/a",}`, project: `{"sessionDir":"/b"}`},
			[]Root{standard, {"/b", "sessionDir in " + project}}, "read settings " + global + ": not JSON"},
		{"more than settings", nil, map[string]string{global: `{} {}`}, []Root{standard}, "not JSON"},
		{"unreadable settings", nil, map[string]string{global: "unreadable"}, []Root{standard}, "read settings: permission denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Pi().Roots(environment(t, tt.variables, tt.files))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Roots (-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("Roots: error %v, want %q", err, tt.problem)
			}
		})
	}
	_, err := Pi().Roots(environment(t, nil, map[string]string{global: "unreadable"}))
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Roots: error %v does not unwrap", err)
	}
}

func TestAbsolute(t *testing.T) {
	env := environment(t, nil, nil)
	for path, want := range map[string]string{
		"/a/../b/":              "/b",
		"a":                     "/work/app/a",
		".":                     "/work/app",
		"":                      "/work/app",
		"~":                     "/home/u",
		"~/x":                   "/home/u/x",
		"~x":                    "/work/app/~x",
		"a/~":                   "/work/app/a/~",
		"file:///a/b%20c":       "/a/b c",
		"file://localhost/a":    "/a",
		"file://elsewhere/a":    "/work/app/file:/elsewhere/a",
		"file:///a%zz":          "/work/app/file:/a%zz",
		"/with space/é":         "/with space/é",
		"~/.pi/agent/sessions/": "/home/u/.pi/agent/sessions",
	} {
		if got := Absolute(path, env); got != want {
			t.Errorf("Absolute(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestStores(t *testing.T) {
	byName := make(map[string]Store)
	for _, s := range PiStores {
		if s.Name == "" || s.Role == "" || s.Format == "" || s.Path == "" || filepath.IsAbs(s.Path) || strings.Contains(s.Path, `\`) {
			t.Errorf("store %+v is not complete", s)
		}
		if _, twice := byName[s.Name]; twice {
			t.Errorf("store %s is listed twice", s.Name)
		}
		byName[s.Name] = s
	}
	for name, want := range map[string]Coverage{
		"sessions": Searched, "settings": Catalogued, "auth": Private, "models": Catalogued, "themes": Catalogued, "tools": Catalogued,
		"bin": Catalogued, "prompts": Catalogued, "debug log": Catalogued, "npm": Catalogued,
	} {
		if got := byName[name].Coverage; got != want {
			t.Errorf("store %q is %q, want %q", name, got, want)
		}
	}
	if got := byName["sessions"].Format; got != Pi().Name() {
		t.Errorf("sessions have the format %q, want %q", got, Pi().Name())
	}
}

func TestResumeCommand(t *testing.T) {
	const root = "/home/u/.pi/agent/sessions"
	summary := func(path string, version int) session.Summary {
		return session.Summary{Path: path, Header: session.Header{ID: "01a1f7de", CWD: "/w", Version: version, Timestamp: time.Unix(1, 0)}}
	}
	noID := summary("/home/u/.pi/agent/x.jsonl", 3)
	noID.ID = ""
	tests := []struct {
		name string
		s    session.Summary
		dir  string
		argv []string
	}{
		{"default root", summary(root+"/--w--/x.jsonl", 3), "/w", []string{"pi", "--session", root + "/--w--/x.jsonl"}},
		{"another root", summary("/flat/x.jsonl", 1), "/w", []string{"pi", "--session-dir", "/flat", "--session", "/flat/x.jsonl"}},
		{"in the agent directory", summary("/home/u/.pi/agent/x.jsonl", 2), "/w", []string{"pi", "--session", "01a1f7de"}},
		{"in the agent directory, no id", noID, "", nil},
		{"no header", summary("/flat/x.jsonl", 0), "", nil},
		{"of the agent library", summary("/flat/x.jsonl", 4), "", nil},
		{"of a later pi", summary("/flat/x.jsonl", 5), "/w", []string{"pi", "--session-dir", "/flat", "--session", "/flat/x.jsonl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, argv := ResumeCommand(tt.s, root)
			if dir != tt.dir || !cmp.Equal(argv, tt.argv) {
				t.Errorf("ResumeCommand(%s) = %q, %q, want %q, %q", tt.s.Path, dir, argv, tt.dir, tt.argv)
			}
		})
	}
}
