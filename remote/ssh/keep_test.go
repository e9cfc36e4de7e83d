package ssh

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/internal/shellcmd"
	"pigrep/lab/testkit"
	"pigrep/query/search"
)

// fakeSSH is a program called ssh, which comes first in PATH. It prints the settings of a host, notes its
// arguments, and runs a host that behaves in one way on a shared connection and in another way otherwise.
type fakeSSH struct {
	t   *testing.T
	dir string
}

// newFakeSSH skips the test on Windows: ssh cannot share connections there, so pigrep keeps none (see
// Client.socket), and the fake is a script of a shell.
func newFakeSSH(t *testing.T) *fakeSSH {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("connections are not kept on Windows")
	}
	own, err := os.Executable()
	testkit.Check(t, err)
	f := &fakeSSH{t, t.TempDir()}
	script := `#!/bin/sh
cd ` + shellcmd.Quote(f.dir) + `
case " $* " in
*" -G "*) exec cat settings ;;
*" -O "*) exit 1 ;;
*ControlPath*) as=$(cat shared) ;;
*) as=$(cat alone) ;;
esac
echo "$*" >>log
case $as in mux*) echo "$as" >&2; exit 255 ;; esac
` + playing + `=$as ` + bySSH + `=1 exec ` + shellcmd.Quote(own) + "\n"
	testkit.Check(t, os.WriteFile(filepath.Join(f.dir, "ssh"), []byte(script), 0o755))
	t.Setenv("PATH", f.dir+":"+os.Getenv("PATH"))
	testkit.Check(t, os.Mkdir(filepath.Join(f.dir, "run"), 0o700))
	f.set("settings", "hostname box.example.com\ncontrolmaster false\ncontrolpersist no\n")
	f.set("shared", "well")
	f.set("alone", "well")
	return f
}

func (f *fakeSSH) set(name, text string) {
	testkit.Check(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644))
}

// ask asks a question of a client that has not asked before, and returns the arguments of each call of ssh.
func (f *fakeSSH) ask(change func(*Options)) (calls []string, err error) {
	f.t.Helper()
	o := Options{Version: "1.1", Schema: 7, Wait: long, Now: time.Now, Environ: os.Environ(), Dir: filepath.Join(f.dir, "run")}
	if change != nil {
		change(&o)
	}
	h, err := ParseHost("box")
	testkit.Check(f.t, err)
	c := NewClient(h, o)
	defer c.Close()
	_ = os.Remove(filepath.Join(f.dir, "log"))
	_, err = c.Search(f.t.Context(), search.Request{})
	data, _ := os.ReadFile(filepath.Join(f.dir, "log"))
	return strings.Split(strings.TrimSpace(string(data)), "\n"), err
}

var controlPath = regexp.MustCompile(`-o ControlMaster=auto -o ControlPath=(\S+) -o ControlPersist=240 -- box `)

// ssh keeps its connection in the directory of pigrep for a while, unless the user's settings say where, or it
// cannot be kept there. With other settings, a host has another connection.
func TestWhereConnectionsAreKept(t *testing.T) {
	f := newFakeSSH(t)
	run, seen := filepath.Join(f.dir, "run"), make(map[string]bool)
	for _, settings := range []string{"hostname box.example.com\ncontrolmaster false\n", "hostname other.example.com\n", "hostname other.example.com\ncontrolpath none\ncontrolmaster no\n"} {
		f.set("settings", settings)
		calls, err := f.ask(nil)
		m := controlPath.FindStringSubmatch(calls[0])
		if err != nil || len(calls) != 1 || m == nil || filepath.Dir(m[1]) != run || len(filepath.Base(m[1])) != 16 || seen[m[1]] {
			t.Errorf("%q: %v, %v", settings, calls, err)
		} else {
			seen[m[1]] = true
		}
	}
	open, far, odd := filepath.Join(f.dir, "open"), filepath.Join(f.dir, strings.Repeat("x", 100)), filepath.Join(f.dir, "a b")
	testkit.Check(t, os.Mkdir(open, 0o700))
	testkit.Check(t, os.Chmod(open, 0o755)) // whatever the umask is
	testkit.Check(t, os.Symlink(run, filepath.Join(f.dir, "link")))
	for name, change := range map[string]func(*Options){
		"a master of the user":   func(*Options) { f.set("settings", "controlmaster auto\ncontrolpath /tmp/own\n") },
		"a socket of the user":   func(*Options) { f.set("settings", "controlmaster false\ncontrolpath /tmp/own\n") },
		"no directory":           func(o *Options) { o.Dir = "" },
		"a directory for all":    func(o *Options) { o.Dir = open },
		"a link":                 func(o *Options) { o.Dir = filepath.Join(f.dir, "link") },
		"a path that is long":    func(o *Options) { o.Dir = far },
		"a path with a space":    func(o *Options) { o.Dir = odd },
		"a directory in nowhere": func(o *Options) { o.Dir = filepath.Join(f.dir, "no", "where") },
	} {
		f.set("settings", "hostname box.example.com\n")
		if calls, err := f.ask(change); err != nil || len(calls) != 1 || strings.Contains(calls[0], "Control") {
			t.Errorf("%s: %v, %v", name, calls, err)
		}
	}
}

