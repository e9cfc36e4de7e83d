package oracle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/lab/e2e/oracle"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
	library "pigrep/query/search"
	"pigrep/scope"
)

// found is an answer to a query, as any client has it.
type found struct {
	Total, TotalAny int
	Hits            []hitKey
}

type hitKey struct{ Entry, Kind string }

// A search in the program and over MCP finds the same as the library, which lab/e2e
// compares with the oracle.
func TestQueriesOverMCP(t *testing.T) {
	program, err := testkit.Build(t.TempDir())
	testkit.Check(t, err)
	for seed := range testkit.Rounds(1, 2, 20) {
		home := t.TempDir()
		root, dir := filepath.Join(home, "sessions"), filepath.Join(home, "index")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		paths, err := oracle.Sessions().Example(seed).Write(root, func() float64 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		corpus, err := oracle.Read(paths...)
		if err != nil {
			t.Fatal(err)
		}
		var queries []string
		for i := range 10 {
			queries = append(queries, corpus.Queries(false).Example(i).String())
		}
		run := func(args ...string) *exec.Cmd {
			cmd := exec.Command(program, append(args, "--session-dir", root, "--index-dir", dir)...)
			cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "PIGREP_CONFIG=none")
			return cmd
		}
		over := overMCP(t, run("mcp"), queries)
		for i, text := range queries {
			want := inLibrary(t, dir, text)
			if diff := cmp.Diff(want, over[i], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s over MCP:\n%s", text, diff)
			}
			cmd := run("search", "--json", "--flat", "-n", "1000", "--scope", "all", "--all-words")
			cmd.Args = append(cmd.Args, "--", text)
			out, _ := cmd.Output() // that nothing is found is no failure
			var answer struct {
				Total, TotalAny int
				Hits            []struct{ EntryID, Kind string }
			}
			testkit.Check(t, json.Unmarshal(out, &answer))
			got := found{Total: answer.Total, TotalAny: answer.TotalAny}
			for _, h := range answer.Hits {
				got.Hits = append(got.Hits, hitKey{h.EntryID, h.Kind})
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s in the program:\n%s", text, diff)
			}
		}
	}
}

func inLibrary(t *testing.T, dir, text string) (f found) {
	t.Helper()
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	resp, err := library.Run(t.Context(), r, pi.New(), stories.Disk{}, library.Request{Text: text, Spec: filter.Spec{Scope: scope.All}, Flat: true, AllWords: true, Limit: library.All})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	f.Total, f.TotalAny = resp.Total, resp.TotalAny
	for _, h := range resp.Hits {
		f.Hits = append(f.Hits, hitKey{h.EntryID, string(h.Kind)})
	}
	return f
}

// overMCP asks a server in a process of its own.
func overMCP(t *testing.T, cmd *exec.Cmd, queries []string) []found {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	answers := json.NewDecoder(stdout)
	call := func(id int, method string, params any) json.RawMessage {
		line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		io.Copy(in, bytes.NewReader(append(line, '\n')))
		var answer struct {
			ID     int
			Result struct{ StructuredContent json.RawMessage }
		}
		for answer.ID != id {
			if err := answers.Decode(&answer); err != nil {
				t.Fatalf("%s %v: %v", method, params, err)
			}
		}
		return answer.Result.StructuredContent
	}
	call(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var list []found
	for i, text := range queries {
		var f struct {
			found
			Looser int
		}
		answer := call(2+i, "tools/call", map[string]any{"name": "search", "arguments": map[string]any{
			"query": text, "scope": "all", "flat": true, "allWords": true, "limit": 200, "maxBytes": 512_000, "includeSearches": true,
		}})
		if err := json.Unmarshal(answer, &f); err != nil || !strings.Contains(string(answer), `"total"`) {
			t.Fatalf("%s: %v in %s", text, err, answer)
		}
		f.TotalAny = f.Total + f.Looser
		list = append(list, f.found)
	}
	return list
}
