package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// TestMain puts the program on the path. It is built once, as users have it:
// with the race detector a run of it costs several times as much, and scripts
// make hundreds of them. The long form of the tests takes that time.
func TestMain(m *testing.M) {
	if os.Getenv("PIGREP_TORTURE") != "" {
		testscript.Main(m, map[string]func(){
			"pigrep": func() { os.Exit(Main()) },
		})
		return
	}
	os.Exit(runWithProgram(m))
}

func runWithProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pigrep-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program, err := testkit.Build(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestScripts runs testdata/*.txt, one for each topic. Every script has a home
// of its own with the two sessions of testdata/sessions in it.
func TestScripts(t *testing.T) {
	testkit.Unraced(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			root := filepath.Join(home, ".pi", "agent", "sessions")
			if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "sessions"))); err != nil {
				return err
			}
			env.Vars = append(env.Vars,
				"HOME="+home, "USERPROFILE="+home, "ROOT="+root,
				"XDG_CACHE_HOME="+filepath.Join(env.WorkDir, "cache"), "XDG_RUNTIME_DIR="+env.WorkDir, "LocalAppData="+filepath.Join(env.WorkDir, "cache"),
				"PIGREP_INDEX_DIR="+filepath.Join(env.WorkDir, "index"), "TERM=xterm-256color",
				"PIGREP_TORTURE="+os.Getenv("PIGREP_TORTURE"), // by which TestMain knows that it is the program
				"PI_CODING_AGENT_DIR=", "PI_CODING_AGENT_SESSION_DIR=", "NO_COLOR=", "FORCE_COLOR=", "COLUMNS=", "TZ=UTC",
			)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root": // who may read everything
				return os.Geteuid() == 0, nil
			case "devfull":
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":  codeCommand,
			"modes": modesCommand,
			"damage": func(ts *testscript.TestScript, _ bool, args []string) {
				damage(ts, ts.MkAbs(args[0]))
			},
			"count":  countCommand,
			"locked": lockedCommand,
			"longline": func(ts *testscript.TestScript, _ bool, args []string) {
				message := `{"type":"message","id":"%d","timestamp":"2026-02-21T08:00:0%d.000Z","message":{"role":"user","content":"%s"}}` + "\n"
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), fmt.Appendf(nil,
					`{"type":"session","version":3,"id":"long","timestamp":"2026-02-21T08:00:00.000Z","cwd":"/home/dev/site"}`+"\n"+message+message+message,
					1, 1, "a wombat", 2, 2, "an aardvark"+strings.Repeat(" and so on", 1e5), 3, 3, "a numbat"), 0o644))
			},
			"tree": treeCommand,
		},
	})
}

// codeCommand is "code N program args...": run the program, which must end with
// this exit code.
func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// modesCommand is "modes DIR": every directory in it must be 0700, every file
// 0600.
func modesCommand(ts *testscript.TestScript, _ bool, args []string) {
	n := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			ts.Fatalf("%s has mode %o, want %o", path, got, want)
		}
		n++
		return nil
	}))
	if n < 5 {
		ts.Fatalf("only %d files and directories in %s", n, args[0])
	}
}

// treeCommand is "tree DIR FILE": write size, time and content of every file in
// the directory to the file.
func treeCommand(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %v %x\n", path, info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(data))
		return err
	}))
	if b.Len() == 0 {
		ts.Fatalf("no file in %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// damage cuts every published file of the index to half.
func damage(ts *testscript.TestScript, dir string) {
	n := 0
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".zap" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n++
		return os.Truncate(path, info.Size()/2)
	}))
	if n == 0 {
		ts.Fatalf("%s holds no segment to damage", dir)
	}
}

// lockedCommand is "locked [-for=TIME] DIR command...": run the command, exec or code, while
// somebody else writes the index in the directory.
func lockedCommand(ts *testscript.TestScript, _ bool, args []string) {
	held := time.Hour
	if rest, ok := strings.CutPrefix(args[0], "-for="); ok {
		var err error
		held, err = time.ParseDuration(rest)
		ts.Check(err)
		args = args[1:]
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	lock := flock.New(filepath.Join(dir, "lock"))
	ok, err := lock.TryLock()
	ts.Check(err)
	if !ok {
		ts.Fatalf("%s is locked already", dir)
	}
	defer lock.Unlock()
	defer time.AfterFunc(held, func() { _ = lock.Unlock() }).Stop()
	switch args[1] {
	case "code":
		codeCommand(ts, false, args[2:])
	case "exec":
		ts.Check(ts.Exec(args[2], args[3:]...))
	default:
		ts.Fatalf("locked runs exec or code, not %s", args[1])
	}
}

// countCommand is "count N text": the last output has the text N times.
func countCommand(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile("stdout"), args[1]); got != want {
		ts.Fatalf("%q occurs %d times in the output, want %d", args[1], got, want)
	}
}

// A reader that goes away is no error, also when the output is larger than the
// pipe.
func TestClosedPipe(t *testing.T) {
	if _, err := exec.LookPath("pigrep"); err != nil {
		t.Fatal("TestMain puts pigrep on the path:", err)
	}
	for _, args := range [][]string{{"help", "query"}, {"completion", "bash"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errs strings.Builder
		cmd := exec.Command("pigrep", args...)
		cmd.Stdout, cmd.Stderr = w, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("pigrep %v into a closed pipe: %v, stderr %q", args, err, errs.String())
		}
		w.Close()
	}
}

// Ctrl-C ends a run with 130, whatever it was doing, and the next run continues.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: the index must be large enough to be interrupted")
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot interrupt another process")
	}
	dir := t.TempDir()
	root := filepath.Join(dir, "sessions")
	const sessions = 80
	writeSessions(t, root, sessions)
	// On a busy machine a build may end before the signal comes: then again.
	for try := 0; ; try++ {
		index := filepath.Join(dir, fmt.Sprint("index", try))
		cmd := exec.Command("pigrep", "index", "--session-dir", root, "--index-dir", index)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		var errs strings.Builder
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The lock is there as soon as the writer works.
		waitFor(t, func() bool { _, err := os.Stat(filepath.Join(index, "lock")); return err == nil })
		_ = cmd.Process.Signal(os.Interrupt) // fails when the build has ended
		err := cmd.Wait()
		if err == nil && try < 20 {
			continue
		}
		if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != problem.ExitInterrupted {
			t.Fatalf("interrupted index: %v, want exit code %d; stderr %q", err, problem.ExitInterrupted, errs.String())
		}
		kept := regexp.MustCompile(`pigrep: interrupted\nhint: \d+ of 80 session files \(.* of .*\) are indexed and searchable; run it again to go on\n$`)
		if !kept.MatchString(errs.String()) {
			t.Errorf("stderr %q does not say what is kept", errs.String())
		}
		cmd = exec.Command("pigrep", "--session-dir", root, "--index-dir", index, "--json", fmt.Sprint("needle", sessions-1))
		cmd.Env = append(os.Environ(), "HOME="+dir)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"total":1,`) || !strings.Contains(string(out), `"complete":true`) {
			t.Errorf("search after an interruption: %v\n%s", err, out)
		}
		return
	}
}

// A run whose context has ended does nothing and says so.
func TestInterruptedBefore(t *testing.T) {
	for _, args := range [][]string{{"index"}, {"words"}} {
		a, out, errs := testApp(t)
		writeSessions(t, filepath.Join(a.Home, ".pi", "agent", "sessions"), 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := Run(ctx, a, args); got != problem.ExitInterrupted || out.Len() > 0 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("pigrep %v: exit code %d, stdout %q, stderr %q", args, got, out, errs)
		}
	}
}
