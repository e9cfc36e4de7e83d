package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Terminal runs a script of testdata/tui, which drives the program in a terminal of tmux.
func Terminal(t *testing.T, program, script string, args ...string) {
	t.Helper()
	tmux := Program(t, "tmux")
	server := fmt.Sprintf("pigrep-%d-%d", os.Getpid(), time.Now().UnixNano())
	if out, err := exec.Command(tmux, "-f", "/dev/null", "-L", server, "new-session", "-d", "true").CombinedOutput(); err != nil {
		t.Fatalf("tmux cannot start: %v\n%s", err, out)
	}
	dir := filepath.Join(Root(), "testdata", "tui")
	cmd := exec.Command("bash", append([]string{filepath.Join(dir, script), program, filepath.Join(dir, "sessions")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "driven\n") {
		t.Errorf("%s %v: %v\n%s", script, args, err, out)
	}
}
