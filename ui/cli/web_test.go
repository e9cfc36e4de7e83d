package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/system"
	"pigrep/ui/web"
)

// A port that is taken is an error that says by whom, where the system knows, and names
// one that is free.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if _, err := listen(70000); err == nil || !strings.Contains(err.Error(), "there is no port 70000") {
		t.Errorf("listen on port 70000: %v", err)
	}
	_, err = listen(port)
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || !strings.Contains(p.Hint, "--port ") || strings.HasSuffix(p.Hint, strconv.Itoa(port)) {
		t.Fatalf("listen on a port that is taken: %v", err)
	}
	if runtime.GOOS == "linux" && !strings.HasSuffix(p.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the error is %q", p.Error())
	}
	if system.OfAnotherUser(port) {
		t.Error("a socket of this process is of another user")
	}
}

// running is `pigrep web` that runs, and what it has printed.
func running(t *testing.T, change func(*app.App), args ...string) (address string, get func(path string) (int, string), end func() int) {
	t.Helper()
	a, _, _ := testApp(t)
	a.Now = time.Now
	root := filepath.Join(a.Home, "sessions")
	if err := os.CopyFS(root, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(a)
	}
	printed := make(chan string, 1)
	a.Streams.Out = writerFunc(func(b []byte) (int, error) {
		printed <- strings.TrimSpace(string(b))
		return len(b), nil
	})
	a.Streams.Err = &bytes.Buffer{}
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		defer close(code)
		code <- Run(ctx, a, append([]string{"web", "--no-open", "--session-dir", root}, args...))
	}()
	t.Cleanup(func() {
		stop()
		<-code // until then it may write to its index
	})
	select {
	case address = <-printed:
	case n := <-code:
		t.Fatalf("pigrep web ended with %d: %s", n, a.Streams.Err)
	}
	jar := newJar(t, address)
	get = func(path string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, address[:strings.Index(address, "/enter")]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(jar)
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		var b bytes.Buffer
		if _, err := b.ReadFrom(w.Body); err != nil {
			t.Fatal(err)
		}
		return w.StatusCode, b.String()
	}
	return address, get, func() int { stop(); return <-code }
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// newJar returns the cookie of a server.
func newJar(t *testing.T, address string) *http.Cookie {
	t.Helper()
	w, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if len(w.Cookies()) != 1 {
		t.Fatalf("%s gives %d cookies", address, len(w.Cookies()))
	}
	return w.Cookies()[0]
}

// The command serves what it finds, with the filters of its flags, and ends when it is
// interrupted.
func TestWebCommand(t *testing.T) {
	address, get, end := running(t, nil, "--kind", "prompt", "token")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(address, "q%3Dtoken%2Bkind%253Aprompt") {
		t.Errorf("the address is %s", address)
	}
	var body string
	waitFor(t, func() bool { // until it has indexed the files, of which the first ones already have hits
		_, sessions := get("/sessions")
		_, body = get("/?q=token+kind:prompt")
		return strings.Contains(sessions, "Seedling census") && strings.Contains(body, "2 hits in 2 sessions")
	})
	if !strings.Contains(body, "wolverine strategy") {
		t.Errorf("the page lacks the hit: %s", body)
	}
	const session = "/session/0195562e-9a20-7c11-8f3a-5d2b6c7e8f90"
	for _, c := range []struct {
		path, want string
		code       int
	}{
		{session, "Login timeout investigation", 200},
		{session + "?entry=a1000006", `id="e-a1000006"`, 200},
		{session + "/grown?from=5", "new entries · show", 200},
		{session + "/grown?from=999", "", 204},
		{session + "/grown?from=-1&leaf=nothing", "There is no entry nothing", 404},
		{session + "/grown", "no such page", 404},
		{"/session/nothing/grown?from=1", "There is no session nothing", 404},
		{session + "?leaf=nothing", "There is no entry nothing", 404},
		{session + "/export/md", "Login timeout investigation", 200},
		{session + "/export/html", "Content-Security-Policy", 200},
		{session + "/export/exe", "no such page", 404},
		{session + "/output/5/0", `<pre tabindex="0"><code>`, 200},
		{session + "/output/5/99", "no such page", 404},
		{session + "/output/-1/0", "no such page", 404},
		{session + "/output/999999/0", "no such page", 404},
		{"/session/nothing", "There is no session nothing", 404},
		{"/session/%2Fetc%2Fpasswd", "no such page", 404},
		{"/session/etc%2Fpasswd", "There is no session", 404},
		{"/sessions?named=1", "Seedling census", 200},
		{"/sessions?since=whenever", "since", 200},
		{"/?scope=nothing", "unknown scope", 400},
		{"/?q=%22%22", "Nothing", 200},
		{"/?q=-", "Nothing", 200},
		{"/status", "generation", 200},
	} {
		code, body := get(c.path)
		if code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, want %d with %q: %s", c.path, code, c.code, c.want, body)
		}
	}
	if code := end(); code != problem.ExitInterrupted {
		t.Errorf("interrupted, it ends with %d", code)
	}
}

// If no browser can be opened, the address comes after a line that says what to do; over ssh, the
// command that forwards the port.
func TestHowToOpen(t *testing.T) {
	for _, test := range []struct{ connection, want string }{
		{"", "there is no desktop to open a browser on: open this address yourself; from another machine, forward the port first: ssh -L 4711:127.0.0.1:4711 HOST"},
		{"10.0.0.7 51000 10.0.0.2 22", "open this address in the browser of your own machine; from another machine, forward the port first: ssh -L 4711:127.0.0.1:4711 10.0.0.2"},
		{"10.0.0.7 51000 10.0.0.2 2200", "open this address in the browser of your own machine; from another machine, forward the port first: ssh -L 4711:127.0.0.1:4711 -p 2200 10.0.0.2"},
	} {
		a, _, _ := testApp(t)
		a.Getenv = func(name string) string {
			return map[string]string{"SSH_CONNECTION": test.connection, "DISPLAY": strings.Repeat(":0", min(len(test.connection), 1))}[name]
		}
		if got := howToOpen(a, 4711); got != test.want || hasDesktop(a) {
			t.Errorf("%q: %q, want %q", test.connection, got, test.want)
		}
	}
}

