package program

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// faults are the calls that are made to fail, and the errors that the system may give.
var faults = map[string][]string{
	"openat":            {"EIO", "EMFILE", "EACCES", "EINTR", "ENOSPC"},
	"read":              {"EIO", "EINTR"},
	"pread64":           {"EIO", "EINTR"},
	"write":             {"EIO", "ENOSPC", "EINTR"},
	"pwrite64":          {"EIO", "ENOSPC", "EINTR"},
	"fsync":             {"EIO", "ENOSPC", "EINTR"},
	"fdatasync":         {"EIO", "ENOSPC", "EINTR"},
	"renameat":          {"EIO", "ENOSPC", "EACCES"},
	"mmap":              {"ENOMEM", "ENODEV"},
	"ftruncate":         {"EIO", "ENOSPC", "EINTR"},
	"unlinkat":          {"EIO", "EACCES"},
	"mkdirat":           {"EIO", "ENOSPC", "EACCES"},
	"linkat":            {"EIO", "EMLINK", "EPERM"},
	"getdents64":        {"EIO"},
	"newfstatat":        {"EIO", "EACCES"},
	"fstat":             {"EIO"},
	"flock":             {"ENOLCK", "EINTR"},
	"inotify_add_watch": {"ENOSPC", "EACCES"},
}

// faultyRun is a command under strace, and how it ended.
type faultyRun struct {
	result
	calls    []tracedCall
	injected []tracedCall
}

// tracedCall is a call that strace has seen.
type tracedCall struct {
	name string
	nth  int    // of this name in its thread, from 1
	line string // as strace wrote it
}

// isRuntimes says whether a call is one of the Go runtime, which aborts if it has no
// memory or cannot wake its poller; nothing that a program does can prevent that.
func (c tracedCall) isRuntimes() bool {
	return c.name == "mmap" && strings.Contains(c.line, "MAP_ANONYMOUS") || strings.Contains(c.line, "<anon_inode:[event") ||
		strings.Contains(c.line, "</sys/") || strings.Contains(c.line, `"/sys/`)
}

var tracedLine = regexp.MustCompile(`^(\d+) +(?:(\w+)\(|<\.\.\. (\w+) resumed>)`)

// descriptor is the path of the file that a call is about.
var descriptor = regexp.MustCompile(`\d<(/[^>]*)>`)

// readTrace reads what strace wrote.
func readTrace(log string) (calls, injected []tracedCall) {
	count, last := map[string]int{}, map[string]tracedCall{} // by thread and name
	for line := range strings.Lines(log) {
		m := tracedLine.FindStringSubmatch(line)
		if m == nil || faults[m[2]+m[3]] == nil { // calls that strace does not know are always traced
			continue
		}
		thread := m[1] + m[2] + m[3]
		if m[2] != "" {
			count[thread]++
			last[thread] = tracedCall{m[2], count[thread], line}
			calls = append(calls, last[thread])
		}
		if strings.Contains(line, "(INJECTED)") {
			injected = append(injected, last[thread])
		}
	}
	return calls, injected
}

// straced runs the program under strace with options that inject faults. A watch is ended
// when it has seen a line that is appended to the file.
func straced(t *testing.T, home, file string, inject []string, args ...string) faultyRun {
	t.Helper()
	log := filepath.Join(home, "strace.log")
	options := []string{"-f", "-qq", "-y", "-o", log, "-e", "trace=" + strings.Join(slices.Sorted(maps.Keys(faults)), ",")}
	plain := command(t, home, args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // it takes a second; after two minutes it is stuck
	defer cancel()
	cmd := exec.CommandContext(ctx, testkit.Program(t, "strace"), slices.Concat(options, inject, []string{plain.Path}, args)...)
	cmd.Env, cmd.Dir = plain.Env, plain.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var stdout []byte
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	if args[0] == "watch" {
		next := func() {
			select {
			case line := <-lines:
				stdout = append(stdout, line...)
			case <-time.After(2 * time.Second): // it may be the line that cannot be written
			}
		}
		next()
		appendPrompt(t, file, 77, "one more hyrax, watched")
		next()
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		for _, pid := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(pid, syscall.SIGINT)
			}
		}
	}
	for line := range lines {
		stdout = append(stdout, line...)
	}
	_ = cmd.Wait() // the exit code says more
	if ctx.Err() != nil {
		t.Errorf("%q with %q does not end", args, inject)
	}
	r := faultyRun{result: result{stdout, stderr.Bytes(), cmd.ProcessState.ExitCode()}}
	r.calls, r.injected = readTrace(readFile(t, log))
	return r
}

