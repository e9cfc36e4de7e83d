package cli

import (
	"bytes"
	"context"
	"errors"
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

	"pigrep/internal/ui/web"
)

func TestParseSocket(t *testing.T) {
	for _, c := range []struct {
		line string
		want socket
		ok   bool
	}{
		{"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0", socket{8080, true, 1000, "12345"}, true},
		{"   1: 00000000000000000000000001000000:0050 0000:0000 01 0:0 0:0 0  0 0 9 1", socket{80, false, 0, "9"}, true},
		{"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", socket{}, false},
		{"", socket{}, false},
		{"a b c d e f g h i j", socket{}, false},
	} {
		got, ok := parseSocket(c.line)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("parseSocket(%q) = %+v, %v, want %+v, %v", c.line, got, ok, c.want, c.ok)
		}
	}
}

// A port that is taken is an error that says by whom, where the system knows, and names
// one that is free.
func TestPortIsTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	a, _, _ := testApp(t)
	if _, err := a.listen(70000); err == nil || !strings.Contains(err.Error(), "there is no port 70000") {
		t.Errorf("listen on port 70000: %v", err)
	}
	_, err = a.listen(port)
	p, ok := errors.AsType[*problem](err)
	if !ok || !strings.Contains(p.hint, "--port ") || strings.HasSuffix(p.hint, strconv.Itoa(port)) {
		t.Fatalf("listen on a port that is taken: %v", err)
	}
	if runtime.GOOS == "linux" && !strings.HasSuffix(p.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the error is %q", p.Error())
	}
	if ofAnotherUser(port) {
		t.Error("a socket of this process is of another user")
	}
}

// running is `pigrep web` that runs, and what it has printed.
func running(t *testing.T, change func(*App), args ...string) (address string, get func(path string) (int, string), end func() int) {
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
	code := make(chan int)
	go func() {
		code <- a.Run(ctx, append([]string{"web", "--no-open", "--session-dir", root}, args...))
	}()
	t.Cleanup(stop)
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
	waitFor(t, func() bool { // until it has indexed the files
		_, body = get("/?q=token+kind:prompt")
		return strings.Contains(body, "2 hits in 2 sessions")
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
		{session + "?leaf=nothing", "There is no entry nothing", 404},
		{session + "/export/md", "Login timeout investigation", 200},
		{session + "/export/html", "Content-Security-Policy", 200},
		{session + "/export/exe", "no such page", 404},
		{session + "/output/5/0", "<pre><code>", 200},
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
	if code := end(); code != exitInterrupted {
		t.Errorf("interrupted, it ends with %d", code)
	}
}

// What is masked in other answers is masked on pages.
func TestWebRedacts(t *testing.T) {
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a" // put together, so that scanners do not take it for one
	write := func(a *App) {
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
	damage := func(a *App) {
		if code := a.Run(t.Context(), []string{"index", "--session-dir", filepath.Join(a.Home, "sessions")}); code != 0 {
			t.Fatal("cannot build an index")
		}
		files, _ := filepath.Glob(filepath.Join(a.Home, "index", "*")) // the pattern is valid
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
				if err := os.WriteFile(f, bytes.Repeat([]byte{7}, int(info.Size())), 0o600); err != nil {
					t.Fatal(err)
				}
			}
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
	err := pageError(&problem{code: codeNotFound, message: "x was deleted", hint: "list the others"})
	want := &web.Error{Status: http.StatusNotFound, Message: "x was deleted", Hint: "list the others"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other := errors.New("other"); pageError(other) != other {
		t.Error("another error is changed")
	}
}
