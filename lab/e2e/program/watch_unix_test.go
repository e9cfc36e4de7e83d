//go:build unix

package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// watchEvent is a line of pigrep watch --jsonl.
type watchEvent struct {
	Type    string
	Message string
	Updates int
	Entries int
	Steps   []struct{ Change, Path, Reason string }
	Errors  []struct{ Path, Reason string }
	Index   struct {
		Generation, Files int
		Complete          bool
	}
}

// watcher is a running pigrep watch.
type watcher struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // its output has ended

	mu     sync.Mutex
	events []watchEvent
}

// startWatcher runs pigrep watch and waits until it is ready.
func startWatcher(t testing.TB, home string, where []string, change ...func(*exec.Cmd)) *watcher {
	t.Helper()
	w := &watcher{t: t, ended: make(chan struct{}), cmd: command(t, home, append([]string{"watch", "--jsonl"}, where...)...)}
	w.cmd.Stderr = &w.stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(w.cmd)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go w.listen(out)
	t.Cleanup(func() {
		w.cmd.Process.Kill()
		<-w.ended
		w.cmd.Wait()
	})
	w.wait("ready", func(e []watchEvent) bool { return len(e) > 0 && e[len(e)-1].Type == "ready" })
	return w
}

func (w *watcher) listen(out io.Reader) {
	defer close(w.ended)
	for s := bufio.NewScanner(out); s.Scan(); {
		var e watchEvent
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			e.Message = err.Error()
		}
		w.mu.Lock()
		w.events = append(w.events, e)
		w.mu.Unlock()
	}
}

func (w *watcher) told() []watchEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[:len(w.events):len(w.events)]
}

func (w *watcher) wait(what string, condition func([]watchEvent) bool) {
	w.t.Helper()
	eventually(w.t, what, func() bool { return condition(w.told()) })
}

// end ends the watcher with a signal, which must be its ordinary end.
func (w *watcher) end(s os.Signal) []watchEvent {
	w.t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		w.t.Fatal(err)
	}
	<-w.ended
	if code := endCode(w.t, w.cmd); code != wantEnd[s] || w.stderr.Len() > 0 {
		w.t.Errorf("after %v: exit code %d, want %d\n%s", s, code, wantEnd[s], w.stderr.Bytes())
	}
	return w.told()
}

// wantEnd are the exit codes of a watch that a signal ends.
var wantEnd = map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 0}

