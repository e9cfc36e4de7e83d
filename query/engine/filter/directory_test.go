package filter_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"pigrep/internal/session"
	"pigrep/query/engine/filter"
)

// A shell and an agent may name the same directory differently. Windows is skipped: there, a user needs a
// privilege to make symbolic links.
func TestDirectoriesAreComparedWithoutLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"disk/app/sub", "disk/application"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"work": "disk", "a": "disk/app", "gone": "nowhere"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir, cwd      string
		below, itself bool
	}{
		{"work/app", "disk/app", true, true},
		{"work/app", "disk/app/sub", true, false},
		{"work/app", "disk/app/removed/long/ago", true, false},
		{"work/app", "disk/application", false, false},
		{"disk/app", "work/app", true, true},
		{"disk/app", "a", true, true},
		{"disk/app", "a/sub", true, false},
		{"a", "work/app", true, true},
		{"work/app/sub", "a", false, false},
		{"work/removed", "disk/removed", true, true},
		{"gone", "gone/x", true, false},
		{"gone", "disk", false, false},
	} {
		for _, name := range []string{"", "/"} {
			s := session.Summary{Header: session.Header{CWD: filepath.Join(root, c.cwd)}}
			dir := filepath.Join(root, c.dir) + name
			if got := (&filter.Spec{CWD: dir}).Compile().Session(&s); got != c.below {
				t.Errorf("cwd %s passes a session in %s: %v, want %v", c.dir, c.cwd, got, c.below)
			}
			if got := (&filter.Spec{Projects: []string{dir}}).Compile().Session(&s); got != c.itself {
				t.Errorf("project %s passes a session in %s: %v, want %v", c.dir, c.cwd, got, c.itself)
			}
		}
	}
}

// On macOS, /tmp is a link to /private/tmp, and /var to /private/var. Sessions may be read on another machine.
func TestDirectoriesOfMacOSAreComparedWithoutPrivate(t *testing.T) {
	for _, c := range []struct {
		dir, cwd string
		want     bool
	}{
		{"/tmp/app", "/private/tmp/app", true},
		{"/private/tmp/app", "/tmp/app/sub", true},
		{"/var/folders/x", "/private/var/folders/x", true},
		{"/private/tmp", "/private/tmp/app", true},
		{"/tmpx", "/private/tmpx", false},
		{"/home/tmp", "/private/home/tmp", false},
		{"/tmp/app", "/private/tmp/application", false},
		{"/", "/private/tmp/app", true},
		{"/", "", false},
	} {
		s := session.Summary{Header: session.Header{CWD: c.cwd}}
		if got := (&filter.Spec{CWD: c.dir}).Compile().Session(&s); got != c.want {
			t.Errorf("cwd %s passes a session in %s: %v, want %v", c.dir, c.cwd, got, c.want)
		}
	}
}