// A page with one branch of a conversation learns of the entries of that branch alone.
func TestWebGrowingBranch(t *testing.T) {
	entry := func(id, parent string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"unicorn"}}`, id, parent)
	}
	var file string
	_, get, end := running(t, func(a *app.App) {
		file = filepath.Join(a.Home, "sessions", "s1.jsonl")
		lines := []string{`{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`, entry("root", ""), entry("left", "root"), entry("right", "root")}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	defer end()
	name := ""
	waitFor(t, func() bool { // until it has indexed the file
		_, body := get("/?q=unicorn")
		_, rest, _ := strings.Cut(body, `href="/session/s1`)
		name, _, _ = strings.Cut(rest, "?")
		return rest != ""
	})
	grown := "/session/s1" + name + "/grown?from=3&leaf="
	testkit.Append(t, file, entry("new1", "left")+"\n")
	testkit.Append(t, file, entry("new2", "new1")+"\n")
	waitFor(t, func() bool { // until it has indexed the entries
		code, body := get(grown + "left")
		return code == 200 && strings.Contains(body, "2 new entries · show") && strings.Contains(body, "new1")
	})
	if code, body := get(grown + "right"); code != 204 {
		t.Errorf("the other branch: %d: %s", code, body)
	}
}

// What is masked in other answers is masked on pages.
func TestWebRedacts(t *testing.T) {
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a" // put together, so that scanners do not take it for one
	write := func(a *app.App) {
		line := `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n" +
			`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"unicorn ` + secret + `"}}` + "\n"
		if err := os.WriteFile(filepath.Join(a.Home, "sessions", "s1.jsonl"), []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pages := []string{"/?q=unicorn", "/sessions?q=unicorn", "/session/s1", "/session/s1?q=unicorn", "/session/s1/export/md", "/session/s1/output/0/0"}
	for _, masked := range []bool{false, true} {
		var args []string
		if masked {
			args = append(args, "--redact")
		}
		_, get, end := running(t, write, args...)
		waitFor(t, func() bool { // until it has indexed the files
			_, body := get("/?q=unicorn")
			return strings.Contains(body, "<mark>unicorn</mark>")
		})
		for _, p := range pages {
			if code, body := get(p); code != 200 || strings.Contains(body, secret) == masked {
				t.Errorf("masked %v: %s: %d: %s", masked, p, code, body)
			}
		}
		end()
	}
}

// A session whose path has what looks like a secret is linked from rows that mask it.
func TestWebMaskedPath(t *testing.T) {
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a" // put together, so that scanners do not take it for one
	_, get, end := running(t, func(a *app.App) {
		line := `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n" +
			`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"unicorn"}}` + "\n" +
			`{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","provider":"p","model":"m","usage":{"input":987654,"output":1,"totalTokens":987655,"cost":{"total":1}},"content":[{"type":"text","text":"yes"}]}}` + "\n"
		dir := filepath.Join(a.Home, "sessions", secret)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "s1.jsonl"), []byte(line), 0o644)); err != nil {
			t.Fatal(err)
		}
	}, "--redact")
	for _, page := range []string{"/usage?model=m", "/sessions?q=unicorn", "/?q=unicorn"} {
		link := ""
		waitFor(t, func() bool { // until it has indexed the files
			_, body := get(page)
			if strings.Contains(body, secret) {
				t.Fatalf("%s has the secret", page)
			}
			_, rest, _ := strings.Cut(body, `href="/session/`)
			link, _, _ = strings.Cut(rest, `"`)
			return link != ""
		})
		if code, body := get("/session/" + link); code != 200 || !strings.Contains(body, "unicorn") || strings.Contains(body, secret) {
			t.Errorf("%s links to %s: %d", page, link, code)
		}
	}
	end()
}

// Without an index, or with a damaged one, pages say what the command line would.
func TestWebWithoutIndex(t *testing.T) {
	_, get, end := running(t, nil, "--no-update")
	for _, p := range []string{"/", "/?q=token", "/sessions"} {
		if code, body := get(p); code != http.StatusServiceUnavailable || !strings.Contains(body, "no index yet.") {
			t.Errorf("%s: %d: %s", p, code, body)
		}
	}
	if code, body := get("/status"); code != 200 || !strings.Contains(body, "not built yet") {
		t.Errorf("the status: %d: %s", code, body)
	}
	end()
	damage := func(a *app.App) {
		if code := Run(t.Context(), a, []string{"index", "--session-dir", filepath.Join(a.Home, "sessions")}); code != 0 {
			t.Fatal("cannot build an index")
		}
		if err := os.WriteFile(filepath.Join(a.Home, "index", "current"), bytes.Repeat([]byte{7}, 19), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, get, end = running(t, damage, "--no-update")
	if code, body := get("/?q=token"); code < 500 || !strings.Contains(body, "index") {
		t.Errorf("a damaged index: %d: %s", code, body)
	}
	end()
}

// Errors of commands become errors of pages with their hints.
func TestPageError(t *testing.T) {
	err := pageError(&problem.Error{Code: conversation.CodeNotFound, Message: "x was deleted", Hint: "list the others"})
	want := &web.Error{Status: http.StatusNotFound, Message: "x was deleted", Hint: "list the others"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other := errors.New("other"); pageError(other) != other {
		t.Error("another error is changed")
	}
}
