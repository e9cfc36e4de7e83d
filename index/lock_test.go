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
