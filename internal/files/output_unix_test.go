//go:build unix

package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func find(t *testing.T, path string, want Kind) *Output {
	t.Helper()
	o, err := FindOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	if o.Kind != want {
		t.Fatalf("%s is of kind %d, want %d", path, o.Kind, want)
	}
	return o
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A link leads to what the shell's > opens, however it gets there.
func TestOutputBehindLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"c/d":     "../a/b",                        // a directory
		"a/b/up":  "../there",                      // seen from c/d, .. is a
		"two":     "c/d/up",                        // to a link
		"round":   "c/d/../beside",                 // again a
		"whole":   filepath.Join(dir, "elsewhere"), // to nothing yet
		"null":    "/dev/null",
		"stdout":  "/dev/stdout",
		"nowhere": "no/where",
		"loop":    "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, target string }{{"c/d/up", "a/there"}, {"two", "a/there"}, {"round", "a/beside"}, {"whole", "elsewhere"}} {
		path := filepath.Join(dir, c.path)
		o, err := FindOutput(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Overwrite = true
		if err := o.Write(t.Context(), 0o600, text(c.path)); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(filepath.Join(dir, c.target)); err != nil || !info.Mode().IsRegular() || content(t, path) != c.path || !o.Linked {
			t.Errorf("%s: the target %s is %v, %v", c.path, c.target, info, err)
		}
	}
	find(t, filepath.Join(dir, "null"), Stream)
	find(t, filepath.Join(dir, "stdout"), Stream)
	if err := find(t, filepath.Join(dir, "nowhere"), Missing).Write(t.Context(), 0o600, text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := FindOutput(filepath.Join(dir, "loop")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("loop: %v", err)
	}
}

// Only a regular file is replaced, and only if that is allowed.
func TestOutputIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := find(t, file, File).Write(t.Context(), 0o600, text("new")); !errors.Is(err, fs.ErrExist) || content(t, file) != "old" {
		t.Errorf("%v: %q", err, content(t, file))
	}
	for path, kind := range map[string]Kind{dir: Directory, pipe: Stream} {
		o := find(t, path, kind)
		o.Overwrite = true
		if err := o.Replace(0o600, text("new")); err == nil {
			t.Errorf("%s is replaced", path)
		}
	}
}

// What appears while the output is written is left alone.
func TestOutputThatAppears(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, appear := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o640) },
		"pipe": func(path string) error { return syscall.Mkfifo(path, 0o640) },
		"link": func(path string) error { return os.Symlink("x", path) },
	} {
		for _, overwrite := range []bool{false, true} {
			path := filepath.Join(dir, name+strconv.FormatBool(overwrite))
			o := find(t, path, Missing)
			o.Overwrite = overwrite
			err := o.Write(t.Context(), 0o600, func(io.Writer) error { return appear(path) })
			info, lost := os.Lstat(path)
			if replaces := overwrite && name == "file"; lost != nil || (err == nil) != replaces || (info.Mode().IsRegular() && info.Mode().Perm() == 0o600) != replaces {
				t.Errorf("%s, overwrite %v: %v, %v, %v", name, overwrite, err, info, lost)
			}
		}
	}
}

// A named pipe waits for its reader, but not for ever.
func TestOutputToPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	o := find(t, path, Stream)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error)
	go func() { written <- o.Write(ctx, 0o600, text("never")) }()
	cancel()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("without a reader: %v", err)
	}
	go func() { written <- o.Write(t.Context(), 0o600, text("read")) }()
	got := ""
	for got == "" { // the writer that gave up may come first
		got = content(t, path)
	}
	if err := <-written; got != "read" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if runtime.GOOS == "darwin" {
		return // pipes block there, until Ctrl-C is pressed again
	}
	// A reader that takes nothing.
	reader, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel = context.WithCancel(t.Context())
	err = o.Write(ctx, 0o600, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<10)); err != nil {
			return err
		}
		cancel()
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with a reader that takes nothing: %v", err)
	}
}

// /dev/fd/N is an open file that this process was given, never one that it opened itself.
func TestOutputToOpenFile(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := find(t, "/dev/fd/"+strconv.Itoa(int(f.Fd())), Stream)
	if err := o.Write(t.Context(), 0o600, text("own")); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a file of this process: %v", err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil { // as if it were inherited
		t.Fatal(err)
	}
	for _, s := range []string{"one ", "two"} {
		if err := o.Write(t.Context(), 0o600, text(s)); err != nil {
			t.Error(err)
		}
	}
	if got := content(t, f.Name()); got != "one two" {
		t.Errorf("the file has %q", got)
	}
}

// A file that is replaced belongs to whom it did, and has the mode that was asked for.
func TestReplacedFileKeepsItsOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	const other = 12345
	root := os.Geteuid() == 0
	if root {
		if err := os.Chown(path, other, other); err != nil {
			t.Fatal(err)
		}
	}
	o := find(t, path, File)
	if o.Foreign != root {
		t.Errorf("foreign: %v", o.Foreign)
	}
	o.Overwrite = true
	if err := o.Write(t.Context(), 0o600, text("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if uid, gid, _ := owner(info); content(t, path) != "new" || info.Mode().Perm() != 0o600 || root && (uid != other || gid != other) {
		t.Errorf("%v of %d:%d, %q", info.Mode(), uid, gid, content(t, path))
	}
	if root {
		return // who may write everything
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := o.Write(t.Context(), 0o600, text("newer")); !errors.Is(err, fs.ErrPermission) || content(t, path) != "new" {
		t.Errorf("a file that is write-protected: %v, %q", err, content(t, path))
	}
}
