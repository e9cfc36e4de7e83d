package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/query/engine/entry"
	"pigrep/remote"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/mcp"
)

// heldFiles counts the reads of session files, and blocks them until gate is closed.
type heldFiles struct {
	location.Disk
	reads atomic.Int32
	begun chan struct{} // closed by the first read
	gate  chan struct{} // closed to let them all go
}

func (f *heldFiles) hold() {
	if f.reads.Add(1) == 1 {
		close(f.begun)
	}
	<-f.gate
}

func (f *heldFiles) Open(path string) (entry.File, error) {
	f.hold()
	return f.Disk.Open(path)
}

// A call that is given up stops working: of the many reads that it would do, those
// that were under way are the last.
func TestCancelledCallsStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSessions(t, dir, 60)
	for _, test := range []struct{ tool, arguments string }{
		{"search", `{"query":"re:l.ne.[0-9]+.of","flat":true,"limit":200}`},
		{"grep", `{"pattern":"l.ne [0-9]+ of","limit":1000,"maxBytes":512000}`},
		{"list_sessions", `{"query":"re:l.ne.[0-9]+.of"}`},
		{"read_session", `{"session":"s000003","full":true,"maxBytes":512000}`},
	} {
		files := &heldFiles{begun: make(chan struct{}), gate: make(chan struct{})}
		asked, ended := make(chan context.Context, 1), make(chan struct{})
		g := newAgent(t, dir, func(c *mcp.Config) {
			open := c.Open
			c.Open = func(ctx context.Context, named []string) (*mcp.Index, error) {
				x, err := open(ctx, named)
				if err != nil {
					return nil, err
				}
				here := *x.Answers.(*remote.Index)
				here.Source = files
				x.Answers, x.Source = &here, files
				asked <- ctx
				give := x.Close
				x.Close = func() { give(); close(ended) }
				return x, nil
			}
		})
		ctx, giveUp := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := g.CallTool(ctx, &sdk.CallToolParams{Name: test.tool, Arguments: json.RawMessage(test.arguments)})
			failed <- err
		}()
		select {
		case <-files.begun:
		case err := <-failed:
			t.Fatalf("%s: answered without a read: %v", test.tool, err)
		}
		giveUp()
		if err := <-failed; err == nil {
			t.Errorf("%s: a call that was given up is answered", test.tool)
		}
		<-(<-asked).Done() // the server knows
		close(files.gate)
		<-ended
		if n := files.reads.Load(); n > 20 {
			t.Errorf("%s: %d reads, though the first was still under way when the call was given up", test.tool, n)
		}
	}
}

// gone starts the real program with pipes of the test's own.
func (g *agent) gone(t *testing.T) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser, errs *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command("pigrep", "mcp", "--session-dir", g.dir, "--index-dir", filepath.Join(g.app.Home, "index-of-stdio"))
	cmd.Env = append(os.Environ(), "HOME="+g.app.Home, "PIGREP_CONFIG=none")
	errs = &bytes.Buffer{}
	cmd.Stderr = errs
	var err error
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out, errs
}

// manyCalls are the lines of a client that asks much at once.
func manyCalls(n int) string {
	lines := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	for i := range n {
		c := everyTool[i%len(everyTool)]
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+1, c.tool, c.arguments))
	}
	return strings.Join(lines, "\n") + "\n"
}

// A client that goes away while it is being answered ends the server, which says
// nothing about it and leaves the index as usable as it was.
func TestClientsThatGoAway(t *testing.T) {
	t.Parallel()
	const calls = 50
	for _, test := range []struct {
		name string
		// leave does with the pipes what the client does.
		leave func(t *testing.T, in io.WriteCloser, out io.ReadCloser)
	}{
		{"closes stdin and reads on", func(t *testing.T, in io.WriteCloser, out io.ReadCloser) {
			in.Close()
			answers := 0
			for lines := bufio.NewReader(out); ; answers++ {
				line, err := lines.ReadBytes('\n')
				if err == io.EOF && len(line) == 0 {
					break
				}
				if err != nil || !json.Valid(line) {
					t.Errorf("on stdout: %.200q, %v", line, err)
				}
			}
			if answers == 0 {
				t.Error("nothing is answered")
			}
		}},
		{"is killed", func(_ *testing.T, in io.WriteCloser, out io.ReadCloser) {
			in.Close()
			out.Close()
		}},
		{"stops reading, then is killed", func(t *testing.T, in io.WriteCloser, out io.ReadCloser) {
			if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
				t.Error(err)
			}
			out.Close()
			in.Close()
		}},
		{"no longer reads", func(t *testing.T, in io.WriteCloser, out io.ReadCloser) {
			out.Close() // stdin stays open until the server has gone
		}},
		{"leaves in the middle of a message", func(_ *testing.T, in io.WriteCloser, out io.ReadCloser) {
			_, _ = in.Write([]byte(`{"jsonrpc":"2.0","id":99,"method":"tools/ca`)) // it may have gone
			in.Close()
			out.Close()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newAgent(t, samples)
			cmd, in, out, errs := g.gone(t)
			if _, err := io.WriteString(in, manyCalls(calls)); err != nil {
				t.Fatal(err)
			}
			test.leave(t, in, out)
			if err := cmd.Wait(); err != nil || errs.Len() > 0 {
				t.Errorf("the server ends with %v: %s", err, errs.String())
			}
			index := exec.Command("pigrep", "index", "--quiet", "--session-dir", g.dir, "--index-dir", filepath.Join(g.app.Home, "index-of-stdio"))
			index.Env = cmd.Env
			if out, err := index.CombinedOutput(); err != nil {
				t.Errorf("the index afterwards: %v: %s", err, out)
			}
		})
	}
}

// The SDK's client closes while others of its calls are under way.
func TestStdioClosedWhileCalling(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	client, cmd, errs := g.stdio(t)
	var all sync.WaitGroup
	answered := make(chan struct{}, 1)
	for i := range 4 {
		all.Go(func() {
			for n := i; ; n++ {
				c := everyTool[n%len(everyTool)]
				if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)}); err != nil {
					return // closed
				}
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})
	}
	<-answered
	if err := client.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	all.Wait()
	if code := cmd.ProcessState.ExitCode(); code != problem.ExitDone || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
