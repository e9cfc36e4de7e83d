//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that takes the place of a session file is never opened, which would
// wait for a writer.
func TestWatchFollowsAPipe(t *testing.T) {
	t.Parallel()
	root, ix := t.TempDir(), filepath.Join(t.TempDir(), "index")
	file := filepath.Join(root, "a.jsonl")
	writeInPlace(t, file, []byte(header("s")+message(1, "", "one")))
	watch(t, ix, root)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file, 0o644); err != nil {
		t.Fatal(err)
	}
	follows(t, "a pipe", ix, root)
	other := filepath.Join(root, "b.jsonl")
	writeInPlace(t, other, []byte(header("s")+message(1, "", "beside it")))
	follows(t, "a file beside the pipe", ix, root)
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	followed(t, "a file again", ix, root)
}
