// Package testkit holds what the tests of several packages share: how large a test
// is, which programs it drives, and which session files it reads.
package testkit

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Long reports whether the long form of the tests runs, as `make torture` does.
func Long() bool { return os.Getenv("PIGREP_TORTURE") != "" }

// HowMany is the size of a test: with -short, as in `make check`; by default, as in
// `make check-all`; and in the long form.
func HowMany(short, usual, full int) int {
	switch {
	case Long():
		return full
	case testing.Short():
		return short
	}
	return usual
}

// Rounds is HowMany for how often something random is done, which the number in
// PIGREP_TORTURE multiplies: `make torture TIMES=5` draws five times as often.
func Rounds(short, usual, full int) int {
	if times, err := strconv.Atoi(os.Getenv("PIGREP_TORTURE")); err == nil {
		full *= max(1, times)
	}
	return HowMany(short, usual, full)
}

// Sequences sets how many random sequences each rapid check of a test binary draws.
// Call it from init: -rapid.checks on the command line comes later and wins.
func Sequences(usual int) {
	if Long() {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(usual)); err != nil {
		panic(err)
	}
}

// Programs are those that tests drive and that not every machine has. Continuous
// integration installs them (.ci/run).
var Programs = []string{"tmux", "zsh", "fish", "strace", "fzf", "jq", "vim", "chromium"}

// Program returns the path of a program that the test drives. Where it is missing,
// the test is skipped; with CI=true it fails, so that no promise goes unchecked
// unnoticed.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed")
	}
	return path
}

// Missing skips a test for what the machine lacks; with CI=true the test fails.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Check ends a test at an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Symlink makes a symbolic link. Where Windows does not let this user make any, the test
// is skipped.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	switch err := os.Symlink(target, link); {
	case err != nil && runtime.GOOS == "windows":
		t.Skip("no right to make a symbolic link:", err)
	case err != nil:
		t.Fatal(err)
	}
}

// Append appends text to a file, which must exist.
func Append(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	Check(t, err)
}

// Build builds the program in a directory and returns its path. PIGREP_PROGRAM names one
// that is built already.
func Build(dir string) (string, error) {
	if path := os.Getenv("PIGREP_PROGRAM"); path != "" {
		_, err := os.Stat(path) // so that `go test` runs again when the program has changed
		return path, err
	}
	path := filepath.Join(dir, "pigrep")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", path, "pigrep")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// Unraced skips a test in the short run with the race detector: one goroutine works on
// much data, or the program it runs is built without the race detector. The same
// `make check` runs it without.
func Unraced(t testing.TB) {
	t.Helper()
	if testing.Short() && raced {
		t.Skip("finds no races: runs without -race or -short")
	}
}

// Slow skips a test in the short run, which is `make check`, because it takes seconds.
// `make check-all` runs it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: runs without -short")
	}
}

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

// Tree describes everything below a directory, by path: kind, mode, time of the last
// change, and content.
func Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		}
		tree[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), content)
		return err
	})
	Check(t, err)
	return tree
}