// traceable skips a test where strace may not trace.
func traceable(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(testkit.Program(t, "strace"), "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		testkit.Missing(t, fmt.Sprintf("processes cannot be traced here: %v\n%s", err, out))
	}
}

// Whichever call of the system fails, a command ends with an answer or with a message. An
// answer without a message is right, and the next command finds what a new index finds.
func TestFaults(t *testing.T) {
	testkit.Unraced(t)
	t.Parallel()
	traceable(t)
	seed := uint64(1)
	if testkit.Long() {
		seed = rand.Uint64()
		t.Logf("seed %d", seed)
	}
	rnd := rand.New(rand.NewPCG(seed, 22))
	home, root, queries := someSessions(t, 1<<20)
	own, gone, dir := filepath.Join(root, "x", "own.jsonl"), filepath.Join(root, "x", "gone.jsonl"), filepath.Join(home, "index")
	where := []string{"--session-dir", root, "--index-dir", dir}
	writeSession(t, gone, "the gone hyrax")
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("index: exit code %d\n%s", r.exit, r.stderr)
	}
	behind, none := filepath.Join(home, "behind"), filepath.Join(home, "none")
	copyTree(t, dir, behind)
	if err := errors.Join(os.Mkdir(none, 0o700), os.Remove(gone)); err != nil {
		t.Fatal(err)
	}
	editInPlace(t, own, "first", "tenth")
	appendPrompt(t, own, 50, "one more hyrax")
	for i := range 30 {
		writeSession(t, filepath.Join(root, "y", fmt.Sprintf("%d.jsonl", i)), "a new hyrax", "and a new shrew")
	}
	want := answers(t, home, []string{"--session-dir", root, "--index-dir", filepath.Join(home, "fresh")}, queries)
	before := readFile(t, own)

	type scenario struct {
		index string
		args  []string
		clean faultyRun
	}
	var scenarios []*scenario
	for _, index := range []string{none, behind, filepath.Join(home, "fresh")} {
		for _, args := range [][]string{
			{"index"}, {"index", "--compact"}, {"index", "--rebuild"}, {"search", "--json", "hyrax"}, {"search", "--json", "--no-update", "return OR error"},
			{"grep", "--json", "-w", "hyrax"}, {"sessions", "--json"}, {"watch", "--jsonl"},
		} {
			scenarios = append(scenarios, &scenario{index: index, args: append(args, where...)})
		}
	}
	reset := func(s *scenario) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyTree(t, s.index, dir)
	}
	target, fired, calls, runs, messages := testkit.Rounds(1, 4, 100), 0, 0, 0, 0
	by := map[string]int{}
	for ; fired < target && runs < 5*target; runs++ {
		s := scenarios[rnd.IntN(len(scenarios))]
		if s.clean.calls == nil {
			reset(s)
			s.clean = straced(t, home, own, nil, s.args...)
			s.clean.calls = slices.DeleteFunc(s.clean.calls, tracedCall.isRuntimes)
			if len(s.clean.calls) == 0 {
				t.Fatalf("strace saw no call of %q: exit code %d\n%s", s.args, s.clean.exit, s.clean.stderr)
			}
			if err := os.Truncate(own, int64(len(before))); err != nil {
				t.Fatal(err)
			}
		}
		// Any call of any kind, so that the rare ones fail as well.
		kinds := map[string][]tracedCall{}
		for _, c := range s.clean.calls {
			kinds[c.name] = append(kinds[c.name], c)
		}
		names := slices.Sorted(maps.Keys(kinds))
		name := names[rnd.IntN(len(names))]
		failure := faults[name][rnd.IntN(len(faults[name]))]
		call := kinds[name][rnd.IntN(len(kinds[name]))]
		inject := []string{"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", name, failure, call.nth)}
		switch path := descriptor.FindStringSubmatch(call.line); {
		case name == "mmap": // of this file: a thread counts those of the runtime as well
			inject = []string{"-e", fmt.Sprintf("inject=%s:error=%s", name, failure), "-P", path[1]}
		case failure != "EINTR" && rnd.IntN(4) == 0:
			inject[1] += "+" // and all after it, as of a disk that is full or gone
		}
		reset(s)
		r := straced(t, home, own, inject, s.args...)
		if err := os.Truncate(own, int64(len(before))); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s, %q with %q", filepath.Base(s.index), s.args[:len(s.args)-len(where)], inject)
		if !slices.ContainsFunc(r.injected, tracedCall.isRuntimes) {
			if len(r.injected) > 0 {
				by[name]++
				fired++
				calls += len(r.injected)
			}
			r.judge(t, what, s.clean)
			if len(r.stderr) > 0 {
				messages++
			}
		}
		if diff := cmp.Diff(want, answers(t, home, where, queries)); diff != "" {
			t.Errorf("%s: then a new index (-) and this one (+) answer differently:\n%.2000s", what, diff)
		}
		if r := pigrep(t, home, append([]string{"doctor", "--deep"}, where...)...); r.exit != 0 {
			t.Errorf("%s: doctor --deep: exit code %d\n%s%s", what, r.exit, r.stdout, r.stderr)
		}
	}
	t.Logf("%d runs, %d of them with a fault, %d calls failed, %d runs with a message: %v", runs, fired, calls, messages, by)
	if readFile(t, own) != before {
		t.Error("a session file has changed")
	}
}

