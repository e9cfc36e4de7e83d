//go:build unix

package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// machine is a user's account on which pigrep runs.
type machine struct {
	t             *testing.T
	program, home string
	sessions      string
	cpu           time.Duration // of all commands
}

func newMachine(t *testing.T, sessions string) *machine {
	program := os.Getenv("PIGREP_PROGRAM")
	if program == "" {
		var err error
		if program, err = testkit.Build(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{t: t, program: program, home: t.TempDir(), sessions: sessions}
}

func (m *machine) command(args ...string) *exec.Cmd {
	if i := slices.Index(args, "--from"); i >= 0 && !slices.Contains(args, "--wait") { // other programs run too
		args = slices.Insert(slices.Clone(args), i, "--wait", "2m")
	}
	cmd := exec.Command(m.program, args...)
	cmd.Dir = m.home
	cmd.Env = append(os.Environ(), "HOME="+m.home, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "TZ=UTC", "PIGREP_INDEX_DIR=", "PIGREP_CONFIG=none")
	return cmd
}

// run returns what a command prints, and its exit code.
func (m *machine) run(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // the exit code says it
	m.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, errs, code := m.run(args...)
	if code != 0 {
		m.t.Fatalf("%q: exit code %d, %s%s", args, code, out, errs)
	}
	return out
}

// setUp names the archive, and sets it up.
func (m *machine) setUp(url string, more ...string) {
	m.must(append([]string{"remote", "add", "team", url}, more...)...)
	m.must("remote", "init", "team")
}

func (m *machine) push() string { return m.must("push", "team", "--session-dir", m.sessions) }

// documents counts the documents of an index.
func documents(t *testing.T, url, index string) int {
	t.Helper()
	resp, err := http.Post(url+"/"+index+"/_refresh", "", nil)
	if err == nil {
		resp.Body.Close()
		resp, err = http.Get(url + "/" + index + "/_count")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Count int }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Count
}

// commands are questions whose answers are the same from the archive and from this machine.
var commands = strings.Split(`sessions
sessions --named
sessions --since 2026-06-01
sessions --project atlas
sessions token
search -n 0 token auth
search wolverine --flat
search "session timeout"
search getUserName
search get_user_name
search -n 0 parse html response
search 登录
search kind:call test
search re:time(d)?out
search file:login.ts
search cmd:go
search nothingofthekind
search tokn~
search auth* -n 0
search timeout !gateway
search --kind prompt --flat -n 0
search --model sonnet timeout
search --error --scope all -n 0 failed
search --scope all --sort newest timeout
search --scope all --sort oldest --flat -n 1 timeout
grep -n token
grep time(d)?out
grep -c .
grep -i SESSION.TIM
grep nothingofthekind
grep --kind call -F go
tools
tools calls
tools calls grep
tools --tool bash --since 2026-03-01
tools commands
usage
usage --by session
show 0195562e:a1000003
show 0195562e --raw
show last --json`, "\n")

// short is the name of a session, which depends on the other sessions that are known.
var short = regexp.MustCompile(`(?m)^[^\t\n]{1,8}(\t|:)`)

// resumes is how a session is resumed, in JSON.
var resumes = regexp.MustCompile(`"resume":\{[^}]*\},`)

func testSessions(t *testing.T) string {
	sessions, err := filepath.Abs(filepath.Join("..", "..", "testdata", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

// A team's archive answers as this machine does, and pushing again changes nothing.
func TestOneNode(t *testing.T) {
	url := Start(t, 1).Nodes[0].URL
	m := newMachine(t, testSessions(t))
	m.setUp(url)
	t.Log(m.push())
	before := documents(t, url, "pigrep")
	if again := m.push(); !strings.HasPrefix(again, "nothing new for team; ") || documents(t, url, "pigrep") != before {
		t.Errorf("the second push: %s", again)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range commands {
		asksAlike(t, m, host, line)
	}
	t.Run("parts", func(t *testing.T) { inParts(t, url, host) })
	t.Run("words", func(t *testing.T) { everyWord(t, m, url, "pigrep") })
	t.Run("nowhere", func(t *testing.T) { nowhere(t, url) })
	t.Run("forged", func(t *testing.T) { forged(t, url) })
	t.Run("clocks", func(t *testing.T) { clocks(t, url) })
	t.Run("cases", func(t *testing.T) { everyCase(t, m, host) })
	if real := testkit.Fixtures(); real != "" {
		t.Run("real", func(t *testing.T) {
			m := newMachine(t, real)
			m.setUp(url, "--prefix", "real")
			t.Log(m.must("push", "team", "--reveal", "--yes", "--session-dir", m.sessions)) // else words that look like secrets are not there
			everyWord(t, m, url, "real")
		})
	}
	t.Run("agents", func(t *testing.T) { agentsAsk(t, m, host) })
	t.Run("faces", func(t *testing.T) { facesShow(t, url) })
	t.Run("merged", func(t *testing.T) {
		both := m.must("sessions", "--from", "team,this", "--session-dir", m.sessions)
		if here := m.must("sessions", "--session-dir", m.sessions); both != here {
			t.Errorf("sessions that both have are\n%s, want\n%s", both, here)
		}
	})
	t.Run("machines", func(t *testing.T) { // with the same files do not overwrite each other
		other := newMachine(t, m.sessions)
		other.setUp(url, "--as", "other")
		other.push()
		if n := documents(t, url, "pigrep"); n != 2*before {
			t.Errorf("%d documents, want %d", n, 2*before)
		}
	})
	t.Run("forget", func(t *testing.T) {
		m.must("remote", "forget", "team", "--yes", "0195562e-9a20-7c11-8f3a-5d2b6c7e8f90")
		if out, _, code := m.run("show", "0195562e", "--from", "team"); code == 0 {
			t.Errorf("it is still there: %s", out)
		}
		m.must("remote", "forget", "team", "--yes", "--before", "yesterday")
		if out, _, code := m.run("sessions", "--from", "team"); code != 1 {
			t.Errorf("exit code %d, left are %s", code, out)
		}
	})
	t.Run("not set up", func(t *testing.T) {
		other := newMachine(t, m.sessions)
		other.must("remote", "add", "team", url, "--prefix", "unset")
		for _, args := range [][]string{{"push", "team", "--session-dir", m.sessions}, {"search", "--from", "team", "token"}, {"remote", "status", "team"}} {
			if _, errs, code := other.run(args...); code != 2 || !strings.Contains(errs, "hint: set it up once: pigrep remote init team") {
				t.Errorf("%q: exit code %d, %s", args, code, errs)
			}
		}
	})
	t.Run("version", func(t *testing.T) {
		put(t, url+"/_index_template/pigrep", `{"index_patterns":["pigrep-v9-*"],"version":9}`)
		for _, args := range [][]string{{"push", "team", "--session-dir", m.sessions}, {"remote", "init", "team"}, {"search", "--from", "team", "token"}} {
			if _, errs, code := m.run(args...); code != 2 || !strings.Contains(errs, "has version 9, this pigrep has 2") {
				t.Errorf("%q: exit code %d, %s", args, code, errs)
			}
		}
	})
}

// asksAlike asks the archive and this machine a question, whose answers are the same.
func asksAlike(t *testing.T, m *machine, host, line string) {
	t.Helper()
	args := strings.Fields(line)
	if before, phrase, ok := strings.Cut(line, ` "`); ok {
		args = append(strings.Fields(before), `"`+phrase)
	}
	there, errs, code := m.run(append(args, "--from", "team")...)
	here, _, want := m.run(append(args, "--session-dir", m.sessions)...)
	there = unnamed(there, host, m)
	here = resumes.ReplaceAllString(here, "") // what is elsewhere is not resumed here
	if args[0] == "sessions" {
		there, here = short.ReplaceAllString(there, ""), short.ReplaceAllString(here, "")
	}
	if args[0] == "search" { // its order comes from the statistics of what was sent
		there, here = sorted(there), sorted(here)
	}
	if there != here || code != want {
		t.Errorf("%s: exit code %d, %s\n%.3000s, want %d\n%.3000s", line, code, errs, there, want, here)
	}
}

// inParts asks about more sessions than one part of an archive has: each counts once, and lists are in order.
func inParts(t *testing.T, url, host string) {
	dir := t.TempDir()
	for i := range 1100 {
		begun := time.Date(2026, 3, 2, 9, 0, i, 0, time.UTC)
		at := func(seconds int) string {
			return begun.Add(time.Duration(seconds) * time.Second).Format("2006-01-02T15:04:05.000Z")
		}
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"0%07d-part","timestamp":%q,"cwd":"/p/%d"}
{"type":"message","id":"a%[1]d","parentId":null,"timestamp":%[4]q,"message":{"role":"user","content":[{"type":"text","text":"zebra number%[1]d"}]}}
{"type":"message","id":"b%[1]d","parentId":"a%[1]d","timestamp":%[5]q,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c%[1]d","name":"tool%[3]d","arguments":{"command":"ls %[1]d"}}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":%[1]d,"output":2,"cost":{"total":0.01}}}}
{"type":"message","id":"d%[1]d","parentId":"b%[1]d","timestamp":%[6]q,"message":{"role":"toolResult","toolCallId":"c%[1]d","toolName":"tool%[3]d","content":[{"type":"text","text":"done"}],"isError":%[7]t}}
`, i, at(0), i%7, at(1), at(2), at(3+i%5), i%3 == 0)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, dir)
	m.setUp(url, "--prefix", "parts")
	m.push()
	for _, line := range strings.Split(`tools
tools calls -n 1050
tools calls tool3 -n 5
usage --by model
usage --by project
grep -c zebra
grep --sort newest --limit 1030 zebra
grep -l number7
search -n 0 --flat zebra
search -n 0 --flat number77
sessions -n 0 --project 3`, "\n") {
		asksAlike(t, m, host, line)
	}
}

// unnamed leaves out of an answer what only answers of several machines have: the name of the machine.
func unnamed(text, host string, m *machine) string {
	return strings.NewReplacer(host+":"+m.sessions, m.sessions, " · "+host+" ", " · ", `"host":"`+host+`",`, "").Replace(text)
}

func sorted(lines string) string {
	list := strings.Split(lines, "\n")
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func put(t *testing.T, url, body string) { request(t, http.MethodPut, url, body) }

func post(t *testing.T, url, body string) string { return request(t, http.MethodPost, url, body) }

func get(t *testing.T, url string) string { return request(t, http.MethodGet, url, "") }

// request asks an engine, and returns its answer.
func request(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v, %s", method, url, resp.Status, err, text)
	}
	return string(text)
}
