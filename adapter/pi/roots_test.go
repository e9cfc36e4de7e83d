package pi

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
)

// environment is a machine with these variables and settings files.
func environment(t *testing.T, variables, files map[string]string) adapter.Environment {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the test has Unix paths; on Windows an absolute path begins with a drive")
	}
	return adapter.Environment{
		Home:    "/home/u",
		WorkDir: "/work/app",
		Getenv:  func(name string) string { return variables[name] },
		ReadFile: func(path string) ([]byte, error) {
			if name := filepath.Base(path); name != "settings.json" && name != "trust.json" {
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
		RealPath: func(path string) string { return strings.Replace(path, "/work/app/link", "/etc", 1) },
	}
}

func TestRoots(t *testing.T) {
	const (
		global  = "/home/u/.pi/agent/settings.json"
		project = "/work/app/.pi/settings.json"
		trust   = "/home/u/.pi/agent/trust.json"
		trusted = `{"/work":true}`
	)
	standard := adapter.Root{Path: "/home/u/.pi/agent/sessions", Origin: "default", Usual: true}
	tests := []struct {
		name             string
		variables, files map[string]string
		want             []adapter.Root
		problem          string
	}{
		{"default", nil, nil, []adapter.Root{standard}, ""},
		{"agent directory", map[string]string{"PI_CODING_AGENT_DIR": "~/pi"}, nil, []adapter.Root{{Path: "/home/u/pi/sessions", Origin: "$PI_CODING_AGENT_DIR", Usual: true}}, ""},
		{"agent directory, its settings", map[string]string{"PI_CODING_AGENT_DIR": "file:///opt/my%20pi"}, map[string]string{"/opt/my pi/settings.json": `{"sessionDir":"/s"}`},
			[]adapter.Root{{Path: "/opt/my pi/sessions", Origin: "$PI_CODING_AGENT_DIR", Usual: true}, {Path: "/s", Origin: "sessionDir in /opt/my pi/settings.json"}}, ""},
		{"session directory", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "store"}, nil, []adapter.Root{standard, {Path: "/work/app/store", Origin: "$PI_CODING_AGENT_SESSION_DIR"}}, ""},
		{"settings", nil, map[string]string{trust: trusted, global: `{"theme":"x","sessionDir":"~/all"}`, project: "\ufeff {\"sessionDir\": \"./mine/\"} \n"},
			[]adapter.Root{standard, {Path: "/home/u/all", Origin: "sessionDir in " + global}, {Path: "/work/app/mine", Origin: "sessionDir in " + project}}, ""},
		{"twice the same", map[string]string{"PI_CODING_AGENT_SESSION_DIR": "/s"}, map[string]string{global: `{"sessionDir":"/s/"}`},
			[]adapter.Root{standard, {Path: "/s", Origin: "$PI_CODING_AGENT_SESSION_DIR"}}, ""},
		{"the default by name", nil, map[string]string{global: `{"sessionDir":"~/.pi/agent/sessions"}`}, []adapter.Root{standard}, ""},
		{"home", nil, map[string]string{global: `{"sessionDir":"~"}`}, []adapter.Root{standard, {Path: "/home/u", Origin: "sessionDir in " + global}}, ""},
		{"no string", nil, map[string]string{trust: trusted, global: `{"sessionDir":null}`, project: `[]`}, []adapter.Root{standard}, ""},
		{"broken settings", nil, map[string]string{trust: trusted, global: `{"sessionDir":"/a",}`, project: `{"sessionDir":"b"}`},
			[]adapter.Root{standard, {Path: "/work/app/b", Origin: "sessionDir in " + project}}, "read settings " + global + ": not JSON"},
		{"more than settings", nil, map[string]string{global: `{} {}`}, []adapter.Root{standard}, "not JSON"},
		{"unreadable settings", nil, map[string]string{global: "unreadable"}, []adapter.Root{standard}, "read settings: permission denied"},
		// A repository that somebody else wrote brings its settings along.
		{"a project that nobody trusts", nil, map[string]string{project: `{"sessionDir":"./s"}`}, []adapter.Root{standard}, "pi does not trust this project"},
		{"a project that nobody trusts, broken", nil, map[string]string{project: `{"sessionDir":`}, []adapter.Root{standard}, ""},
		{"a project that nobody trusts, without a directory", nil, map[string]string{project: `{"theme":"x"}`}, []adapter.Root{standard}, ""},
		{"a project above which all is trusted", nil, map[string]string{trust: `{"/work":true,"/work/app":false}`, project: `{"sessionDir":"s"}`}, []adapter.Root{standard}, "does not trust"},
		{"trust that was taken back", nil, map[string]string{trust: `{"/":false,"/work":true,"/work/app":null}`, project: `{"sessionDir":"s"}`}, []adapter.Root{standard, {Path: "/work/app/s", Origin: "sessionDir in " + project}}, ""},
		{"trust in a project beside it", nil, map[string]string{trust: `{"/work/ap":true,"/work/app/x":true}`, project: `{"sessionDir":"s"}`}, []adapter.Root{standard}, "does not trust"},
		{"trust that is no decision", nil, map[string]string{trust: `{"/work":"yes","/":true}`, project: `{"sessionDir":"s"}`}, []adapter.Root{standard}, "does not trust"},
		{"trust always", nil, map[string]string{global: `{"defaultProjectTrust":"always"}`, project: `{"sessionDir":"s"}`}, []adapter.Root{standard, {Path: "/work/app/s", Origin: "sessionDir in " + project}}, ""},
		{"trust that the project gives itself", nil, map[string]string{project: `{"sessionDir":"s","defaultProjectTrust":"always"}`, "/work/app/.pi/trust.json": trusted}, []adapter.Root{standard}, "does not trust"},
		{"a project that is trusted, the whole disk", nil, map[string]string{trust: trusted, project: `{"sessionDir":"/"}`}, []adapter.Root{standard}, "neither in the project"},
		{"a project that is trusted, beside it", nil, map[string]string{trust: trusted, project: `{"sessionDir":"../application"}`}, []adapter.Root{standard}, "neither in the project"},
		{"a project that is trusted, a link out of it", nil, map[string]string{trust: trusted, project: `{"sessionDir":"link/x"}`}, []adapter.Root{standard}, "neither in the project"},
		{"a project that is trusted, home", nil, map[string]string{trust: trusted, project: `{"sessionDir":"~"}`}, []adapter.Root{standard}, "neither in the project"},
		{"a project that is trusted, pi's directory", nil, map[string]string{trust: trusted, project: `{"sessionDir":"~/.pi/more"}`}, []adapter.Root{standard, {Path: "/home/u/.pi/more", Origin: "sessionDir in " + project}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := New().Roots(environment(t, tt.variables, tt.files))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Roots (-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("Roots: error %v, want %q", err, tt.problem)
			}
		})
	}
	_, err := New().Roots(environment(t, nil, map[string]string{global: "unreadable"}))
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Roots: error %v does not unwrap", err)
	}
}