// judge checks how a command ended, given how it ends without faults.
func (r faultyRun) judge(t *testing.T, what string, clean faultyRun) {
	t.Helper()
	stdoutFailed := slices.ContainsFunc(r.injected, func(c tracedCall) bool { return c.name == "write" && strings.Contains(c.line, "(1<") })
	stderrFailed := slices.ContainsFunc(r.injected, func(c tracedCall) bool { return c.name == "write" && strings.Contains(c.line, "(2<") })
	if r.exit != 0 && r.exit != 1 && r.exit != 2 && r.exit != clean.exit || bytes.Contains(r.stderr, []byte("goroutine ")) || bytes.Contains(r.stderr, []byte("panic:")) {
		t.Errorf("%s: exit code %d\n%.3000s", what, r.exit, r.stderr)
	}
	if r.exit == 2 && len(r.stderr) == 0 && !stderrFailed {
		t.Errorf("%s: exit code 2 without a message", what)
	}
	if r.exit == 1 && clean.exit == 0 {
		t.Errorf("%s: exit code 1 says that there is nothing to find\n%.3000s", what, r.stderr)
	}
	silent := len(r.stderr) == 0 && !stderrFailed && !stdoutFailed && !bytes.Contains(r.stdout, []byte(`"warnings":["`))
	if silent && bytes.HasPrefix(clean.stdout, []byte(`{"schemaVersion"`)) && hitsOf(r.stdout) != hitsOf(clean.stdout) {
		t.Errorf("%s: exit code %d, another answer without a message\n%.1500s\nwant\n%.1500s", what, r.exit, r.stdout, clean.stdout)
	}
}

// A search whose hits cannot be read has not found nothing.
func TestNoHitCanBeRead(t *testing.T) {
	t.Parallel()
	traceable(t)
	home, _, where := oneSession(t)
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("index: exit code %d\n%s", r.exit, r.stderr)
	}
	r := straced(t, home, "", []string{"-e", "inject=pread64:error=EIO"}, append([]string{"search", "hyrax"}, where...)...)
	if r.exit != 2 || !strings.Contains(string(r.stderr), "1 hit cannot be read") {
		t.Errorf("exit code %d, want 2\n%s", r.exit, r.stderr)
	}
}
