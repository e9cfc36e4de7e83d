package keep

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pigrep/internal/files"
	"pigrep/lab/testkit"
)

// On a full disk, what was copied before stays whole, the error says so, and what is missing
// is copied once there is room.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 { // nobody else can make a disk that is full
		t.Skip("only root can mount a small file system")
	}
	disk, dir := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=300k"); err != nil {
		t.Skipf("this container may not mount: %v", err) // as in continuous integration without privileges
	}
	defer syscall.Unmount(disk, 0)
	a := &Archive{Dir: filepath.Join(disk, "kept")}
	first, second := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	write(t, first, strings.Repeat("a", 100_000))
	keepAll(t, a, dir, rules(time.Now()))
	write(t, second, strings.Repeat("b", 250_000))
	testkit.Append(t, first, "more")
	found, err := list(dir)
	testkit.Check(t, err)
	if _, err := a.Update(context.Background(), found, rules(time.Now()), 0); err == nil || !files.NoSpace(err) {
		t.Errorf("a full disk: %v", err)
	}
	if got := texts(t, a); got[first] != strings.Repeat("a", 100_000) && got[first] != strings.Repeat("a", 100_000)+"more" || got[second] != "" {
		t.Errorf("%d and %d bytes are kept", len(got[first]), len(got[second]))
	}
	testkit.Check(t, os.Truncate(second, 100_000))
	keepAll(t, a, dir, rules(time.Now()))
	if got := texts(t, a); len(got[first]) != 100_004 || len(got[second]) != 100_000 {
		t.Errorf("with room: %d and %d bytes are kept", len(got[first]), len(got[second]))
	}
}