// A question is answered even if the connection that another command left leads nowhere, or if no
// connection can be kept.
func TestKeptConnectionThatFails(t *testing.T) {
	f := newFakeSSH(t)
	calls, err := f.ask(nil)
	testkit.Check(t, err)
	socket := controlPath.FindStringSubmatch(calls[0])[1]
	for name, c := range map[string]struct {
		shared string
		there  bool
		now    func() time.Time
	}{
		"refused":     {"mux_client_request_session: session request failed", true, time.Now},
		"not made":    {"mux unix_listener: cannot bind to path " + socket + ": Operation not supported", false, time.Now},
		"silent":      {"nothing", true, later(long/2 + time.Second)},
		"another one": {"dead", true, time.Now},
	} {
		t.Run(name, func(t *testing.T) {
			f.set("shared", c.shared)
			if c.there {
				testkit.Check(t, os.WriteFile(socket, nil, 0o600))
			}
			calls, err := f.ask(func(o *Options) { o.Now, o.Glance = c.now, time.Nanosecond })
			if err != nil || !slices.ContainsFunc(calls, func(call string) bool { return !strings.Contains(call, "Control") }) {
				t.Errorf("%q, %v", calls, err)
			}
			if _, err := os.Lstat(socket); err == nil {
				t.Error("the next command finds it again")
			}
		})
	}
	f.set("shared", "mux Permission denied (publickey).") // a login that fails is not tried twice
	if calls, err := f.ask(nil); err == nil || len(calls) != 1 {
		t.Errorf("%q, %v", calls, err)
	}
}

// later returns a clock: its first time is now, and the others are later.
func later(by time.Duration) func() time.Time {
	start, first := time.Now(), true
	return func() time.Time {
		if first {
			first = false
			return start
		}
		return start.Add(by)
	}
}

// A host that did not answer in time is asked again, but not waited for, until a minute is over, it answers, or
// the user waits longer.
func TestHostThatIsAway(t *testing.T) {
	f := newFakeSSH(t)
	run := filepath.Join(f.dir, "run")
	reason := func(change func(*Options)) string {
		t.Helper()
		_, err := f.ask(change)
		if err == nil {
			return ""
		}
		lost, ok := errors.AsType[*HostError](err)
		if !ok {
			t.Fatal(err)
		}
		return lost.Reason
	}
	brief := func(o *Options) { o.Wait, o.Glance = short, time.Nanosecond }
	f.set("shared", "nothing")
	if got := reason(brief); got != "no answer in 50ms" {
		t.Errorf("at first: %q", got)
	}
	marks, _ := filepath.Glob(filepath.Join(run, "away-*"))
	if len(marks) != 1 {
		t.Fatalf("%d hosts are away", len(marks))
	}
	if got := reason(brief); got != "no answer in 50ms, 0 s ago; it was asked again, and not waited for" {
		t.Errorf("then: %q", got)
	}
	if got := reason(func(o *Options) { o.Wait = short }); got != "no answer in 50ms" { // as `pigrep hosts` asks
		t.Errorf("a host that is looked at: %q", got)
	}
	ago := time.Now().Add(-2 * awayFor)
	testkit.Check(t, os.Chtimes(marks[0], ago, ago))
	if got := reason(brief); got != "no answer in 50ms" {
		t.Errorf("after a minute: %q", got)
	}
	f.set("shared", "well")
	if got := reason(func(o *Options) { o.Glance = time.Nanosecond }); got != "" { // a minute, not 50 ms
		t.Errorf("with a longer wait: %q", got)
	}
	if _, err := os.Stat(marks[0]); err == nil {
		t.Error("it has answered, and is away")
	}
}
