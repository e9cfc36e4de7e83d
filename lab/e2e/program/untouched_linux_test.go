//go:build linux && amd64

package program

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// agentDir makes a home directory with an agent directory like pi's in it.
func agentDir(t *testing.T) (home, agent string) {
	t.Helper()
	home = t.TempDir()
	agent = filepath.Join(home, ".pi", "agent")
	for name, text := range map[string]string{
		"auth.json":             `{"anthropic":{"type":"api_key","key":"a-secret"}}`,
		"settings.json":         `{"theme":"dark","sessionDir":"` + filepath.Join(home, "flat") + `"}`,
		"models.json":           `{}`,
		"sessions/auth.json":    `{}`,
		"sessions/x/auth.json":  `{}`,
		"sessions/x/notes.txt":  "no session",
		"sessions/x/deep.jsonl": "{\"type\":\"session\",\"version\":3,\"id\":\"one\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/x\"}\n{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"gerbil\"}}\n",
	} {
		path := filepath.Join(agent, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copyTree(t, sessions(), filepath.Join(agent, "sessions"))
	copyTree(t, filepath.Join(sessions(), "subagents"), filepath.Join(home, "flat"))
	return home, agent
}

// No command touches auth.json, and session files are only read.
func TestFilesThatAreTouched(t *testing.T) {
	home, agent := agentDir(t)
	before := states(t, agent)
	touched := map[string]bool{}
	for _, args := range [][]string{
		{"index"},
		{"search", "gerbil"},
		{"search", "--json", "gateway"},
		{"index", "--rebuild"},
		{"index", "--keep", "pi"},
		{"status"},
		{"status", "--stores"},
		{"search", "--session-dir", agent, "gerbil"},
		{"index", "--session-dir", agent, "--dry-run"},
	} {
		output, err := os.Create(filepath.Join(t.TempDir(), "output"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := command(t, home, args...)
		cmd.Stdout, cmd.Stderr = output, output
		seen, exit := trace(t, cmd)
		output.Close()
		printed, err := os.ReadFile(output.Name())
		if err != nil {
			t.Fatal(err)
		}
		if exit != 0 {
			t.Errorf("pigrep %q: exit code %d\n%s", args, exit, printed)
		}
		if len(seen) < 10 {
			t.Errorf("pigrep %q: saw only %d calls", args, len(seen))
		}
		for _, a := range seen {
			touched[a.path] = true
			if filepath.Base(a.path) == "auth.json" {
				t.Errorf("pigrep %q: %s of %s", args, a.call, a.path)
			}
			if !strings.HasPrefix(a.path, agent) && !strings.HasPrefix(a.path, filepath.Join(home, "flat")) {
				continue
			}
			switch a.call {
			case "open", "openat":
				if a.flags&(syscall.O_WRONLY|syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC|syscall.O_APPEND) != 0 {
					t.Errorf("pigrep %q opens %s for writing", args, a.path)
				}
			case "stat", "lstat", "newfstatat", "statx", "readlink", "readlinkat", "access", "faccessat", "faccessat2":
			default:
				t.Errorf("pigrep %q: %s of %s", args, a.call, a.path)
			}
		}
	}
	// The trace does see what it should.
	if !touched[filepath.Join(agent, "sessions", "x", "deep.jsonl")] {
		t.Error("no call names a session file: the trace is blind")
	}
	if diff := cmp.Diff(before, states(t, agent)); diff != "" {
		t.Errorf("files of pi changed (-before +after):\n%s", diff)
	}
}

// With nothing new, no session file is opened; with new lines, only the file
// that has them.
func TestOnlyNewBytesAreRead(t *testing.T) {
	home, agent := agentDir(t)
	opened := func() []string {
		t.Helper()
		output, err := os.Create(filepath.Join(t.TempDir(), "output"))
		if err != nil {
			t.Fatal(err)
		}
		defer output.Close()
		cmd := command(t, home, "index")
		cmd.Stdout, cmd.Stderr = output, output
		seen, exit := trace(t, cmd)
		if exit != 0 {
			t.Fatalf("pigrep index: exit code %d\n%s", exit, readFile(t, output.Name()))
		}
		var paths []string
		for _, a := range seen {
			if strings.HasPrefix(a.call, "open") && strings.HasSuffix(a.path, ".jsonl") {
				paths = append(paths, a.path)
			}
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	if all := opened(); len(all) < 20 {
		t.Fatalf("the first run opens %d session files", len(all))
	}
	if again := opened(); len(again) > 0 {
		t.Errorf("the second run opens %q", again)
	}
	path := filepath.Join(agent, "sessions", "x", "deep.jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(prompt(t, 2, "one more")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if diff := cmp.Diff([]string{path}, opened()); diff != "" {
		t.Errorf("files opened after one grew (-want +got):\n%s", diff)
	}
}

// states describes every file and directory below dir.
func states(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		s := fmt.Sprint(info.Mode(), " ", info.ModTime().Format(time.RFC3339Nano), " ", info.Size())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		all[path] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Everything in the index directory is for its owner alone, whatever the umask.
func TestIndexIsPrivate(t *testing.T) {
	home, agent := agentDir(t)
	for _, mask := range []int{0o000, 0o022, 0o077} {
		dir := filepath.Join(home, fmt.Sprintf("index-%03o", mask))
		old := syscall.Umask(mask)
		r := pigrep(t, home, "index", "--session-dir", agent, "--index-dir", dir)
		syscall.Umask(old)
		if r.exit != 0 {
			t.Fatalf("pigrep index: exit code %d\n%s", r.exit, r.stderr)
		}
		files := 0
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			want := os.FileMode(0o600)
			if info.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if info.Mode().Perm() != want {
				t.Errorf("umask %03o: %s has mode %v, want %v", mask, path, info.Mode().Perm(), want)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%d files in the index; %v", files, err)
		}
	}
}
