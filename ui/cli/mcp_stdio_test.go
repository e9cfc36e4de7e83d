package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// stdio starts the real program.
func (g *agent) stdio(t *testing.T, env ...string) (*sdk.ClientSession, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("pigrep", "mcp", "--session-dir", g.dir, "--index-dir", filepath.Join(g.app.Home, "index-of-stdio"))
	cmd.Env = append(os.Environ(), append(env, "HOME="+g.app.Home, "PIGREP_CONFIG=none")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return client, cmd, &errs
}

// The SDK's own client and the real program, over real pipes.
func TestStdio(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	client, cmd, errs := g.stdio(t)
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 10 {
		t.Fatalf("%d tools, %v", len(tools.Tools), err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for _, call := range []struct{ tool, arguments string }{
				{"search", `{"query":"parser timeout"}`}, {"grep", `{"pattern":"time.?out"}`}, {"list_sessions", `{}`}, {"find_fix", `{"error":"permission denied"}`}, {"status", `{}`}, {"usage", `{}`}, {"recap", `{}`}, {"tool_calls", `{}`},
			} {
				r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: call.tool, Arguments: json.RawMessage(call.arguments)})
				if err != nil || r.IsError {
					t.Errorf("%d: %s: %v %+v", i, call.tool, err, r)
				}
			}
		})
	}
	all.Wait()

	// A call that is given up does not keep the server.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.CallTool(gone, &sdk.CallToolParams{Name: "grep", Arguments: json.RawMessage(`{"pattern":"."}`)}); err == nil {
		t.Error("a call that was given up is answered")
	}
	// Ten megabytes of arguments are refused, not swallowed.
	long, err := json.Marshal(map[string]string{"query": strings.Repeat("word ", 2<<20)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: json.RawMessage(long)})
	if err != nil || !r.IsError {
		t.Errorf("10 MB of arguments: %v, %+v", err, r)
	}
	if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "write_file"}); err == nil {
		t.Error("a tool that is not there is no error")
	}
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Errorf("after all that: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != problem.ExitDone {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("on stderr: %s", errs.String())
	}
}

// Requests on stdin are answered even if the client has already closed it; lines
// that are no messages are refused one by one, and stdout has nothing but answers.
func TestStdioByHand(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	cmd := exec.Command("pigrep", "mcp", "--verbose", "--session-dir", g.dir, "--index-dir", filepath.Join(g.app.Home, "by-hand"))
	cmd.Env = append(os.Environ(), "HOME="+g.app.Home, "PIGREP_CONFIG=none")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`this is not JSON`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"timeout"}}}`,
		`{"jsonrpc":"1.0","id":3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such/method"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":6,"method":"ping"}`,
	}, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the server ends with %v", err)
	}
	got := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		var m struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("on stdout: %s", line)
			continue
		}
		code := 0
		if m.Error != nil {
			code = m.Error.Code
		}
		got[fmt.Sprintf("%v %d", m.ID, code)] = true
	}
	want := map[string]bool{"1 0": true, "<nil> -32700": true, "2 0": true, "3 -32600": true, "4 -32601": true, "5 -32602": true, "6 0": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers by id and code (-want +got):\n%s", diff)
	}
}

// everyTool is a call of each tool, for those who look at something else.
var everyTool = []struct{ tool, arguments string }{
	{"search", `{"query":"parser timeout","context":2}`}, {"grep", `{"pattern":"time.?out","context":2}`}, {"list_sessions", `{}`},
	{"list_sessions", `{"query":"parser"}`}, {"read_session", `{"session":"0195562e:a1000003"}`}, {"tool_calls", `{"results":true}`}, {"usage", `{}`}, {"status", `{}`},
}

// The server works where the session files cannot be written, and leaves them as
// they are.
func TestAgentsWriteNothing(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	state := func() map[string]string {
		list := make(map[string]string)
		err := filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			list[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
			if d.IsDir() {
				return nil
			}
			data, err := os.ReadFile(path)
			list[path] += string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	protect := func(dirs, files fs.FileMode) {
		for path := range state() {
			mode := files
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				mode = dirs
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	protect(0o555, 0o444)
	t.Cleanup(func() { protect(0o755, 0o644) })
	before := state()
	for _, c := range everyTool {
		if r := g.result(c.tool, c.arguments); r.IsError {
			t.Errorf("%s: %+v", c.tool, r.Content)
		}
	}
	if diff := cmp.Diff(before, state()); diff != "" {
		t.Errorf("the session files have changed (-before +after):\n%s", diff)
	}
}

// Of all files that the process opens, those that are opened for writing are the
// index's. What it opens is seen from outside, where there is the means.
func TestAgentsOpenFilesForReading(t *testing.T) {
	t.Parallel()
	strace := testkit.Program(t, "strace") // TestFilesThatAreTouched traces other commands without it
	g := newAgent(t, samples)
	dir := t.TempDir()
	trace, indexDir := filepath.Join(dir, "trace"), filepath.Join(dir, "index")
	in := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	for i, c := range everyTool {
		in = append(in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+1, c.tool, c.arguments))
	}
	program, err := exec.LookPath("pigrep")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strace, "-f", "-qq", "-e", "trace=openat,open,creat,rename,renameat,renameat2,unlink,unlinkat,mkdirat,mkdir,truncate,chmod,fchmodat", "-o", trace,
		program, "mcp", "--session-dir", g.dir, "--index-dir", indexDir)
	cmd.Env = append(os.Environ(), "HOME="+g.app.Home, "PIGREP_CONFIG=none")
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		// Containers often forbid one process to trace another.
		testkit.Missing(t, fmt.Sprintf("strace does not run here: %v: %.200s", err, out))
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	sessions := 0
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, g.dir+"/") {
			sessions++
		}
		reads := strings.Contains(line, "O_RDONLY") && !strings.Contains(line, "O_CREAT")
		if reads || !strings.Contains(line, `"/`) || strings.Contains(line, indexDir) || strings.Contains(line, `"/dev/`) || strings.Contains(line, `"/proc/`) || strings.Contains(line, "ENOENT") {
			continue
		}
		t.Errorf("the server does %s", line)
	}
	if sessions == 0 {
		t.Error("no session file was opened, which cannot be all")
	}
}

// BenchmarkAgentSearch searches a large index through a running server. Its place
// and that of its sessions come from PIGREP_BENCH_INDEX and PIGREP_BENCH_SESSIONS.
func BenchmarkAgentSearch(b *testing.B) {
	sessions, indexDir := os.Getenv("PIGREP_BENCH_SESSIONS"), os.Getenv("PIGREP_BENCH_INDEX")
	if sessions == "" || indexDir == "" {
		b.Skip("PIGREP_BENCH_SESSIONS and PIGREP_BENCH_INDEX are not set")
	}
	cmd := exec.Command("pigrep", "mcp", "--session-dir", sessions, "--index-dir", indexDir)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(b.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	for _, query := range []string{"enumerable", "connection timeout", "checkerboard localname", `\"exit code\"`} {
		arguments := json.RawMessage(`{"query":"` + query + `"}`)
		b.Run(strings.NewReplacer(" ", "-", `\"`, "").Replace(query), func(b *testing.B) {
			for b.Loop() {
				if r, err := client.CallTool(b.Context(), &sdk.CallToolParams{Name: "search", Arguments: arguments}); err != nil || r.IsError {
					b.Fatal(err)
				}
			}
		})
	}
}
