package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// memoryOf reads what a process has in memory, in MiB: its own, and what is mapped
// from files; and how many files it maps that are deleted.
func memoryOf(t *testing.T, pid int) (own, mapped, deleted int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	kilobytes := func(name string) int {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		if m == nil {
			t.Fatalf("no %s in %s", name, status)
		}
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n >> 10
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes("RssAnon"), kilobytes("RssFile"), strings.Count(string(maps), "(deleted)")
}

// A server of many calls has no more in memory after the last thousand than after
// the first, though the index changes below it. It is asked about the index and
// the sessions of PIGREP_BENCH_INDEX, a copy, and PIGREP_BENCH_SESSIONS; both stay
// the test's own when they are not given. PIGREP_AGENT_CALLS is how many calls.
func TestAgentMemoryStaysFlat(t *testing.T) {
	if os.Getenv("PIGREP_TORTURE") == "" {
		t.Skip("takes minutes, so only make torture runs it, with PIGREP_TORTURE set")
	}
	calls, err := strconv.Atoi(cmp.Or(os.Getenv("PIGREP_AGENT_CALLS"), "10000"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	indexDir := cmp.Or(os.Getenv("PIGREP_BENCH_INDEX"), filepath.Join(dir, "index"))
	more := filepath.Join(dir, "more")
	writeSessions(t, more, 1)
	where := []string{"--session-dir", cmp.Or(os.Getenv("PIGREP_BENCH_SESSIONS"), samples), "--session-dir", more, "--index-dir", indexDir}
	cmd := exec.Command("pigrep", append([]string{"mcp"}, where...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "PIGREP_CONFIG=none")
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	words := strings.Fields("timeout parser error enumerable checkerboard localname connection retry index build test config cache merge")
	ask := func(n int, tool, arguments string) (next string) {
		r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
		if err != nil || r.IsError {
			t.Errorf("call %d: %s %s: %v %+v", n, tool, arguments, err, r)
			return ""
		}
		answer, _ := r.StructuredContent.(map[string]any)
		next, _ = answer["nextCursor"].(string)
		if tool == "search" {
			if sessions, _ := answer["sessions"].([]any); len(sessions) > 0 {
				session := sessions[n%len(sessions)].(map[string]any)
				hit := session["hits"].([]any)[0].(map[string]any)
				return fmt.Sprint(session["session"], "\x00", hit["entry"])
			}
			return ""
		}
		return next
	}
	one := func(n int) {
		a, b := words[n%len(words)], words[n/len(words)%len(words)]
		switch n % 8 {
		case 0, 1, 2:
			if path, entry, ok := strings.Cut(ask(n, "search", fmt.Sprintf(`{"query":"%s %s","limit":%d}`, a, b, 1+n%20)), "\x00"); ok {
				ask(n, "read_session", fmt.Sprintf(`{"session":%q,"entry":%q,"around":%d}`, path, entry, n%9))
			}
		case 3:
			arguments := fmt.Sprintf(`{"pattern":%q,"fixed":true,"limit":%d`, b+" "+a, 1+n%100)
			if next := ask(n, "grep", arguments+"}"); next != "" {
				ask(n, "grep", fmt.Sprintf(`%s,"cursor":%q}`, arguments, next))
			}
		case 4:
			ask(n, "list_sessions", fmt.Sprintf(`{"query":%q}`, a))
		case 5:
			ask(n, "tool_calls", fmt.Sprintf(`{"query":%q,"failed":%v,"results":%v}`, a, n%3 == 0, n%5 == 0))
		case 6:
			ask(n, "usage", `{"by":["project","model"]}`)
		case 7:
			ask(n, "status", `{}`)
		}
	}
	const atOnce = 4
	at := 0
	run := func(until int) {
		for at < until {
			var all sync.WaitGroup
			for i := range atOnce {
				all.Go(func() {
					for n := at + i; n < min(at+100, until); n += atOnce {
						one(n)
					}
				})
			}
			all.Wait()
			at = min(at+100, until)
			// New sessions come, by turns indexed by the server and by others.
			writeSessions(t, more, 1+at/100)
			if at%200 == 0 {
				index := exec.Command("pigrep", append([]string{"index", "--quiet"}, where...)...)
				index.Env = cmd.Env
				if out, err := index.CombinedOutput(); err != nil {
					t.Errorf("index beside the server: %v: %s", err, out)
				}
			}
		}
	}
	var first int
	for _, share := range []int{10, 4, 2, 1} {
		run(calls / share)
		own, mapped, deleted := memoryOf(t, cmd.Process.Pid)
		generations, err := filepath.Glob(filepath.Join(indexDir, "gen-*"))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("after %d calls: %d MiB own, %d MiB mapped from files, %d deleted files mapped, %d generations on disk", calls/share, own, mapped, deleted, len(generations))
		if first == 0 {
			first = own
		}
		if own > first+first/4+32 {
			t.Errorf("%d MiB after %d calls, %d after the first tenth", own, calls/share, first)
		}
	}
}
