package index_test

import (
	"path/filepath"
	"testing"

	"pigrep/index"
)

// Others see who writes, and how many generations there are.
func TestWriterPID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	check := func(what string, want int) {
		t.Helper()
		if got, err := index.WriterPID(dir); got != want || err != nil {
			t.Errorf("%s: WriterPID = %d, %v, want %d", what, got, err, want)
		}
	}
	check("no index", 0)
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	check("while a writer lives", 4711)
	if _, err := w.Publish(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("after it", 0)
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, at, err := r.Generations(); n != 1 || at.IsZero() || err != nil {
		t.Errorf("Generations = %d, %v, %v, want 1", n, at, err)
	}
	// Who looks keeps nobody from writing.
	w, err = index.OpenWriter(dir, index.WriterOptions{PID: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// What a writer announces stays until it is replaced, also when another writer comes.
func TestAnnouncement(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "index")
	check := func(what string, pid int, want string) {
		t.Helper()
		if got := index.Announcement(dir); got != want {
			t.Errorf("%s: %q is announced, want %q", what, got, want)
		}
		if got, err := index.WriterPID(dir); got != pid || err != nil {
			t.Errorf("%s: WriterPID = %d, %v, want %d", what, got, err, pid)
		}
	}
	writer := func(pid int) *index.Writer {
		t.Helper()
		w, err := index.OpenWriter(dir, index.WriterOptions{PID: pid})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	announce := func(w *index.Writer, text string) {
		t.Helper()
		if err := w.Announce(text); err != nil {
			t.Fatal(err)
		}
	}
	check("no index", 0, "")
	w := writer(4711)
	check("a new writer", 4711, "")
	announce(w, "the first of many words")
	check("announced", 4711, "the first of many words")
	announce(w, "less")
	check("announced again", 4711, "less")
	w.Close()
	check("after it", 0, "less")
	w = writer(7)
	check("the next writer", 7, "less")
	announce(w, "")
	check("withdrawn", 7, "")
	w.Close()
}
