//go:build unix

// Package hosts tests --on with a real sshd: several servers on loopback, with keys, ports and
// homes of their own, which the test stops by their process ids. "make hosts" runs it.
package hosts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

var program string

func TestMain(m *testing.M) {
	if os.Getenv(envDelay) != "" {
		delayedShell()
		return
	}
	dir, err := os.MkdirTemp("", "pigrep-hosts-")
	if err == nil {
		program, err = testkit.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// network is a client and the machines that it can reach.
type network struct {
	dir, home string // of the client
	path      string // where the client finds programs
	config    *os.File
	known     *os.File // keys of hosts
	key       string
}

// machine is a host of the network.
type machine struct {
	name, home string
	port       int
	sshd       *exec.Cmd
	logins     atomic.Int32
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	for _, name := range []string{"ssh", "ssh-keygen", "sh"} {
		testkit.Program(t, name)
	}
	n := &network{dir: t.TempDir()}
	n.home, n.key = filepath.Join(n.dir, "client"), filepath.Join(n.dir, "key")
	bin := filepath.Join(n.dir, "bin")
	testkit.Check(t, os.MkdirAll(n.home, 0o700))
	testkit.Check(t, os.MkdirAll(bin, 0o755))
	n.path = bin + ":" + filepath.Dir(program) + ":" + os.Getenv("PATH")
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", n.key)
	var err error
	n.config, err = os.Create(filepath.Join(n.dir, "ssh_config"))
	testkit.Check(t, err)
	n.known, err = os.Create(filepath.Join(n.dir, "known_hosts"))
	testkit.Check(t, err)
	// The user's own settings are those of the account, whatever HOME is: ssh is told where
	// the test has its own.
	real, err := exec.LookPath("ssh")
	testkit.Check(t, err)
	testkit.Check(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\nexec "+real+" -F "+n.config.Name()+` "$@"`+"\n"), 0o755))
	t.Cleanup(func() { n.config.Close(); n.known.Close() })
	return n
}

// kept returns the sockets of connections that are kept for later commands.
func (n *network) kept() []string {
	list, _ := filepath.Glob(filepath.Join(n.dir, "pigrep", "????????????????")) // the pattern is valid
	return list
}

// end ends a connection that is kept. It returns once ssh has removed the socket.
func (n *network) end(socket string) error {
	if err := exec.Command("ssh", "-O", "exit", "-o", "ControlPath="+socket, "any").Run(); err != nil {
		return err
	}
	for {
		if _, err := os.Lstat(socket); err != nil {
			return nil
		}
		time.Sleep(time.Millisecond) // ssh removes the socket after it has answered, and tells nobody
	}
}

// start starts the sshd of a machine, which settings may change, and waits until it listens.
func (n *network) start(t *testing.T, name, home string, settings ...string) *machine {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		sshd = testkit.Program(t, "sshd")
	}
	if os.Geteuid() == 0 { // where it puts what has no privileges
		testkit.Check(t, os.MkdirAll("/run/sshd", 0o755))
	}
	me, err := user.Current()
	testkit.Check(t, err)
	m := &machine{name: name, home: filepath.Join(n.dir, home), port: freePort(t)}
	testkit.Check(t, os.MkdirAll(filepath.Join(m.home, ".pi", "agent", "sessions"), 0o700))
	key := filepath.Join(n.dir, name+"_key")
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	public, err := os.ReadFile(key + ".pub")
	testkit.Check(t, err)
	fmt.Fprintf(n.known, "[127.0.0.1]:%d %s", m.port, public)
	fmt.Fprintf(n.config, "Host %s\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", name, m.port, me.Username, n.key, n.known.Name())
	config := filepath.Join(n.dir, name+"_config")
	// The home is not that of the account, as that of the real machine would be.
	lines := append(settings, "ListenAddress 127.0.0.1:"+strconv.Itoa(m.port), "HostKey "+key, "AuthorizedKeysFile "+n.key+".pub", "StrictModes no", "UsePAM no",
		"PermitRootLogin yes", "PasswordAuthentication no", "PidFile none", "PrintMotd no", `SetEnv "HOME=`+m.home+`" XDG_CACHE_HOME= XDG_CONFIG_HOME= PIGREP_CONFIG=none "PATH=`+filepath.Dir(program)+`:/usr/bin:/bin"`)
	testkit.Check(t, os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	m.sshd = exec.Command(sshd, "-D", "-e", "-f", config)
	log := &bytes.Buffer{}
	said, err := m.sshd.StderrPipe()
	testkit.Check(t, err)
	testkit.Check(t, m.sshd.Start())
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(log, lines.Text())
			if strings.Contains(lines.Text(), "Server listening") {
				close(listening)
			}
			if strings.Contains(lines.Text(), "Accepted publickey") {
				m.logins.Add(1)
			}
		}
	}()
	t.Cleanup(func() {
		for _, socket := range n.kept() { // whose server would go on writing the log
			_ = n.end(socket)
		}
		_ = m.sshd.Process.Kill()
		<-ended
		_ = m.sshd.Wait()
		if t.Failed() {
			t.Logf("sshd of %s:\n%s", name, log)
		}
	})
	select {
	case <-listening:
	case <-ended:
		t.Fatalf("sshd of %s does not start:\n%s", name, log)
	}
	return m
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Check(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// write writes a session file of the machine.
func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.home, ".pi", "agent", "sessions", name)
	testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.Check(t, os.WriteFile(path, []byte(text), 0o600))
}

// command is pigrep on the client.
func (n *network) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = n.home
	cmd.Env = []string{"HOME=" + n.home, "PATH=" + n.path, "XDG_RUNTIME_DIR=" + n.dir, "PIGREP_CONFIG=none", "TZ=UTC", "PI_CODING_AGENT_DIR=", "PI_CODING_AGENT_SESSION_DIR="}
	return cmd
}

