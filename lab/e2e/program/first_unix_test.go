//go:build unix

package program

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pigrep/index"
	"pigrep/lab/corpus"
)

// startBuilder starts that process, and waits until it builds.
func startBuilder(t *testing.T, dir string) *os.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), builderEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "building\n" {
		t.Fatalf("the builder says %q, %v", line, err)
	}
	return cmd.Process
}

// asked is a run of the program that shows the progress of another process.
type asked struct {
	cmd    *exec.Cmd
	stdout strings.Builder
	errors *bufio.Reader
}

// ask starts a command, and waits until it shows that progress.
func ask(t *testing.T, home string, args ...string) *asked {
	t.Helper()
	a := &asked{cmd: command(t, home, append(args, "--json", "--progress")...)}
	a.cmd.Stdout = &a.stdout
	errs, err := a.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.errors = bufio.NewReader(errs)
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.cmd.Process.Kill() })
	line, err := a.errors.ReadString('\n')
	var at struct {
		Progress struct{ Files, BytesTotal int }
	}
	if e := json.Unmarshal([]byte(line), &at); err != nil || e != nil || at.Progress.Files != 9 || at.Progress.BytesTotal != 10_000_000 {
		t.Fatalf("%q: shows %q, %v, want the progress of the builder", args, line, err)
	}
	return a
}

// end waits for the end of the command.
func (a *asked) end(t *testing.T) (exit int, stderr string) {
	var rest strings.Builder
	_, _ = a.errors.WriteTo(&rest)
	return endCode(t, a.cmd), rest.String()
}

// Whoever comes while another process builds the first index waits for it. When that is
// killed, one takes over, and all have complete answers. Nobody is kept from leaving before,
// and grep does not wait.
func TestTwoAtTheFirstStart(t *testing.T) {
	t.Parallel()
	home, root, _ := someSessions(t, 9<<20)
	dir := filepath.Join(home, "index")
	where := []string{"--session-dir", root, "--index-dir", dir}
	commands := [][]string{
		{"search", "hyrax"}, {"search", "shrew"}, {"sessions"}, {"sessions", "hyrax"}, {"usage"}, {"tools"}, {"tools", "calls"}, {"show", "written-3"},
	}
	builder := startBuilder(t, dir)
	if r := pigrep(t, home, slices.Concat([]string{"grep", "hyrax", "--json"}, where)...); r.exit != 0 || !strings.Contains(string(r.stdout), `"complete":true`) {
		t.Errorf("grep: exit code %d\n%s%s", r.exit, r.stderr, r.stdout)
	}
	interrupted := ask(t, home, append([]string{"search", "hyrax"}, where...)...)
	if err := interrupted.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if exit, stderr := interrupted.end(t); exit != 130 || !strings.Contains(stderr, `"code":"interrupted"`) {
		t.Errorf("interrupted: exit code %d\n%s", exit, stderr)
	}
	var all []*asked
	for _, c := range commands {
		all = append(all, ask(t, home, slices.Concat(c, where)...))
	}
	if err := builder.Kill(); err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	for i, a := range all {
		ended.Go(func() {
			if exit, stderr := a.end(t); exit != 0 || strings.Contains(a.stdout.String(), `"complete":false`) {
				t.Errorf("%q: exit code %d\n%.2000s\n%.2000s", commands[i], exit, stderr, a.stdout.String())
			}
		})
	}
	ended.Wait()
	for i, c := range commands {
		want := indexState.ReplaceAllString(string(pigrep(t, home, slices.Concat(c, []string{"--json"}, where)...).stdout), "$1")
		if got := indexState.ReplaceAllString(all[i].stdout.String(), "$1"); got != want {
			t.Errorf("%q: one who waited has another answer than the next:\n%.500s\n%.500s", c, got, want)
		}
	}
}

// A large update by another process is not waited for: the answer comes from what is
// published, and says what is missing.
func TestSearchDuringALargeUpdate(t *testing.T) {
	t.Parallel()
	home, file, where := oneSession(t)
	if r := pigrep(t, home, append([]string{"index"}, where...)...); r.exit != 0 {
		t.Fatalf("pigrep index: exit code %d\n%s", r.exit, r.stderr)
	}
	if _, err := corpus.Generate(filepath.Join(filepath.Dir(file), "restored"), corpus.Options{Seed: 11, Bytes: 9 << 20}); err != nil {
		t.Fatal(err)
	}
	w, err := index.OpenWriter(filepath.Join(home, "index"), index.WriterOptions{PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	e, r := search(t, home, append(where, "hyrax")...)
	if r.exit != 0 || e.Total != 1 || e.Index.Complete || e.Index.PendingFiles == 0 || !strings.Contains(string(r.stderr), "not in this answer") {
		t.Errorf("exit code %d, %d hits, index %+v\n%s", r.exit, e.Total, e.Index, r.stderr)
	}
}
