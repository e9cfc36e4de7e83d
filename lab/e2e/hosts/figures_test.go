//go:build unix

package hosts

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pigrep/index"
	"pigrep/lab/corpus"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/remote/ssh"
)

// EnvFigures is how many MB of made sessions each of the three hosts of TestFigures has; without
// it there are no figures.
const EnvFigures = "PIGREP_FIGURES"

// envDelay makes this program a network that delays what both sides of a shell say.
const envDelay = "PIGREP_TEST_DELAY"

const rounds = 7

// TestFigures measures what docs/hosts.md says: three hosts that a command reaches, against one
// index with the sessions of all.
func TestFigures(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv(EnvFigures))
	if mb == 0 { // it takes minutes and promises nothing
		t.Skipf("a measurement: $%s says how many MB", EnvFigures)
	}
	dir := t.TempDir()
	one := filepath.Join(dir, "one")
	var near, far, homes []string
	for i := range 3 {
		home := filepath.Join(dir, fmt.Sprint("home", i))
		homes = append(homes, home)
		sessions := filepath.Join(home, ".pi", "agent", "sessions")
		_, err := corpus.Generate(sessions, corpus.Options{Seed: uint64(i + 1), Bytes: int64(mb) << 20})
		testkit.Check(t, err)
		testkit.Check(t, filepath.WalkDir(sessions, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			to := filepath.Join(one, strings.TrimPrefix(path, home))
			testkit.Check(t, os.MkdirAll(filepath.Dir(to), 0o700))
			return os.Link(path, to)
		}))
		near = append(near, "--on", fmt.Sprintf("h%d=cmd:export HOME=%s; sh; times >%[2]s.tmp; mv %[2]s.tmp %[2]s.times", i, home))
		far = append(far, "--on", fmt.Sprintf("h%d=cmd:HOME=%s %s=25ms %s", i, home, envDelay, os.Args[0]))
	}
	n := &network{home: filepath.Join(dir, "client"), path: filepath.Dir(program) + ":" + os.Getenv("PATH")}
	testkit.Check(t, os.MkdirAll(n.home, 0o700))
	here := func(args ...string) cost {
		cmd := n.command(append(args, "--redact")...) // hosts mask their answers
		cmd.Env = append(cmd.Env, "HOME="+one)
		return measured(t, cmd)
	}
	there := func(args ...string) cost {
		c := measured(t, n.command(append(args, near...)...))
		for i := range 3 {
			c.cpu += hostCPU(t, filepath.Join(dir, fmt.Sprint("home", i)))
		}
		return c
	}
	for _, line := range []string{"search timeout", "search connection refused", "search -n 0 --flat migration", "grep timeout", "sessions retry", "tools"} {
		args := slices.Clip(append(strings.Fields(line), "--wait", "1h"))
		var ones, threes, delayed []cost
		for i := range rounds + 1 { // in turn, because other programs run on this machine too
			a, b, c := here(args...), there(args...), measured(t, n.command(append(args, far...)...))
			if i > 0 { // the first builds the indexes
				ones, threes, delayed = append(ones, a), append(threes, b), append(delayed, c)
			}
		}
		a, b, c := median(ones), median(threes), median(delayed)
		t.Logf("%-30s one: %v; three: %v, CPU ×%.2f, wall ×%.2f, first line ×%.2f; 25 ms away: %v", line, a, b, float64(b.cpu)/float64(a.cpu), float64(b.wall)/float64(a.wall), float64(b.first)/float64(a.first), c)
	}
	for _, delay := range []time.Duration{0, 25 * time.Millisecond, 50 * time.Millisecond} {
		keyCosts(t, homes, delay)
	}
}