// pigrep runs pigrep on the client.
func (n *network) pigrep(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := n.command(args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return o.String(), e.String(), exit.ExitCode()
	}
	testkit.Check(t, err)
	return o.String(), e.String(), 0
}

const day = "2026-02-21T08:00:"

// session is a session file with these prompts.
func session(id, cwd string, prompts ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `{"type":"session","version":3,"id":%q,"timestamp":"%s00.000Z","cwd":%s}`+"\n", id, day, quoted(cwd))
	parent := "null"
	for i, p := range prompts {
		fmt.Fprintf(&text, `{"type":"message","id":"%s-%d","parentId":%s,"timestamp":"%s%02d.000Z","message":{"role":"user","content":%s}}`+"\n", id, i, parent, day, i%60, quoted(p))
		parent = fmt.Sprintf(`"%s-%d"`, id, i)
	}
	return text.String()
}

func quoted(s string) string {
	data, _ := json.Marshal(s) // a string can be encoded
	return string(data)
}

// odd are files as they are found among sessions.
func (m *machine) writeOdd(t *testing.T) {
	t.Helper()
	m.write(t, "headless.jsonl", `{"type":"message","id":"x1","timestamp":"2026-02-21T08:00:01.000Z","message":{"role":"user","content":"gibbon without a header"}}`+"\n")
	m.write(t, "torn.jsonl", `{"type":"session","version":3}`+"\n"+`{"type":"message","message":{"role":"user","content":"gibbon without id and time"}}`+"\n"+`{"type":"mess`)
	m.write(t, "empty.jsonl", "")
	m.write(t, "odd\x1b[31m"+strings.Repeat("x", 230)+".jsonl", session("odd", "/tmp", "gibbon in an odd file"))
}

// three starts three machines: one has a banner and a shell that talks, the home of one has a
// space in its name, and the shell of one is fish if that is installed.
func three(t *testing.T) (*network, []*machine) {
	t.Helper()
	n := newNetwork(t)
	banner := filepath.Join(n.dir, "banner")
	testkit.Check(t, os.WriteFile(banner, []byte("*** \x1b[31mAuthorized use only\x1b[0m ***\n"), 0o644))
	laptop := n.start(t, "laptop", "laptop", "Banner "+banner)
	testkit.Check(t, os.WriteFile(filepath.Join(laptop.home, ".bashrc"), []byte("echo Welcome to the laptop\necho a warning >&2\n"), 0o644))
	server := n.start(t, "server", "the server's home")
	var settings []string
	if fish, err := exec.LookPath("fish"); err == nil {
		settings = []string{`ForceCommand exec ` + fish + ` -c "$SSH_ORIGINAL_COMMAND"`}
	} else if os.Getenv("CI") == "true" {
		t.Fatal("fish is not installed")
	}
	return n, []*machine{laptop, server, n.start(t, "desk", "desk", settings...)}
}

