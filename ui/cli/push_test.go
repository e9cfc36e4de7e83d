package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pigrep/remote/opensearch"
	"pigrep/ui/cli/asking"
)

// A watch of sessions in which nothing happens asks the archive nothing, however often it looks: a team
// may have thousands.
func TestWatchAsksForChangesOnly(t *testing.T) {
	t.Parallel()
	b := newTestBackend(t)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if in, err = gzip.NewReader(r.Body); err != nil {
				t.Error(err)
				return
			}
		}
		body, _ := io.ReadAll(in) // a request that is cut has fewer items
		switch {
		case strings.HasPrefix(r.URL.Path, "/_index_template"):
			fmt.Fprint(w, `{"index_templates":[{"name":"pigrep","index_template":{"version":2}},{"name":"pigrep-sessions","index_template":{"version":2}}]}`)
		case r.URL.Path == "/_bulk":
			items := bytes.Count(body, []byte("\n")) / 2
			fmt.Fprintf(w, `{"items":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"index":{"status":201}},`, items), ","))
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(server.Close)
	archive, err := opensearch.Open(opensearch.Config{Name: "team", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	b.App.Out = bufio.NewWriter(io.Discard)
	o := &pushOptions{name: "team", Watch: true}
	out, err := o.Printer(b.App)
	if err != nil {
		t.Fatal(err)
	}
	q := &asking.Command{Location: b.Location, Out: out}
	memory := &opensearch.Memory{}
	asked := func() int64 {
		t.Helper()
		before := requests.Load()
		if err := o.pushOnce(t.Context(), q, archive, opensearch.Push{Host: "laptop", Adapter: b.Agents, Files: q.Disk(), Now: b.App.Now, Memory: memory}); err != nil {
			t.Fatal(err)
		}
		return requests.Load() - before
	}
	if n := asked(); n < 4 {
		t.Errorf("the first look asks %d times", n)
	}
	if n := asked(); n > 0 {
		t.Errorf("the second look asks %d times", n)
	}
	path := filepath.Join(b.Roots[0].Path, "new.jsonl")
	if err := os.WriteFile(path, []byte(`{"type":"session","version":3,"id":"new","timestamp":"2026-03-02T09:15:00.000Z","cwd":"/app"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := asked(); n != 2 {
		t.Errorf("after a change it asks %d times", n)
	}
}