// keyCosts says what a key costs while somebody types over open connections: until something is
// shown before all have answered, if these take long, and until the answer of all.
func keyCosts(t *testing.T, homes []string, delay time.Duration) {
	hosts := &ssh.Hosts{}
	for i, home := range homes {
		h, err := ssh.ParseHost(fmt.Sprintf("h%d=cmd:HOME=%s %s=%v %s", i, home, envDelay, delay, os.Args[0]))
		testkit.Check(t, err)
		hosts.Clients = append(hosts.Clients, ssh.NewClient(h, ssh.Options{
			Version: "test", Schema: index.SchemaVersion, Wait: time.Hour, Zone: "UTC", Now: time.Now,
			Environ: append(os.Environ(), "XDG_CACHE_HOME=", "PIGREP_CONFIG=none", "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH")),
		}))
	}
	defer hosts.Close()
	ask := func(text string) (c cost) {
		begin := time.Now()
		ctx := remote.WithEarly(t.Context(), func(any) {
			if c.first == 0 {
				c.first = time.Since(begin)
			}
		})
		_, err := remote.Search.Ask(ctx, &ssh.Asking{Hosts: hosts}, search.Request{Text: text, Env: filter.Env{Now: begin}})
		testkit.Check(t, err)
		c.wall = time.Since(begin)
		return c
	}
	ask("migration") // connects
	var typed []cost
	for _, word := range []string{"timeout", "connection refused", "retry token"} {
		for i := range word {
			typed = append(typed, ask(word[:i+1]))
		}
	}
	c := median(typed)
	t.Logf("a key, %v away: shown after %v, complete after %v", delay, c.first.Round(time.Millisecond), c.wall.Round(time.Millisecond))
}

// cost is what a command takes: processor time, and until its first line and its end.
type cost struct{ cpu, first, wall time.Duration }

func (c cost) String() string {
	return fmt.Sprintf("CPU %v, wall %v, first line %v", c.cpu.Round(time.Millisecond), c.wall.Round(time.Millisecond), c.first.Round(time.Millisecond))
}

func median(list []cost) (m cost) {
	for _, of := range []func(*cost) *time.Duration{func(c *cost) *time.Duration { return &c.cpu }, func(c *cost) *time.Duration { return &c.first }, func(c *cost) *time.Duration { return &c.wall }} {
		slices.SortFunc(list, func(a, b cost) int { return int(*of(&a) - *of(&b)) })
		*of(&m) = *of(&list[len(list)/2])
	}
	return m
}

func measured(t *testing.T, cmd *exec.Cmd) (c cost) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	testkit.Check(t, err)
	begin := time.Now()
	testkit.Check(t, cmd.Start())
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	testkit.Check(t, err)
	c.first = time.Since(begin)
	_, err = io.Copy(io.Discard, lines)
	testkit.Check(t, err)
	testkit.Check(t, cmd.Wait())
	c.wall, c.cpu = time.Since(begin), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return c
}

// hostCPU waits until a host has ended, and returns the processor time of what its shell has run.
func hostCPU(t *testing.T, home string) (sum time.Duration) {
	t.Helper()
	for {
		data, err := os.ReadFile(home + ".times")
		if err != nil {
			time.Sleep(time.Millisecond) // nobody says when the file is there
			continue
		}
		testkit.Check(t, os.Remove(home+".times"))
		for _, field := range strings.Fields(string(data)) { // 0m0.012000s
			d, err := time.ParseDuration(field)
			testkit.Check(t, err)
			sum += d
		}
		return sum
	}
}

// delayedShell runs a shell and passes on what both sides say, as much later as envDelay says.
func delayedShell() {
	delay, _ := time.ParseDuration(os.Getenv(envDelay))
	shell := exec.Command("sh")
	in, _ := shell.StdinPipe() // the shell has not been started, so that pipes are to be had
	out, _ := shell.StdoutPipe()
	shell.Stderr = os.Stderr
	if err := shell.Start(); err != nil {
		os.Exit(127)
	}
	pass := func(to io.WriteCloser, from io.Reader) {
		type piece struct {
			at   time.Time
			data []byte
		}
		pieces := make(chan piece, 1000)
		go func() {
			defer close(pieces)
			for {
				data := make([]byte, 64<<10)
				n, err := from.Read(data)
				if err != nil {
					return
				}
				pieces <- piece{time.Now().Add(delay), data[:n]}
			}
		}()
		for p := range pieces {
			time.Sleep(time.Until(p.at)) // this is the latency
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		_ = to.Close()
	}
	go pass(in, os.Stdin)
	pass(os.Stdout, out)
	_ = shell.Wait()
}