const all = "laptop,server,desk"

// Three machines answer as one that has all their sessions would, host aside: the order of hits
// and their scores, lists, lines and audits.
func TestThreeHostsAnswerAsOne(t *testing.T) {
	n, machines := three(t)
	own := filepath.Join(n.dir, "one", ".pi", "agent", "sessions")
	testkit.Check(t, os.MkdirAll(own, 0o700))
	for i, path := range testkit.Sessions(t, filepath.Join(testkit.Root(), "testdata", "realpi"), filepath.Join(testkit.Root(), "testdata", "sessions")) {
		data, err := os.ReadFile(path)
		testkit.Check(t, err)
		name := fmt.Sprintf("%03d-%s", i, filepath.Base(path))
		// Forks are with their parents: those that are elsewhere have sums of their own.
		machines[len(filepath.Base(filepath.Dir(path)))%3].write(t, name, string(data))
		testkit.Check(t, os.WriteFile(filepath.Join(own, name), data, 0o600))
	}
	shared := session("shared", "/srv/app", "the gibbon that two machines have")
	machines[0].write(t, "shared.jsonl", shared)
	machines[1].write(t, "shared.jsonl", shared)
	testkit.Check(t, os.WriteFile(filepath.Join(own, "shared.jsonl"), []byte(shared), 0o600))
	// Paths are those of each machine, and what is said of it.
	places := regexp.MustCompile(`(laptop|server|desk):|` + regexp.QuoteMeta(n.dir) + `/[^/]*/|"host":"[a-z]*",?`)
	plain := func(s string) string {
		lines := strings.Split(places.ReplaceAllString(s, ""), "\n")
		if strings.HasPrefix(lines[0], ".pi/") { // lines of grep -H are in the order of paths, which begin with the host
			slices.Sort(lines)
		}
		return strings.Join(lines, "\n")
	}
	for _, args := range [][]string{
		{"search", "gibbon"}, {"search", "--flat", "-n", "0", "error file"}, {"search", "--sort", "newest", "session"}, {"search", "what", "is", "in", "the", "file"},
		{"sessions"}, {"sessions", "error"}, {"sessions", "--forks"}, {"grep", "-c", "-H", "e"}, {"grep", "--sort", "newest", "-H", "the"}, {"grep", "-i", "-H", "error"},
		{"tools"}, {"tools", "--by", "tool,day"}, {"tools", "calls", "-n", "40"}, {"tools", "commands"}, {"tools", "files"}, {"usage"}, {"usage", "--by", "day"}, {"fix", "No such file or directory"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			one := n.command(args...)
			one.Env = append(one.Env, "HOME="+filepath.Join(n.dir, "one"), "XDG_CACHE_HOME="+filepath.Join(n.dir, "one", "cache"))
			want, err := one.Output()
			if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			}
			got, errs, _ := n.pigrep(t, append(args, "--on", all, "--reveal", "--wait", "1m")...)
			if strings.Contains(errs, "nothing from") {
				t.Fatalf("not all answer: %s", errs)
			}
			if plain(got) != plain(string(want)) {
				t.Errorf("got\n%s\nwant\n%s", plain(got), plain(string(want)))
			}
		})
	}
}

