//go:build unix

package opensearch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A push loses and doubles nothing if it is killed, and if a node is, even the one that manages
// the cluster, at any moment.
func TestThreeNodes(t *testing.T) {
	for name, further := range map[string]int{"manager": 0, "other": 2} {
		t.Run(name, func(t *testing.T) { killed(t, further) })
	}
}

// killed kills pushes, and then a node: so many further than the one that manages the cluster.
func killed(t *testing.T, further int) {
	c := Start(t, 3)
	sessions := t.TempDir()
	count := manySessions(t, sessions)
	manager := managerOf(t, c)
	url := c.Nodes[(manager+1)%3].URL
	m := newMachine(t, sessions)
	m.setUp(url, "--as", "laptop")
	for i := range 3 { // killed after more and more was sent
		cmd := m.command("push", "team", "--session-dir", sessions)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitDocuments(t, url, (i+1)*count/5)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	cmd := m.command("push", "team", "--session-dir", sessions)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitDocuments(t, url, 7*count/10)
	c.Nodes[(manager+further)%3].Kill()
	if err := cmd.Wait(); err != nil { // it gave up; the next one goes on
		t.Logf("%v: %s", err, &out)
	}
	c.Nodes[(manager+1)%3].await(t)
	t.Log(m.push())
	if n := documents(t, url, "pigrep"); n != count {
		t.Errorf("%d documents, want %d", n, count)
	}
	if again := m.push(); !strings.HasPrefix(again, "nothing new") {
		t.Errorf("the next push: %s", again)
	}
	for _, s := range []int{0, 7, 19} {
		out := m.must("grep", "-c", "--from", "team", fmt.Sprintf("word499 of session%d ", s))
		if !strings.HasSuffix(strings.TrimSpace(out), ":1") && !strings.HasSuffix(strings.TrimSpace(out), "\t1") {
			t.Errorf("the last line of session %d is there %s times", s, out)
		}
	}
}

// managerOf returns the number of the node that manages the cluster.
func managerOf(t *testing.T, c *Cluster) int {
	resp, err := http.Get(c.Nodes[0].URL + "/_cat/cluster_manager?h=node")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var n int
	if _, err := fmt.Fscanf(resp.Body, "node%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
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
		documents += 503 // with its record and outline
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("many-%d.jsonl", s)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return documents
}
