//go:build unix

package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pigrep/lab/corpus"
)

// EnvFigures is how many MB of made sessions TestFigures pushes and asks; without it there are no
// figures.
const EnvFigures = "PIGREP_FIGURES"

// asked are questions of people and agents; the last one finds little.
var asked = []string{"search timeout", "search connection refused", `search "exit code 1"`, "search getUserName", "search -n 0 --flat migration", "sessions", "sessions retry", "grep -c panic"}

// TestFigures measures what docs/teams.md says of pushing and asking, on one node and on three.
func TestFigures(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv(EnvFigures))
	if mb == 0 { // it takes half an hour and promises nothing
		t.Skipf("a measurement: $%s says how many MB", EnvFigures)
	}
	sessions := t.TempDir()
	stats, err := corpus.Generate(sessions, corpus.Options{Seed: 1, Bytes: int64(mb) << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", stats)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			node := Start(t, nodes).Nodes[0].URL
			bodies := recorded(t, node, sessions)
			m := newMachine(t, sessions)
			m.must("index", "--session-dir", sessions)
			var ours, bare []time.Duration
			for round := range 3 { // in turn, because other programs run on this machine too
				name := fmt.Sprintf("r%d", round)
				m.setUp(node, "--prefix", name)
				begin := time.Now()
				m.push()
				ours = append(ours, time.Since(begin))
				other := fmt.Sprintf("b%d", round)
				newMachine(t, sessions).setUp(node, "--prefix", other)
				bare = append(bare, replay(t, node, other, bodies))
			}
			slices.Sort(ours)
			slices.Sort(bare)
			t.Logf("pushed %d MB in %s, a bare client in %s: %.2f of its rate", mb, ours, bare, bare[1].Seconds()/ours[1].Seconds())
			m.must("remote", "add", "team", node, "--prefix", "r0")
			post(t, node+"/r0/_forcemerge?max_num_segments=1", "")
			t.Logf("%.2f bytes on disk for each of a session", sizeOf(t, node, "r0-v2-*")/float64(mb<<20))
			for _, line := range asked {
				args := strings.Fields(line)
				there, here := times(m, append(args, "--from", "team")), times(m, append(args, "--session-dir", sessions))
				t.Logf("%-32s p50 %s p95 %s; here %s %s", line, there[10], there[18], here[10], here[18])
			}
		})
	}
}

// times runs a command twenty times and returns how long it took, sorted.
func times(m *machine, args []string) (list []time.Duration) {
	for range 20 {
		begin := time.Now()
		m.run(args...)
		list = append(list, time.Since(begin).Round(time.Millisecond))
	}
	slices.Sort(list)
	return list
}

// recorded pushes through a proxy, and returns the bodies of _bulk and what they name their index.
func recorded(t *testing.T, node, sessions string) (bodies [][]byte) {
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "_bulk") {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	m := newMachine(t, sessions)
	m.setUp(s.URL, "--prefix", "recorded")
	m.push()
	return bodies
}

// replay sends bodies to the indices of another prefix, one after the other.
func replay(t *testing.T, node, prefix string, bodies [][]byte) (took time.Duration) {
	made := make(map[string]bool)
	for _, body := range bodies {
		body = bytes.ReplaceAll(body, []byte(`{"index":{"_index":"recorded-`), []byte(`{"index":{"_index":"`+prefix+`-`))
		for _, line := range bytes.Split(body, []byte("\n")) { // an engine need not create indices by itself
			var action struct {
				Index struct {
					Name string `json:"_index"`
				} `json:"index"`
			}
			if bytes.HasPrefix(line, []byte(`{"index":`)) && json.Unmarshal(line, &action) == nil && !made[action.Index.Name] {
				made[action.Index.Name] = true
				if !strings.HasSuffix(action.Index.Name, "-sessions-v2") {
					put(t, node+"/"+action.Index.Name, `{}`)
				}
			}
		}
		begin := time.Now()
		if answer := post(t, node+"/_bulk", string(body)); !strings.Contains(answer, `"errors":false`) {
			t.Fatalf("%.300s", answer)
		}
		took += time.Since(begin)
	}
	return took
}

func post(t *testing.T, url, body string) string {
	resp, err := http.Post(url, "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sizeOf returns the bytes of indices, without their copies.
func sizeOf(t *testing.T, node, indices string) (sum float64) {
	resp, err := http.Get(node + "/_cat/indices/" + indices + "?bytes=b&h=pri.store.size")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for _, n := range strings.Fields(string(text)) {
		size, _ := strconv.ParseFloat(n, 64)
		sum += size
	}
	return sum
}
