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
}

func newMachine(t *testing.T, sessions string) *machine {
	program := os.Getenv("PIGREP_PROGRAM")
	if program == "" {
		var err error
		if program, err = testkit.Build(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{t, program, t.TempDir(), sessions}
}

func (m *machine) command(args ...string) *exec.Cmd {
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
search parse html response
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
grep -n token
grep time(d)?out
grep -c .
grep -i SESSION.TIM
grep nothingofthekind
grep --kind call -F go
tools
tools calls
tools commands
usage
usage --by session
show 0195562e:a1000003
show 0195562e --raw
show last --json`, "\n")

// short is the name of a session, which depends on the other sessions that are known.
var short = regexp.MustCompile(`(?m)^[^\t\n]{1,8}(\t|:)`)

// A team's archive answers as this machine does, and pushing again changes nothing.
func TestOneNode(t *testing.T) {
	url := Start(t, 1).Nodes[0].URL
	sessions, err := filepath.Abs(filepath.Join("..", "..", "testdata", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, sessions)
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
		args := strings.Fields(line)
		if before, phrase, ok := strings.Cut(line, ` "`); ok {
			args = append(strings.Fields(before), `"`+phrase)
		}
		there, errs, code := m.run(append(args, "--from", "team")...)
		here, _, want := m.run(append(args, "--session-dir", m.sessions)...)
		there = strings.ReplaceAll(there, host+":"+m.sessions, m.sessions)
		if args[0] == "sessions" {
			there, here = short.ReplaceAllString(there, ""), short.ReplaceAllString(here, "")
		}
		if there != here || code != want {
			t.Errorf("%s: exit code %d, %s\n%s, want %d\n%s", line, code, errs, there, want, here)
		}
	}
	t.Run("words", func(t *testing.T) { everyWord(t, m, host) })
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
		m.must("remote", "forget", "team", "0195562e-9a20-7c11-8f3a-5d2b6c7e8f90")
		if out, _, code := m.run("show", "0195562e", "--from", "team"); code == 0 {
			t.Errorf("it is still there: %s", out)
		}
		m.must("remote", "forget", "team", "--before", "2100-01-01")
		if n := documents(t, url, "pigrep-sessions-v1"); n > 5 { // lines about pushes
			t.Errorf("%d documents are left", n)
		}
	})
	t.Run("version", func(t *testing.T) {
		put(t, url+"/_index_template/pigrep", `{"index_patterns":["pigrep-v9-*"],"version":9}`)
		for _, args := range [][]string{{"push", "team", "--session-dir", m.sessions}, {"remote", "init", "team"}, {"search", "--from", "team", "token"}} {
			if _, errs, code := m.run(args...); code != 2 || !strings.Contains(errs, "has version 9, this pigrep has 1") {
				t.Errorf("%q: exit code %d, %s", args, code, errs)
			}
		}
	})
}

func put(t *testing.T, url, body string) {
	req, err := http.NewRequest(http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
}

// everyWord looks for the words of all prompts and replies.
func everyWord(t *testing.T, m *machine, host string) {
	var words []string
	out := m.must("grep", "-h", "--kind", "prompt,reply", "--session-dir", m.sessions, ".")
	for _, word := range regexp.MustCompile(`[\pL\pN_]{3,}`).FindAllString(out, -1) {
		if word = strings.ToLower(word); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	step := 1
	if !testkit.Long() {
		step = max(1, len(words)/60)
	}
	for i := 0; i < len(words); i += step {
		args := []string{"sessions", "--scope", "all", "-n", "0", "--null", `"` + words[i] + `"`} // without typing errors, which an archive does not guess
		there, _, _ := m.run(append(args, "--from", "team")...)
		here, _, _ := m.run(append(args, "--session-dir", m.sessions)...)
		sets := [2][]string{strings.Split(strings.ReplaceAll(there, host+":", ""), "\x00"), strings.Split(here, "\x00")}
		slices.Sort(sets[0])
		slices.Sort(sets[1])
		if !slices.Equal(sets[0], sets[1]) {
			t.Errorf("%s is in %d sessions, want %d", words[i], len(sets[0])-1, len(sets[1])-1)
		}
	}
}

// A push loses and doubles nothing if it is killed, and if a node is, at any moment.
func TestThreeNodes(t *testing.T) {
	c := Start(t, 3)
	sessions := t.TempDir()
	count := manySessions(t, sessions)
	m := newMachine(t, sessions)
	m.setUp(c.Nodes[1].URL)
	for i := range 3 { // killed after more and more was sent
		cmd := m.command("push", "team", "--session-dir", sessions)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitDocuments(t, c.Nodes[1].URL, (i+1)*count/5)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	cmd := m.command("push", "team", "--session-dir", sessions)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.Nodes[0].Kill()
	if err := cmd.Wait(); err != nil { // it gave up; the next one goes on
		t.Logf("%v: %s", err, &out)
	}
	t.Log(m.push())
	if n := documents(t, c.Nodes[1].URL, "pigrep"); n != count {
		t.Errorf("%d documents, want %d", n, count)
	}
	if again := m.push(); !strings.HasPrefix(again, "nothing new") {
		t.Errorf("the next push: %s", again)
	}
}

// awaitDocuments waits until an archive has so many documents. A server tells nobody when that
// is so: it is asked again and again.
func awaitDocuments(t *testing.T, url string, want int) {
	for deadline := time.Now().Add(startTime); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url + "/pigrep/_count?ignore_unavailable=true")
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Count int }
		_ = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if answer.Count >= want {
			return
		}
		if resp, err = http.Post(url+"/pigrep/_refresh?ignore_unavailable=true", "", nil); err == nil {
			resp.Body.Close()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d documents, want %d", answer.Count, want)
		}
	}
}

// manySessions writes sessions, and returns how many documents they are.
func manySessions(t *testing.T, dir string) (documents int) {
	for s := range 20 {
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"session","version":3,"id":"many-%d","timestamp":"2026-03-%02dT09:15:00.000Z","cwd":"/app"}`+"\n", s, s+1)
		for e := range 500 {
			fmt.Fprintf(&b, `{"type":"message","id":"e%d","parentId":null,"timestamp":"2026-03-%02dT09:20:00.000Z","message":{"role":"user","content":%q}}`+"\n", e, s+1, strings.Repeat(fmt.Sprintf("word%d of session%d ", e, s), 60))
		}
		documents += 501
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("many-%d.jsonl", s)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return documents
}
