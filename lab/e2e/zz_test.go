package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter/claude"
	"pigrep/adapter/pi"
	"pigrep/adapter"
	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
	"pigrep/ui/cli"
	"pigrep/ui/cli/app"
)

func TestZZ(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(testkit.Fixtures(), "agents", "claude")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".jsonl") {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		data, _ := os.ReadFile(p)
		to := filepath.Join(home, ".claude", rel)
		os.MkdirAll(filepath.Dir(to), 0o755)
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, filepath.Join(home, ".pi", "agent", "sessions", "--home-u-app--", "a.jsonl"), piHeader+piPrompt)
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		a := &app.App{
			Process: app.Process{
				Getenv: func(name string) string {
					return map[string]string{"PIGREP_INDEX_DIR": filepath.Join(home, "index")}[name]
				},
				Now: time.Now,
			},
			User: app.User{
				Home: home, WorkDir: home, ConfigDir: filepath.Join(home, ".config"),
				Zone: func() *time.Location { return time.UTC },
			},
			Speech: app.Speech{Streams: &terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}},
			Agents: []adapter.Agent{pi.New(), claude.New()},
		}
		cli.Run(t.Context(), a, args)
		return out.String() + errs.String()
	}
	for _, cmd := range []string{"status", "sessions", "sessions -n 100", "lint", "\"command message init\"", "usage", "tools", "tools --by tool", "show 85e17327", "show 1af7fc5e", "show 5c0375b4", "show 198393f2", "show df0a6e5d", "resume --print 85e17327", "resume --print agent-acompact-946d2b", "doctor --deep", "check --deep", "export 88e16f61"} {
		fmt.Println("=====", cmd)
		o := run(strings.Fields(strings.ReplaceAll(cmd, "\"command message init\"", "command-message"))...)
		if len(o) > 5000 {
			o = o[:5000] + "…"
		}
		fmt.Println(o)
	}
}