// A session of another machine is found, shown, exported and resumed as its own are: ids, paths
// and directories with anything in their names reach the shells of both sides as they are.
func TestOneSession(t *testing.T) {
	n, machines := three(t)
	for i, m := range machines {
		project := filepath.Join(m.home, "it's a \"project\" $HOME")
		testkit.Check(t, os.MkdirAll(project, 0o755))
		m.write(t, "own.jsonl", session("own-"+m.name, project, "a gibbon of the "+m.name, "the key is sk-ant-api03-"+strings.Repeat("Ab1Cd2Ef3G", 9)+"AA"))
		m.write(t, "same.jsonl", session("same", project, "a gibbon that all have"))
		m.writeOdd(t)
		testkit.Check(t, os.MkdirAll(filepath.Join(m.home, "bin"), 0o755))
		_ = i
	}
	out, errs, code := n.pigrep(t, "search", "--on", all, "--wait", "1m", "--json", "gibbon")
	var answer struct {
		Hits []struct{ Host, SessionPath, SessionID string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != 0 || errs != "" {
		t.Fatalf("code %d, %v, %s", code, err, errs)
	}
	counts := make(map[string]int)
	for _, h := range answer.Hits {
		counts[h.SessionID]++
		if !strings.HasPrefix(h.SessionPath, h.Host+":/") {
			t.Errorf("host %q, path %q", h.Host, h.SessionPath)
		}
	}
	if counts["same"] != 1 || counts["own-laptop"] != 1 || counts["own-server"] != 1 || counts["own-desk"] != 1 {
		t.Errorf("hits by session: %v", counts)
	}
	for _, m := range machines {
		t.Run(m.name, func(t *testing.T) {
			for _, target := range []string{"own-" + m.name, m.name + ":" + filepath.Join(m.home, ".pi/agent/sessions/own.jsonl") + ":own-" + m.name + "-0"} {
				out, errs, code := n.pigrep(t, "show", "--on", all, "--wait", "1m", target)
				if code != 0 || !strings.Contains(out, "a gibbon of the "+m.name) || strings.Contains(out, "sk-ant") {
					t.Errorf("show %s: code %d, %s\n%s", target, code, errs, out)
				}
			}
			out, errs, code := n.pigrep(t, "export", "--on", m.name, "--wait", "1m", "--format", "html", "own-"+m.name)
			if code != 0 || !strings.Contains(out, "a gibbon of the "+m.name) || strings.Contains(out, "sk-ant") {
				t.Errorf("export: code %d, %s", code, errs)
			}
			line, errs, code := n.pigrep(t, "resume", "--on", all, "--wait", "1m", "own-"+m.name)
			if code != 0 || !strings.HasPrefix(line, "ssh -t -- "+m.name+" ") {
				t.Fatalf("resume: code %d, %s\n%s", code, errs, line)
			}
			// pi there says where it runs, and with which arguments.
			pi := filepath.Join(filepath.Dir(program), "pi")
			testkit.Check(t, os.WriteFile(pi, []byte("#!/bin/sh\npwd\nprintf '<%s>' \"$@\"\n"), 0o755))
			shell := exec.Command("sh", "-c", line)
			shell.Env = n.command().Env
			said, err := shell.Output()
			want := filepath.Join(m.home, "it's a \"project\" $HOME") + "\n<--session><" + filepath.Join(m.home, ".pi/agent/sessions/own.jsonl") + ">"
			if err != nil || !strings.HasSuffix(string(said), want) {
				t.Errorf("%s says %q, %v, want %q", line, said, err, want)
			}
		})
	}
}

// A session that went on here and on another machine is found and shown with both ends, and what both
// have once, also where it has a secret, which only this machine sees.
func TestCopiesThatDiffer(t *testing.T) {
	n := newNetwork(t)
	laptop, here := n.start(t, "laptop", "laptop"), &machine{home: n.home}
	secret := "sk-ant-api03-" + strings.Repeat("Ab1Cd2Ef3G", 9) + "AA"
	for m, end := range map[*machine]string{laptop: "laptop", here: "client"} {
		m.write(t, "same.jsonl", strings.ReplaceAll(session("same", "/srv/app", "the gibbon begins", "its key is "+secret, "the gibbon of the "+end), "same-2", end))
	}
	for _, args := range [][]string{{"search", "--flat", "gibbon"}, {"grep", "gibbon"}, {"show", "--all", "same"}, {"export", "--format", "md", "--all", "same"}} {
		out, errs, code := n.pigrep(t, append(args, "--on", "laptop,this", "--wait", "1m")...)
		text, wants := out, []string{"the gibbon begins", "the gibbon of the laptop", "the gibbon of the client"}
		if args[0] == "show" || args[0] == "export" {
			_, text, _ = strings.Cut(out, "\n") // the title is the first prompt
			wants = append(wants, "its key is")
		}
		for _, want := range wants {
			if strings.Count(text, want) != 1 {
				t.Errorf("%v: code %d, %s, not once %q:\n%s", args, code, errs, want, out)
			}
		}
	}
}

// Each host that fails is named with what to do, costs no other host its answer, and makes the
// answer incomplete.
func TestHostsThatFail(t *testing.T) {
	n, machines := three(t)
	machines[0].write(t, "own.jsonl", session("own", "/tmp", "a gibbon of the laptop"))
	old := filepath.Join(n.dir, "oldbin")
	testkit.Check(t, os.MkdirAll(old, 0o755))
	testkit.Check(t, os.WriteFile(filepath.Join(old, "pigrep"), []byte("#!/bin/sh\necho 'pigrep: unknown flag --protocol' >&2\nexit 2\n"), 0o755))
	n.start(t, "bare", "bare", `SetEnv "HOME=`+n.dir+`/bare" PATH=/usr/bin:/bin`)
	n.start(t, "old", "old", `SetEnv "HOME=`+n.dir+`/old" "PATH=`+old+`:/usr/bin:/bin"`)
	n.start(t, "mute", "mute", "ForceCommand sleep 100")
	stranger := n.start(t, "stranger", "stranger")
	testkit.Check(t, os.RemoveAll(filepath.Join(stranger.home, ".pi")))
	fmt.Fprintf(n.config, "Host closed\n  HostName 127.0.0.1\n  Port %d\nHost unknown\n  HostName 127.0.0.1\n  Port %d\n  UserKnownHostsFile /dev/null\nHost locked\n  HostName 127.0.0.1\n  Port %d\n  UserKnownHostsFile %s\n  IdentityFile /dev/null\n  IdentitiesOnly yes\n",
		freePort(t), stranger.port, stranger.port, n.known.Name())
	for host, want := range map[string][2]string{
		"bare":     {"there is no pigrep on its PATH", "install pigrep there"},
		"old":      {"pigrep there is too old to be asked", "update pigrep there"},
		"mute":     {"no answer in 20s", "wait longer: --wait 30s"},
		"closed":   {"Connection refused", "try: ssh closed true"},
		"unknown":  {"ssh does not know its key", "connect once by hand: ssh unknown"},
		"locked":   {"Permission denied", "log in with a key that needs no password"},
		"stranger": {"no sessions on this machine", "hosts --check"},
	} {
		t.Run(host, func(t *testing.T) {
			wait := "1m"
			if host == "mute" {
				wait = "20s"
			}
			out, errs, code := n.pigrep(t, "search", "--on", "laptop,"+host, "--wait", wait, "gibbon")
			if code != 0 || !strings.Contains(out, "a gibbon of the laptop") {
				t.Errorf("the answer of the laptop: code %d, %s", code, out)
			}
			if !strings.Contains(errs, "nothing from "+host+" in this answer: ") || !strings.Contains(errs, want[0]) || !strings.Contains(errs, "hint: ") || !strings.Contains(errs, want[1]) {
				t.Errorf("it says %s", errs)
			}
			if _, _, code := n.pigrep(t, "search", "--on", "laptop,"+host, "--wait", wait, "zorblax"); code != 2 {
				t.Errorf("nothing found, and not everywhere looked: code %d", code)
			}
		})
	}
	out, _, code := n.pigrep(t, "hosts", "--on", "laptop,bare,old", "--check", "--wait", "1m")
	if code != 2 || strings.Count(out, "\n") != 3 || !strings.Contains(out, "there is no pigrep") {
		t.Errorf("hosts: code %d\n%s", code, out)
	}
	if _, errs, code := n.pigrep(t, "search", "--on=-oProxyCommand=touch "+n.dir+"/made", "gibbon"); code != 2 || !strings.Contains(errs, "does not name a host") {
		t.Errorf("code %d, %s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "made")); err == nil {
		t.Error("a host name ran a command")
	}
}

// The login of a command serves the next ones, unless the settings of the user say where connections are kept.
// One that leads nowhere any more costs no answer.
func TestKeptConnection(t *testing.T) {
	n := newNetwork(t)
	m := n.start(t, "laptop", "laptop")
	m.write(t, "own.jsonl", session("own", "/tmp", "a gibbon of the laptop"))
	ask := func(args ...string) {
		t.Helper()
		if out, errs, code := n.pigrep(t, append(args, "--on", "laptop", "--wait", "1m")...); code != 0 || errs != "" {
			t.Fatalf("%v: code %d, %s%s", args, code, errs, out)
		}
	}
	for _, args := range [][]string{{"search", "gibbon"}, {"grep", "gibbon"}, {"sessions"}, {"show", "own"}} {
		ask(args...)
	}
	if logins, kept := m.logins.Load(), n.kept(); logins != 1 || len(kept) != 1 {
		t.Fatalf("%d logins, %d connections are kept", logins, len(kept))
	}
	socket := n.kept()[0]
	if dir, err := os.Stat(filepath.Dir(socket)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
	testkit.Check(t, n.end(socket))
	l, err := net.Listen("unix", socket) // nobody answers there
	testkit.Check(t, err)
	testkit.Check(t, l.Close())
	testkit.Check(t, os.WriteFile(socket, nil, 0o600))
	ask("search", "gibbon")
	for _, left := range n.kept() {
		_ = n.end(left)
		_ = os.Remove(left)
	}
	before := m.logins.Load()
	own := filepath.Join(n.dir, "own")
	fmt.Fprintf(n.config, "Host *\n  ControlMaster auto\n  ControlPath %s\n  ControlPersist 1m\n", own)
	ask("search", "gibbon")
	ask("search", "gibbon")
	testkit.Check(t, n.end(own))
	if logins, kept := m.logins.Load()-before, n.kept(); logins != 1 || len(kept) != 0 {
		t.Errorf("with settings of the user: %d logins, %d connections are kept", logins, len(kept))
	}
}

// A connection that is killed in the middle of an answer is said, and what had come counts.
func TestKilledConnection(t *testing.T) {
	if runtime.GOOS != "linux" { // which process of sshd serves a connection is asked there
		t.Skip("the process of a connection is found in /proc")
	}
	n := newNetwork(t)
	m := n.start(t, "laptop", "laptop")
	var prompts []string
	for i := range 20_000 {
		prompts = append(prompts, fmt.Sprintf("gibbon %d %s", i, strings.Repeat("and so on ", 40)))
	}
	m.write(t, "long.jsonl", session("long", "/tmp", prompts...))
	if _, errs, code := n.pigrep(t, "search", "--on", "laptop", "--wait", "2m", "gibbon"); code != 0 { // its index is built
		t.Fatal(errs)
	}
	cmd := n.command("grep", "--on", "laptop", "--wait", "2m", "--jsonl", "gibbon")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	testkit.Check(t, err)
	testkit.Check(t, cmd.Start())
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for _, pid := range children(m.sshd.Process.Pid) {
		testkit.Check(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	rest, err := io.ReadAll(lines)
	testkit.Check(t, err)
	_ = cmd.Wait()
	if said := errs.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, `"not everything from laptop in this answer: the connection ended in the middle of an answer`) || !strings.Contains(said, `"hint":"ask again"`) {
		t.Errorf("it says %s", said)
	}
	if n := bytes.Count(rest, []byte("\n")); n == 0 || n >= len(prompts) {
		t.Errorf("%d more lines of %d", n, len(prompts))
	}
	end := rest[max(0, len(rest)-500):]
	if !bytes.Contains(end, []byte(`"type":"summary"`)) || !bytes.Contains(end, []byte(`"complete":false`)) {
		t.Errorf("the answer ends with %s", end)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 { // something was found
		t.Errorf("exit code %d", code)
	}
}

// children returns the processes that a process has started, and those these have started.
func children(pid int) (list []int) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // it may be gone
	for _, field := range strings.Fields(string(data)) {
		if child, err := strconv.Atoi(field); err == nil {
			list = append(append(list, child), children(child)...)
		}
	}
	slices.Sort(list)
	return list
}
