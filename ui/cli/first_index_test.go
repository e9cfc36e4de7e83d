package cli

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/index"
	"pigrep/ui/cli/app"
)

// anotherBuilds makes process 4711 build the first index, and never get further.
func anotherBuilds(t *testing.T, dir string) *index.Writer {
	t.Helper()
	w, err := index.OpenWriter(dir, index.WriterOptions{PID: 4711})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Announce(`{"FilesTotal":9,"Bytes":30,"Committed":30,"BytesTotal":100}`); err != nil {
		t.Fatal(err)
	}
	return w
}

// A call during the first build by another process says how far that is. A later one is
// answered in full.
func TestMCPWhileAnotherBuilds(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	writeSessions(t, from, 120) // more than is indexed in memory
	g := newAgent(t, from)
	g.x.Patience = 0
	w := anotherBuilds(t, g.IndexDir)
	if text := g.fails("search", `{"query":"needle7"}`); !strings.Contains(text, "process 4711 indexes 30 B of 100 B") {
		t.Errorf("while it is built: %q", text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		r := g.result("search", `{"query":"needle7"}`)
		text := r.Content[0].(*sdk.TextContent).Text
		return !r.IsError && strings.Contains(text, "needle7") && !strings.Contains(text, "Not complete")
	})
}

// The page shows how far another process is that builds the first index, and is loaded again
// until there is one.
func TestWebWhileAnotherBuilds(t *testing.T) {
	t.Parallel()
	var w *index.Writer
	address, get, end := running(t, func(a *app.App) { w = anotherBuilds(t, filepath.Join(a.Home, "index")) })
	var code int
	var body string
	waitFor(t, func() bool {
		code, body = get("/?q=token")
		return strings.Contains(body, "30% of the session files are indexed")
	})
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "There is no index yet") {
		t.Errorf("while it is built: %d %s", code, body)
	}
	r, err := http.NewRequest(http.MethodGet, address[:strings.Index(address, "/enter")], nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(newJar(t, address))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.Header.Get("Refresh") == "" {
		t.Errorf("the page is not loaded again: %d %v", answer.StatusCode, answer.Header)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		code, body = get("/?q=token")
		return code == http.StatusOK && strings.Contains(body, "hits in")
	})
	end()
}
