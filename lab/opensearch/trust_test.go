//go:build unix

package opensearch

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// An archive knows which documents it has lost, and the machines that still have them send them again. A deleted
// session stays deleted. A session that is pushed again on purpose is found at once.
func TestTrust(t *testing.T) {
	url := Start(t, 1).Nodes[0].URL
	m := newMachine(t, testSessions(t))
	m.setUp(url)
	m.push()
	all := documents(t, url, "pigrep")
	sound := func() {
		t.Helper()
		if out := m.must("remote", "check", "team"); !strings.HasPrefix(out, "team has all of ") || documents(t, url, "pigrep") != all {
			t.Errorf("%d documents of %d: %s", documents(t, url, "pigrep"), all, out)
		}
	}
	sound()
	push := []string{"push", "team", "--session-dir", m.sessions}
	for _, lose := range []func(){
		func() { request(t, http.MethodDelete, url+"/pigrep-v2-2026.03", "") },
		func() {
			post(t, url+"/pigrep/_delete_by_query?refresh=true", `{"query":{"term":{"kind":"result"}}}`)
		},
		func() {
			post(t, url+"/pigrep/_delete_by_query?refresh=true", `{"query":{"match_all":{}}}`)
			post(t, url+"/pigrep-sessions-v2/_delete_by_query?refresh=true", `{"query":{"match_all":{}}}`)
		},
	} {
		lose()
		if out, _, code := m.run("remote", "check", "team"); code != 2 && documents(t, url, "pigrep") > 0 {
			t.Errorf("exit code %d, %s", code, out)
		}
		t.Log(m.must(push...))
		sound()
	}
	request(t, http.MethodDelete, url+"/pigrep-v2-2026.03", "")
	out, errs, code := m.run("search", "--from", "team", "--json", "session timeout")
	if code > 1 || !strings.Contains(out, `"complete":false`) || !strings.Contains(errs+out, "the archive has lost a month") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	t.Log(m.must(push...))
	for range 3 {
		began := time.Now()
		m.must("remote", "forget", "team", "--yes", "0195562e-9a20-7c11-8f3a-5d2b6c7e8f90")
		if _, errs, _ := m.run(push...); !strings.Contains(errs, "hint: send them again: pigrep push team --again") {
			t.Error(errs)
		}
		if out, _, code := m.run("show", "0195562e", "--from", "team"); code == 0 {
			t.Errorf("it is there again: %s", out)
		}
		t.Log(m.must(append(push, "--again")...), time.Since(began))
		sound()
		m.must("show", "0195562e", "--from", "team")
	}
	// The commands of docs/teams.md: a backup, the loss of everything, and what was there again.
	put(t, url+"/_snapshot/backup", `{"type":"fs","settings":{"location":"pigrep"}}`)
	put(t, url+"/_snapshot/backup/first?wait_for_completion=true", `{"indices":"pigrep-*","include_global_state":false}`)
	for _, index := range []string{"pigrep-v2-*", "pigrep-sessions-v2*"} {
		request(t, http.MethodDelete, url+"/"+index, "")
	}
	post(t, url+"/_snapshot/backup/first/_restore?wait_for_completion=true", `{"indices":"pigrep-*","include_global_state":false}`)
	sound()
	m.must("show", "0195562e", "--from", "team")
	if out := m.must(push...); !strings.HasPrefix(out, "nothing new for team; ") {
		t.Error(out)
	}
	for _, path := range []string{"/_cluster/health?pretty", "/_cat/indices/pigrep-*?v&s=index", "/_cat/allocation?v", "/_nodes/stats/jvm,thread_pool?filter_path=**.heap_used_percent,**.write.rejected", "/_cat/snapshots/backup?v"} {
		t.Log(path, get(t, url+path))
	}
}
