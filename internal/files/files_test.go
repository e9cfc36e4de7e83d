package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// names lists a directory, with what the files in it hold.
func names(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	return got
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, 0o600, write(text, nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"a": text}, names(t, dir)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	// What fails leaves nothing behind, and what was there as it was.
	failed := errors.New("no space")
	if err := Replace(path, 0o600, write("third", failed)); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	if diff := cmp.Diff(map[string]string{"a": "second"}, names(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	path := filepath.Join(dir.Name(), "lock")
	held := func(want bool) {
		t.Helper()
		if got, err := Locked(path); got != want || err != nil {
			t.Errorf("Locked = %v, %v, want %v", got, err, want)
		}
	}
	held(false) // there is no such file
	l, err := TryLock(dir, "lock")
	if err != nil || l == nil {
		t.Fatalf("TryLock = %v, %v", l, err)
	}
	held(true)
	if second, err := TryLock(dir, "lock"); second != nil || err != nil {
		t.Errorf("a lock that is held is given again: %v, %v", second, err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	held(false)
}

// Of an error that went through another library only the text may be left.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	for _, full := range noSpace {
		if !NoSpace(&os.PathError{Op: "write", Path: "a", Err: full}) || !NoSpace(errors.New("persist: "+full.Error())) {
			t.Errorf("%v is not seen as a full disk", full)
		}
	}
	if NoSpace(os.ErrPermission) {
		t.Error("no permission is seen as a full disk")
	}
}

// text is an output.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// A path that leads through links is known by where it leads, also if its end is missing; one that
// leads nowhere is known by nothing, since it could lead anywhere later.
func TestRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Check(t, err)
	testkit.Check(t, os.Mkdir(filepath.Join(dir, "there"), 0o700))
	testkit.Symlink(t, filepath.Join(dir, "there"), filepath.Join(dir, "link"))
	testkit.Symlink(t, filepath.Join(dir, "gone"), filepath.Join(dir, "nowhere"))
	for path, want := range map[string]string{
		"there": "there", "there/a/b": "there/a/b", "link": "there", "link/a/b": "there/a/b", "a/b": "a/b", "nowhere": "", "nowhere/a": "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := RealPath(filepath.Join(dir, path)); got != want {
			t.Errorf("RealPath(%s) = %q, want %q", path, got, want)
		}
	}
}
