//go:build unix

package opensearch

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// testTeamPage serves an archive to people that a proxy names, in which each one sees what they may see. Nobody sees
// the sessions of the machine that serves it.
func testTeamPage(t *testing.T, m *machine) {
	cmd := m.command("web", "--quiet", "--from", "team", "--listen", "127.0.0.1:0", "--login-header", "X-Forwarded-User")
	cmd.Env, cmd.Stderr = append(cmd.Env, "PIGREP_PROXY_SECRET=known to the proxy"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was interrupted
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page := func(login, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, strings.TrimSpace(address)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Pigrep-Secret", "known to the proxy")
		req.Header.Set("X-Forwarded-User", login)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	for _, path := range []string{"/?q=harbour", "/sessions", "/audit", "/usage"} {
		for _, login := range []string{"ann", "bob", "ann"} {
			code, text := page(login, path)
			if code != http.StatusOK || strings.Contains(text, "atlas") != (login == "ann") && path != "/usage" || strings.Contains(text, m.sessions) {
				t.Errorf("%s asks for %s: %d\n%s", login, path, code, text)
			}
		}
		for _, login := range []string{"root", "carl", "nobody"} { // who may read nothing, who dora may not ask for, and who is not known
			if _, text := page(login, path); strings.Contains(text, "atlas") || strings.Contains(text, "parser-lab") {
				t.Errorf("%s asks for %s:\n%s", login, path, text)
			}
		}
	}
	_, list := page("ann", "/sessions")
	_, name, _ := strings.Cut(list, `href="/session/0195562e`)
	name, _, _ = strings.Cut(name, `"`)
	if code, text := page("ann", "/session/0195562e"+name); name == "" || code != http.StatusOK || !strings.Contains(text, "harbour") {
		t.Errorf("her session %q: %d\n%s", name, code, text)
	}
	if code, text := page("bob", "/session/0195562e"+name); code == http.StatusOK || strings.Contains(text, "harbour") {
		t.Errorf("a session that he may not see: %d\n%s", code, text)
	}
}
