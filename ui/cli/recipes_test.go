//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// Every recipe of the docs runs and prints something, with one session in the directory where
// it runs, odd files beside it and, if there are any, real sessions of three agents. Programs that wait
// for a person are told to end at once. Commands of several lines count once, what fzf prints names a
// session, the copies for vim are removed, and cron has nothing to mail.
func TestRecipes(t *testing.T) {
	testkit.Unraced(t)
	for _, program := range []string{"bash", "fzf", "jq", "vim", "git"} {
		testkit.Program(t, program)
	}
	text := must(os.ReadFile(filepath.Join("..", "..", "docs", "recipes.md")))
	blocks := regexp.MustCompile("(?s)```(sh|crontab)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 9 {
		t.Fatalf("only %d recipes", len(blocks))
	}
	home, dir := t.TempDir(), must(filepath.EvalSymlinks(t.TempDir()))
	root := filepath.Join(home, ".pi", "agent", "sessions", "x")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	at := `"timestamp":"` + time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05.000Z") + `"`
	message := `{"type":"message","id":"aaaa0001","parentId":null,` + at + `,"message":{"role":"user","content":"the timeout is too short"}}` + "\n"
	call := `{"type":"message","id":"aaaa0002","parentId":"aaaa0001",` + at + `,"message":{"role":"assistant","content":[` +
		`{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make test\necho timeout"}},{"type":"toolCall","id":"c2","name":"edit","arguments":{"path":"main.go","oldText":"a","newText":"b"}}]}}` + "\n" +
		`{"type":"message","id":"aaaa0003","parentId":"aaaa0002",` + at + `,"message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"timeout"}],"isError":true}}` + "\n"
	for name, content := range map[string]string{
		"2026-03-01T10-00-00-000Z_01a1bbbb.jsonl": `{"type":"session","version":3,"id":"01a1bbbb-0000-7000-8000-000000000001",` + at + `,"cwd":"` + dir + `"}` + "\n" + message + call,
		"no-header.jsonl":                         message,
		"no-id, no cwd\t.jsonl":                   `{"type":"session","version":3}` + "\n" + message,
		"empty.jsonl":                             "",
		"torn.jsonl":                              `{"type":"session","version":3,"id":"01a1cccc"}` + "\n" + message + `{"type":"mess`,
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if more := testkit.Fixtures(); more != "" {
		testkit.Check(t, os.CopyFS(filepath.Join(root, "real"), os.DirFS(filepath.Join(more, "real"))))
		testkit.Check(t, os.CopyFS(filepath.Join(home, ".claude", "projects"), os.DirFS(filepath.Join(more, "agents", "claude", "projects"))))
		testkit.Check(t, os.CopyFS(filepath.Join(home, ".codex", "sessions"), os.DirFS(filepath.Join(more, "agents", "codex", "sessions"))))
	}
	const prelude = `set -euo pipefail
git init -q . && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m 1
touch main.go && git add . && git -c user.name=x -c user.email=x@y commit -q -m 2
vim() { command vim --not-a-term -T dumb -N -u NONE -i NONE -n "$@" -c "w! $HOME/seen" -c 'qa!' >/dev/null 2>&1; grep timeout "$HOME/seen"; }
`
	run := func(t *testing.T, script string, wantsOutput bool) string {
		t.Helper()
		work := filepath.Join(dir, ".git")
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", prelude+script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "PI_CODING_AGENT_DIR=", "PI_CODING_AGENT_SESSION_DIR=",
			"PIGREP_INDEX_DIR=", "TMPDIR="+home, "TERM=xterm", "FZF_DEFAULT_OPTS=--filter=timeout")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || wantsOutput == (strings.TrimSpace(string(out)) == "") || !wantsOutput && errs.Len() > 0 {
			t.Errorf("%s\n%v, it printed %q and %q", script, err, out, errs.String())
		}
		return string(out)
	}
	for _, b := range blocks {
		if b[1] == "sh" {
			out := run(t, b[2], true)
			switch {
			case strings.Contains(b[2], "fzf"):
				run(t, "pigrep show --last 1 -- "+strings.SplitN(out, "\n", 2)[0], true)
			case strings.Contains(b[2], "uniq -c"):
				if rows := strings.Count(out, `"make test\necho timeout"`); rows != 1 || !regexp.MustCompile(`^( *\d+ ".*"\n)+$`).MatchString(out) {
					t.Errorf("%s\nprints %q", b[2], out)
				}
			case strings.Contains(b[2], "--vimgrep"):
				if left := must(filepath.Glob(filepath.Join(home, "*"))); slices.ContainsFunc(left, func(path string) bool { return strings.Contains(path, "tmp.") || strings.HasSuffix(path, ".txt") }) {
					t.Errorf("%s\nleaves %q", b[2], left)
				}
			}
			continue
		}
		for line := range strings.Lines(b[2]) {
			run(t, strings.Join(strings.Fields(line)[5:], " "), false)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "agents.html")); err != nil {
		t.Errorf("the report of cron: %v", err)
	}
}