// endCode waits for the end of a process that ends by itself.
func endCode(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil && !cmd.ProcessState.Exited() {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// eventually polls for a condition that another process brings about. It gives up before the
// rescan of a watcher, after a minute, which would hide a missed event.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(45 * time.Second); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// oneSession makes a directory with one session in it.
func oneSession(t testing.TB) (home, file string, where []string) {
	t.Helper()
	home = t.TempDir()
	root := filepath.Join(home, "sessions")
	file = filepath.Join(root, "p", "own.jsonl")
	writeSession(t, file, "the hyrax of the first hour")
	return home, file, []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
}

// Whoever reads what a watch says may go at any time: it ends well then, without
// another line to write, and gives its lock back.
func TestWatchWithoutReader(t *testing.T) {
	t.Parallel()
	home, _, where := oneSession(t)
	cmd := command(t, home, append([]string{"watch"}, where...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	stuck := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	if code := endCode(t, cmd); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// Both signals end a watch well, and what was read is published.
func TestWatchEndsWell(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		home, file, where := oneSession(t)
		w := startWatcher(t, home, where)
		for i := range 3 {
			appendPrompt(t, file, 10+i, fmt.Sprintf("one more hyrax %d", i))
			w.wait("an update", func(e []watchEvent) bool { return len(e) == 2+i })
		}
		events := w.end(s)
		last := events[len(events)-1]
		if last.Type != "summary" || last.Updates != 3 || last.Entries != 1+3 {
			t.Errorf("%v: the last event is %+v", s, last)
		}
		if e := events[1]; len(e.Steps) != 1 || e.Steps[0].Change != "grown" || e.Steps[0].Path != file || !e.Index.Complete {
			t.Errorf("an update is told as %+v", e)
		}
		if e, _ := search(t, home, append(where, "--no-update", "hyrax")...); e.Total != 4 || !e.Index.Complete {
			t.Errorf("%v: after the end %d hits, complete %v", s, e.Total, e.Index.Complete)
		}
	}
}

// A watch that is ended in the middle of a first build keeps what it has.
func TestWatchEndsEarly(t *testing.T) {
	t.Parallel()
	home, _, where := oneSession(t)
	for i := range 300 {
		var texts []string
		for j := range 40 {
			texts = append(texts, strings.Repeat(fmt.Sprintf("hyrax number %d of %d, in words that fill a session ", j, i), 20))
		}
		writeSession(t, filepath.Join(home, "sessions", fmt.Sprint("d", i), "a.jsonl"), texts...)
	}
	cmd := command(t, home, append([]string{"watch", "--quiet"}, where...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock", func() bool { _, err := os.Stat(filepath.Join(home, "index", "lock")); return err == nil })
	cmd.Process.Signal(os.Interrupt)
	if code := endCode(t, cmd); code != 130 {
		t.Errorf("interrupted while it builds: exit code %d", code)
	}
	if e, r := search(t, home, append(where, "hyrax")...); e.Total != 1+300*40 || !e.Index.Complete {
		t.Errorf("the next search finds %d, complete %v\n%s", e.Total, e.Index.Complete, r.stderr)
	}
}

// A second watcher is told who runs, and so is everybody who asks.
func TestSecondWatcher(t *testing.T) {
	t.Parallel()
	home, _, where := oneSession(t)
	w := startWatcher(t, home, where)
	pid := fmt.Sprint(w.cmd.Process.Pid)
	if r := pigrep(t, home, append([]string{"watch"}, where...)...); r.exit != 2 || !strings.Contains(string(r.stderr), "pid "+pid) {
		t.Errorf("a second watch: exit code %d\n%s", r.exit, r.stderr)
	}
	if r := pigrep(t, home, append([]string{"status", "--json"}, where...)...); !strings.Contains(string(r.stdout), `"watcher":{"pid":`+pid+`,`) {
		t.Errorf("status does not name the watcher:\n%s", r.stdout)
	}
	// Who asks for an update gets one beside the watcher.
	for range 3 {
		appendPrompt(t, filepath.Join(home, "sessions", "p", "own.jsonl"), 10, "one more")
		if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
			t.Errorf("pigrep index: exit code %d\n%s", r.exit, r.stderr)
		}
	}
	if r := pigrep(t, home, append([]string{"index", "--rebuild"}, where...)...); r.exit != 0 {
		t.Errorf("pigrep index --rebuild: exit code %d\n%s", r.exit, r.stderr)
	}
	w.end(os.Interrupt)
	w = startWatcher(t, home, where)
	w.end(os.Interrupt)
}

// What a watcher does not do because it is stuck or dead, the others do.
func TestWatcherThatIsStuckOrDead(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	home, file, where := oneSession(t)
	find := func(what string, want int) {
		t.Helper()
		if e, r := search(t, home, append(where, "hyrax")...); e.Total != want || !e.Index.Complete || len(r.stderr) > 0 {
			t.Errorf("%s: %d hits, want %d, complete %v\n%s", what, e.Total, want, e.Index.Complete, r.stderr)
		}
	}
	status := func() string {
		return string(pigrep(t, home, append([]string{"status", "--json"}, where...)...).stdout)
	}
	w := startWatcher(t, home, where)
	eventually(t, "the writer is released", func() bool { return !strings.Contains(status(), `"writer":`) })
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is seen to be stuck", func() bool { return strings.Contains(status(), `"stuck":true`) })
	appendPrompt(t, file, 10, "a second hyrax")
	find("with a watcher that is stuck", 2)
	if err := w.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool { return strings.Contains(status(), `"stuck":false`) })
	appendPrompt(t, file, 11, "a third hyrax")
	eventually(t, "it indexes again", func() bool {
		e, _ := search(t, home, append(where, "--no-update", "hyrax")...)
		return e.Total == 3
	})
	w.cmd.Process.Kill()
	<-w.ended
	appendPrompt(t, file, 12, "a fourth hyrax")
	find("with a watcher that is dead", 4)
	if s := status(); strings.Contains(s, `"watcher"`) {
		t.Errorf("a dead watcher is in the status:\n%s", s)
	}
}

// obeying returns what makes a process obey the permissions of files.
func obeying(t *testing.T) []func(*exec.Cmd) {
	t.Helper()
	if os.Geteuid() != 0 { // root may read and write everything
		return nil
	}
	probe := exec.Command("true")
	if probe.SysProcAttr = unprivileged(); probe.Run() != nil {
		testkit.Missing(t, "a process of root cannot do without its privileges here, as in containers without user namespaces")
	}
	return []func(*exec.Cmd){func(c *exec.Cmd) { c.SysProcAttr = unprivileged() }}
}

// A search is complete even if it cannot write to the index directory. If it has so much in
// memory that it should, it warns that it cannot.
func TestSearchWithoutWriting(t *testing.T) {
	t.Parallel()
	home, file, where := oneSession(t)
	index := where[slices.Index(where, "--index-dir")+1]
	modes := obeying(t)
	find := func(what, text string, warns bool, args ...string) {
		t.Helper()
		cmd := command(t, home, append(append([]string{"search", "--json"}, where...), append(args, text)...)...)
		for _, m := range modes {
			m(cmd)
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || !bytes.Contains(out, []byte(`"complete":true`)) || !bytes.Contains(out, []byte(text)) {
			t.Errorf("%s: %v\n%s%s", what, err, out, errs.Bytes())
		}
		if warned := bytes.Contains(errs.Bytes(), []byte("the index cannot be updated")) && bytes.Contains(errs.Bytes(), []byte("hint")); warned != warns {
			t.Errorf("%s: stderr %q; want a warning that the index cannot be updated: %t", what, errs.Bytes(), warns)
		}
	}
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("pigrep index: %s", r.stderr)
	}
	appendPrompt(t, file, 7, "a latecomer")
	if err := os.Chmod(index, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(index, 0o700)
	if err := os.Chmod(filepath.Join(index, "lock"), 0o400); err != nil {
		t.Fatal(err)
	}
	find("a read-only index directory", "latecomer", false)
	for i := range 40 {
		writeSession(t, filepath.Join(home, "sessions", "q", fmt.Sprintf("%d.jsonl", i)), "a newcomer")
	}
	find("a read-only index directory, and more to write", "newcomer", true)

	closed := filepath.Join(home, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	find("an index directory that cannot be made", "latecomer", true, "--index-dir", filepath.Join(closed, "index"))
}

// A directory that cannot be read any more keeps what is indexed of it, is reported
// once, and is followed again when it can be read.
func TestWatchOfAnUnreadableDirectory(t *testing.T) {
	t.Parallel()
	home, file, where := oneSession(t)
	beside := filepath.Join(home, "sessions", "q", "beside.jsonl")
	writeSession(t, beside, "another hyrax")
	w := startWatcher(t, home, where, obeying(t)...)
	if err := os.Chmod(filepath.Dir(file), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(file), 0o755)
	w.wait("the directory is named", func(e []watchEvent) bool {
		last := e[len(e)-1]
		return len(last.Errors) == 1 && last.Errors[0].Path == filepath.Dir(file) && !last.Index.Complete
	})
	appendPrompt(t, beside, 10, "one more hyrax beside it")
	w.wait("a line beside it", func(e []watchEvent) bool { return e[len(e)-1].Entries == 1 })
	if err := os.Chmod(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	appendPrompt(t, file, 10, "one more hyrax in it")
	w.wait("a line in it", func(e []watchEvent) bool { return e[len(e)-1].Entries == 1 && len(e) >= 4 })
	named := 0
	for _, e := range w.end(os.Interrupt) {
		named += len(e.Errors)
	}
	if named != 1 {
		t.Errorf("the directory was named %d times", named)
	}
	if e, _ := search(t, home, append(where, "--no-update", "hyrax")...); e.Total != 4 {
		t.Errorf("%d hits, want 4", e.Total)
	}
}

// One process appends many lines a second, a file is rewritten and one deleted
// in between, and readers ask all the time: nothing is missed, nothing is there
// twice, no reader fails.
func TestWatchInAStorm(t *testing.T) {
	t.Parallel()
	home, file, where := oneSession(t)
	root := filepath.Join(home, "sessions")
	rewritten, deleted := filepath.Join(root, "q", "rewritten.jsonl"), filepath.Join(root, "q", "deleted.jsonl")
	writeSession(t, rewritten, "old hyrax", "old hyrax again")
	writeSession(t, deleted, "hyrax to be deleted")
	w := startWatcher(t, home, where)
	lines := testkit.HowMany(20, 30, 1200)
	done := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	appended, found := make([]time.Time, lines), make([]time.Time, lines)
	for range 4 {
		wg.Go(func() {
			least := 1
			for {
				select {
				case <-done:
					return
				default:
				}
				var stdout, stderr bytes.Buffer
				cmd := command(t, home, append([]string{"search", "--json", "--flat", "-n", "5000"}, append(where, "hyrax")...)...)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				var e envelope
				if err == nil {
					err = json.Unmarshal(stdout.Bytes(), &e)
				}
				own, seen := 0, make(map[string]bool)
				for _, h := range e.Hits {
					if seen[h.SessionPath+fmt.Sprint(h.Offset)] {
						t.Errorf("%s at %d is there twice", h.SessionPath, h.Offset)
					}
					seen[h.SessionPath+fmt.Sprint(h.Offset)] = true
					if h.SessionPath == file {
						own++
					}
				}
				if err != nil || own < least || own > lines+1 {
					t.Errorf("a search in the storm: %v, %d hits in the growing file after %d\n%s", err, own, least, stderr.Bytes())
					return
				}
				now := time.Now()
				mu.Lock()
				for n := range own - 1 {
					if found[n].IsZero() {
						found[n] = now
					}
				}
				mu.Unlock()
				least = own
			}
		})
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	before := memory(w.cmd.Process.Pid)
	for n := range lines {
		<-tick.C
		mu.Lock()
		appended[n] = time.Now()
		mu.Unlock()
		appendPrompt(t, file, 100+n, fmt.Sprintf("one more hyrax, %d", n))
		switch n {
		case lines / 3:
			writeSession(t, rewritten, "a new hyrax", "another", "a third hyrax")
		case lines / 2:
			if err := os.Remove(deleted); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	wg.Wait()
	eventually(t, "the last line", func() bool {
		e, _ := search(t, home, append(where, "--no-update", "hyrax")...)
		return e.Total == 1+lines+2
	})
	var latencies []time.Duration
	for n, at := range found {
		if !at.IsZero() {
			latencies = append(latencies, at.Sub(appended[n]))
		}
	}
	if slices.Sort(latencies); len(latencies) > 0 {
		t.Logf("from the append to an answer that has it: median %v, p95 %v, of %d lines", latencies[len(latencies)/2], latencies[len(latencies)*95/100], len(latencies))
	}
	t.Logf("memory of the watcher %d MB, then %d MB", before>>20, memory(w.cmd.Process.Pid)>>20)
	w.end(os.Interrupt)
	fresh := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "fresh"), "hyrax"}
	if a, b := answers(t, home, where, []string{"hyrax"}), answers(t, home, fresh[:4], []string{"hyrax"}); a[0] != b[0] {
		t.Errorf("after the storm:\n%.2000s\nof a fresh index:\n%.2000s", a[0], b[0])
	}
}

// memory returns the resident bytes of a process, 0 where the system does not
// say.
func memory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	fmt.Sscan(string(data), &size, &resident)
	return resident * int64(os.Getpagesize())
}

// If a process stops while it builds the first index, others index the rest in memory, and
// it goes on later.
func TestSearchWhileTheFirstIndexIsBuilt(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	home, root, _ := someSessions(t, 24<<20)
	where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index")}
	cmd := command(t, home, append([]string{"index"}, where...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a generation", func() bool { _, err := os.Stat(filepath.Join(home, "index", "current")); return err == nil })
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e, r := search(t, home, append(where, "hyrax")...)
	if r.exit != 0 || e.Total != 3 || !e.Index.Complete || e.Index.PendingFiles == 0 || e.Index.PendingBytes == 0 || len(r.stderr) > 0 {
		t.Errorf("a search meanwhile: exit code %d, %d hits, index %+v\n%s", r.exit, e.Total, e.Index, r.stderr)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// One line when it begins and one when it has ended.
	if got := bytes.Count(stderr.Bytes(), []byte("\n")); got != 2 {
		t.Errorf("%d lines on stderr:\n%s", got, stderr.Bytes())
	}
	if e, _ := search(t, home, append(where, "hyrax")...); e.Total != 3 || !e.Index.Complete {
		t.Errorf("a search afterwards: %d hits, index %+v", e.Total, e.Index)
	}
}
