package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pigrep/lab/testkit"
)

// answering has runs of every command that answers from sessions, with and without --json as far as it
// has that. The others change something, or answer nothing.
var answering = map[string][]string{
	"blame": {"blame hooks.go", "blame --vimgrep hooks_test.go"}, "config": {"config"},
	"export": {"export last"}, "fix": {"fix error", "fix timeout"}, "grep": {"grep the", "grep -c error", "grep --no-index -i timeout"},
	"log": {"log", "log -n 1", "log HEAD", "commit HEAD~1"}, "recap": {"recap --all", "recap --all --lessons"}, "resume": {"resume last"},
	"search":  {"search --any the error", "search --any hooks --flat", "search --all-words file", "search timeout --explain", "search kind:call"},
	"secrets": {"secrets"}, "sessions": {"sessions -n 1000", "sessions --subagents"}, "show": {"show last", "show last --tree"}, "similar": {"similar last"},
	"status": {"status", "status --skipped", "status --stores", "status --sizes"}, "tools": {"tools", "tools calls", "tools commands", "tools commands --risky", "tools files"},
	"usage": {"usage --by model", "usage --by session", "usage --by project", "usage --by agent", "usage --by day"},
}

var changing = strings.Fields("completion hook hosts index init keep mcp push remote report setup skill tui version watch web")

// No answer depends on the order of a map or of goroutines: every command prints the same bytes each
// time, with one processor and with several, over sessions of all agents, copies and odd files.
func TestAnswersAreTheSameBytesEachTime(t *testing.T) {
	a, out, errs := testApp(t)
	a.Now = func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) }
	sessions, repo := filepath.Join(a.Home, ".pi", "agent", "sessions"), filepath.Join(a.Home, "repo")
	data := filepath.Join(testkit.Root(), "testdata")
	testkit.Check(t, os.CopyFS(filepath.Join(sessions, "own"), os.DirFS(filepath.Join(data, "sessions"))))
	testkit.Check(t, os.CopyFS(filepath.Join(sessions, "copies"), os.DirFS(filepath.Join(data, "sessions"))))
	testkit.Check(t, os.CopyFS(filepath.Join(sessions, "odd"), os.DirFS(filepath.Join(data, "odd"))))
	for agent, dir := range map[string]string{"claude": ".claude", "codex": ".codex"} {
		testkit.Check(t, os.CopyFS(filepath.Join(a.Home, dir), os.DirFS(filepath.Join(data, "agents", agent))))
	}
	family := filepath.Join(sessions, "family")
	testkit.Check(t, os.MkdirAll(family, 0o755))
	writeFamily(t, family)
	writeClaude(t, family)
	call := func(id, name string) string {
		return `{"type":"message","id":"` + id + `","parentId":null,"timestamp":"2026-01-15T09:59:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c` + id + `","name":"write","arguments":{"path":"` + name + `","content":"package hooks // of ` + name + `\nvar list = []string{\"` + name + `\"}\n"}}],"provider":"acme","model":"opus-9"}}` + "\n"
	}
	for i, id := range []string{"01aa0001-1111-7222-8333-444455556666", "01aa0002-1111-7222-8333-444455556666"} {
		text := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-01-15T09:59:00.000Z","cwd":"/home/dev/repo"}` + "\n" + call("w1", "hooks.go") + call("w2", "hooks_test.go")
		testkit.Check(t, os.WriteFile(filepath.Join(sessions, string(rune('a'+i))+".jsonl"), []byte(text), 0o644))
	}
	hasGit := false
	if _, err := exec.LookPath("git"); err == nil {
		hasGit = true
		c := &checkout{dir: repo, env: []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(a.Home, "none"), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@example.org", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.org"}}
		testkit.Check(t, os.MkdirAll(repo, 0o755))
		c.git(t, "init", "-q", "-b", "main", ".")
		text := func(name string) string {
			return "package hooks // of " + name + "\nvar list = []string{\"" + name + "\"}\n"
		}
		c.commit(t, "the hooks", map[string]string{"hooks.go": text("hooks.go"), "hooks_test.go": text("hooks_test.go")})
		c.commit(t, "by hand", map[string]string{"hand.go": "package hooks // by hand and by nobody\n"})
		a.WorkDir = repo
	}
	for _, name := range commandNames() {
		if answering[name] == nil == !strings.Contains(" "+strings.Join(changing, " ")+" ", " "+name+" ") {
			t.Errorf("%s is to be in one of the lists", name)
		}
	}
	run := func(line string) string {
		out.Reset()
		errs.Reset()
		Run(t.Context(), a, strings.Fields(line))
		return out.String()
	}
	run("index")
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	first := make(map[string]string)
	for round := range testkit.Rounds(4, 6, 20) {
		runtime.GOMAXPROCS([]int{1, 8}[round%2])
		for name, lines := range answering {
			if !hasGit && (name == "log" || name == "blame") {
				continue
			}
			for _, line := range lines {
				for _, line := range []string{line, line + " --json"} {
					got := run(line)
					want, known := first[line]
					if !known {
						first[line] = got
					} else if got != want {
						t.Errorf("%s, round %d: other bytes\n%.800s\n%.800s", line, round, want, got)
					}
				}
			}
		}
	}
	for line, text := range first {
		if text == "" {
			t.Logf("%s prints nothing", line)
		}
	}
}
