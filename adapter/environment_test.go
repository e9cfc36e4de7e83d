package adapter_test

import (
	"runtime"
	"testing"

	"pigrep/adapter"
)

func TestAbsolute(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test has Unix paths; on Windows an absolute path begins with a drive")
	}
	env := adapter.Environment{Home: "/home/u", WorkDir: "/work/app"}
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
		if got := adapter.Absolute(path, env); got != want {
			t.Errorf("Absolute(%q) = %q, want %q", path, got, want)
		}
	}
}
