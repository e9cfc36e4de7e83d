package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pigrep/lab/testkit"
)

// Whatever shows or searches a very long line takes at most three times its length in
// memory, and less where nothing in it is escaped.
func TestLongTextsTakeLittleMemory(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	size := testkit.HowMany(40, 40, 200) << 20
	texts := map[string]string{
		"escapes": `\"caf\u00e9\"\n\t\\x \"y\" \u2014 z\n`,
		"lines":   `the build failed again with a timeout in module alpha\n`,
		"one":     `the build failed again with a timeout in module alpha `,
	}
	for name, text := range texts {
		home := t.TempDir()
		root := filepath.Join(home, "sessions")
		writeSession(t, filepath.Join(root, "x", "short.jsonl"), "a dunnart")
		writeResult(t, filepath.Join(root, "x", "long.jsonl"), text, size)
		where := []string{"--session-dir", root, "--index-dir", filepath.Join(home, "index"), "--max-line", "500"}
		peak := func(args ...string) int {
			cmd := command(t, home, append(args, where...)...)
			if err := cmd.Run(); err != nil {
				t.Fatalf("pigrep %q: %v", args, err)
			}
			return int(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
		}
		peak("index", "--quiet")
		usual := peak("show", "short")
		for _, args := range [][]string{
			{"show", "long", "--full"}, {"show", "long", "--json"}, {"show", "long", "--raw"},
			{"export", "long", "--format", "md"}, {"export", "long", "--format", "html"}, {"export", "long", "--format", "json"}, {"export", "long", "--format", "txt"},
			{"grep", "numbat"}, {"grep", "-c", "numbat"}, {"grep", "--json", "numbat"}, {"grep", "--jsonl", "numbat"}, {"search", "numbat"}, {"search", "--json", "numbat"},
		} {
			if p := peak(args...) - usual; p > 3*size {
				t.Errorf("pigrep %q of a line of %d MB (%s) takes %d MB more than of a short one", args, size>>20, name, p>>20)
			}
		}
	}
}

// writeResult writes a session with a result of about so many bytes of JSON, which repeats
// a text.
func writeResult(t *testing.T, path, text string, size int) {
	t.Helper()
	const line = `{"type":"session","version":3,"id":"long","timestamp":"2026-09-20T12:00:00.000Z","cwd":"/home/dev/long"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-09-20T12:00:01.000Z","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"%s the numbat"}]}}
`
	if err := os.WriteFile(path, fmt.Appendf(nil, line, strings.Repeat(text, size/len(text))), 0o600); err != nil {
		t.Fatal(err)
	}
}
