package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
)

// A bare home with settings of people, as they write them.
var homes = map[string]map[string]string{
	"without settings": {".claude/projects/": "", ".codex/sessions/": "", ".pi/agent/sessions/": ""},
	"with comments": {
		".claude/settings.json": "{\n    // mine\n    \"model\": \"opus\", /* x */\n    \"hooks\": {\n        \"SessionStart\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]} // now\n        ]\n    },\n}\n",
		".claude.json":          "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"userID\":\"u\"}",
		".codex/config.toml":    "# mine\nmodel = 'gpt-5' # best\n\n[mcp_servers.other]\ncommand = \"x\"",
		".codex/hooks.json":     "{\r\n\t\"hooks\": {\r\n\t\t\"PostToolUse\": []\r\n\t}\r\n}\r\n",
		".pi/agent/mcp.json":    "\ufeff{\"mcpServers\": {}}",
		".bashrc":               "alias x=y",
	},
	"in links": {
		".claude/settings.json": "-> dotfiles/claude.json", "dotfiles/claude.json": "{}\n", ".codex/config.toml": "-> dotfiles/none.toml", "dotfiles/x": "",
		".bashrc": "-> dotfiles/bashrc", "dotfiles/bashrc": "# pigrep init bash\n\n",
	},
	"with empty files": {".claude/settings.json": "", ".codex/config.toml": "\n", ".codex/hooks.json": "{}", ".pi/agent/skills/pigrep/SKILL.md": "---\nname: pigrep\ndescription: of an earlier version\n---\n", ".cursor/mcp.json": "{\n}", ".bashrc": ""},
}

// newHome returns an app in a home with these files. A name that ends in a slash is a directory, a text that begins
// with an arrow a link.
func newHome(t *testing.T, files map[string]string) (a *app.App, run func(answers string, args ...string) (code int, said string)) {
	t.Helper()
	a, out, errs := testApp(t)
	a.DataDir = filepath.Join(a.Home, "data")
	getenv := a.Getenv
	a.Getenv = func(name string) string {
		if name == "SHELL" {
			return "/usr/bin/bash"
		}
		return getenv(name)
	}
	a.LookPath = func(string) (string, error) { return "", errors.New("none") }
	a.Executable = func() (string, error) { return "/opt/my tools/pigrep", nil }
	for name, text := range files {
		path := filepath.Join(a.Home, filepath.FromSlash(name))
		testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			testkit.Symlink(t, filepath.Join(a.Home, filepath.FromSlash(target)), path)
		} else if strings.HasSuffix(name, "/") {
			testkit.Check(t, os.MkdirAll(path, 0o755))
		} else {
			testkit.Check(t, os.WriteFile(path, []byte(text), 0o640))
		}
	}
	return a, func(answers string, args ...string) (int, string) {
		out.Reset()
		errs.Reset()
		a.Streams.In = strings.NewReader(answers)
		code := Run(t.Context(), a, append([]string{"setup"}, args...))
		return code, out.String() + errs.String()
	}
}

// What setup adds is there once, and --undo leaves every file as it was, byte for byte.
func TestSetupIsUndone(t *testing.T) {
	for name, files := range homes {
		t.Run(name, func(t *testing.T) {
			a, run := newHome(t, files)
			before := treeOf(t, a.Home)
			if code, said := run("", "--dry-run"); code != problem.ExitDone || !strings.Contains(said, "+ ") {
				t.Fatalf("--dry-run ends with %d: %s", code, said)
			}
			if diff := testkit.Diff(before, treeOf(t, a.Home)); diff != "" {
				t.Fatalf("--dry-run has changed files: %s", diff)
			}
			if code, said := run("", "--yes"); code != problem.ExitDone || !strings.Contains(said, "Claude Code: hooks, which") {
				t.Fatalf("--yes ends with %d: %s", code, said)
			}
			after := treeOf(t, a.Home)
			for name, text := range files {
				if strings.HasSuffix(name, "/") || strings.HasPrefix(text, "-> ") || text == "" || strings.HasSuffix(name, "SKILL.md") {
					continue
				}
				data, err := os.ReadFile(filepath.Join(a.Home, filepath.FromSlash(name)))
				testkit.Check(t, err)
				if !keepsAll(text, string(data)) {
					t.Errorf("%s: %q became %q", name, text, data)
				}
			}
			if settings, err := os.ReadFile(filepath.Join(a.Home, ".claude", "settings.json")); err != nil || strings.Count(string(settings), `'/opt/my tools/pigrep' hook`) != 2 {
				t.Errorf("%s, %v", settings, err)
			}
			if code, said := run("", "--yes"); code != problem.ExitDone || strings.Contains(said, "  + ") {
				t.Errorf("again: %d, %s", code, said)
			}
			if diff := testkit.Diff(after, treeOf(t, a.Home)); diff != "" {
				t.Errorf("again it has changed files: %s", diff)
			}
			if code, said := run("", "--undo", "--dry-run"); code != problem.ExitDone || !strings.Contains(said, "  - ") {
				t.Errorf("--undo --dry-run: %d, %s", code, said)
			}
			if diff := testkit.Diff(after, treeOf(t, a.Home)); diff != "" {
				t.Errorf("--undo --dry-run has changed files: %s", diff)
			}
			if code, said := run("", "--undo", "--yes"); code != problem.ExitDone {
				t.Errorf("--undo: %d, %s", code, said)
			}
			if diff := testkit.Diff(before, treeOf(t, a.Home)); diff != "" {
				t.Errorf("after --undo: %s", diff)
			}
			if _, said := run("", "--undo"); said != "nothing to undo\n" {
				t.Error(said)
			}
		})
	}
}

var written = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S* \+0000 UTC `)

// treeOf returns what is in a directory, without when it was written.
func treeOf(t *testing.T, dir string) map[string]string {
	tree := testkit.Tree(t, dir)
	for path, text := range tree {
		tree[path] = written.ReplaceAllString(text, "")
	}
	return tree
}

// keepsAll reports whether a text has all bytes of another, in their order.
func keepsAll(old, text string) bool {
	for i := range len(text) {
		if old != "" && text[i] == old[0] {
			old = old[1:]
		}
	}
	return old == ""
}

// Each step is asked for, also in a pipe. Without an answer, nothing more happens.
func TestSetupAsks(t *testing.T) {
	scene := map[string]string{".claude/": ""}
	for _, c := range []struct {
		answers string
		code    int
		there   string
	}{
		{"", problem.ExitError, ""},
		{"y\n", problem.ExitError, ".claude.json"},
		{"n\ny\nn\nn\n", problem.ExitDone, ".claude/skills/pigrep/SKILL.md"},
		{"\n\nYES\n\n", problem.ExitDone, ".claude/settings.json"},
		{"n\na\n", problem.ExitDone, ".bashrc .claude/settings.json .claude/skills/pigrep/SKILL.md"},
		{"y\nq\n", problem.ExitDone, ".claude.json"},
	} {
		a, run := newHome(t, scene)
		code, said := run(c.answers)
		var there []string
		for _, name := range []string{".bashrc", ".claude.json", ".claude/settings.json", ".claude/skills/pigrep/SKILL.md"} {
			if _, err := os.Stat(filepath.Join(a.Home, filepath.FromSlash(name))); err == nil {
				there = append(there, name)
			}
		}
		if code != c.code || strings.Join(there, " ") != c.there {
			t.Errorf("%q: %d, %q, %s", c.answers, code, there, said)
		}
	}
}

// What cannot be parsed, or is no file, is left alone and said; the rest is done.
func TestSetupLeavesAlone(t *testing.T) {
	files := map[string]string{
		".claude/settings.json": "{\"model\": ", ".claude.json": "{\"mcpServers\": []}", ".codex/config.toml": "a = \n", ".codex/hooks.json/x": "a directory", ".pi/agent/extensions/pigrep.ts": "// mine\n",
		".claude/skills/pigrep/SKILL.md": "# precious\n", ".bashrc": "",
	}
	a, run := newHome(t, files)
	code, said := run("", "--yes")
	if code != problem.ExitError || strings.Count(said, "left alone: ") != 6 || !strings.Contains(said, "6 files were left alone") || !strings.Contains(said, "line 1") {
		t.Errorf("%d: %s", code, said)
	}
	for name, text := range files {
		data, err := os.ReadFile(filepath.Join(a.Home, filepath.FromSlash(name)))
		if changed := string(data) != text; err != nil || changed != (name == ".bashrc") {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
}

func TestSetupCannotWrite(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" { // who may write everything
		t.Log("permissions do not bind this user")
		return
	}
	a, run := newHome(t, map[string]string{".claude/settings.json": "{}"})
	testkit.Check(t, os.Chmod(filepath.Join(a.Home, ".claude", "settings.json"), 0o444))
	if code, said := run("", "--yes"); code != problem.ExitError || !strings.Contains(said, "left alone: ") || !strings.Contains(said, "permission denied") {
		t.Errorf("%d: %s", code, said)
	}
	if code, said := run("", "--undo", "--yes"); code != problem.ExitDone {
		t.Errorf("%d: %s", code, said)
	}
}

// What was taken out by hand is added again, and undone again.
func TestSetupAgain(t *testing.T) {
	a, run := newHome(t, map[string]string{".claude/settings.json": "{}\n"})
	before := treeOf(t, a.Home)
	for range 2 {
		if code, said := run("", "--yes"); code != problem.ExitDone {
			t.Fatal(said)
		}
		testkit.Check(t, os.WriteFile(filepath.Join(a.Home, ".claude", "settings.json"), []byte("{}\n"), 0o640))
	}
	run("", "--yes")
	if code, said := run("", "--undo", "--yes"); code != problem.ExitDone {
		t.Fatal(said)
	}
	if diff := testkit.Diff(before, treeOf(t, a.Home)); diff != "" {
		t.Error(diff)
	}
}

// After others have changed the files, --undo takes out what setup added, and nothing else.
func TestSetupIsUndoneLater(t *testing.T) {
	a, run := newHome(t, map[string]string{".claude/": "", ".codex/config.toml": "a = 1\n", ".bashrc": "x\n", ".pi/agent/": ""})
	if code, said := run("", "--yes"); code != problem.ExitDone {
		t.Fatal(said)
	}
	edit := func(name string, change func(string) string) {
		t.Helper()
		path := filepath.Join(a.Home, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		testkit.Check(t, err)
		testkit.Check(t, os.WriteFile(path, []byte(change(string(data))), 0o600))
	}
	edit(".claude.json", func(s string) string {
		return strings.Replace(s, "\"mcpServers\": {", "\"userID\": \"u\",\n  \"mcpServers\": {\n    \"other\": {},", 1)
	})
	edit(".codex/config.toml", func(s string) string { return "b = 2\n" + s + "\n[tools]\n" })
	edit(".bashrc", func(s string) string { return s + "y\n" })
	edit(".pi/agent/extensions/pigrep.ts", func(s string) string { return s + "// mine\n" })
	testkit.Check(t, os.Remove(filepath.Join(a.Home, ".claude", "settings.json")))
	edit(".codex/hooks.json", func(s string) string { return strings.Replace(s, "{", "{\n  \"mine\": {},", 1) })
	edit(".pi/agent/mcp.json", func(s string) string { return strings.Replace(s, `": {`, `":{`, 1) + " " })
	code, said := run("", "--undo", "--yes")
	if code != problem.ExitError || strings.Count(said, "left alone: ") != 1 || !strings.Contains(said, "not there any more") {
		t.Errorf("%d: %s", code, said)
	}
	for name, want := range map[string]string{
		".codex/hooks.json": "{\n  \"mine\": {}\n}\n", ".pi/agent/mcp.json": "{\n}\n ", ".claude.json": "{\n  \"userID\": \"u\",\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n", ".codex/config.toml": "b = 2\na = 1\n\n[tools]\n", ".bashrc": "x\ny\n",
	} {
		if data, err := os.ReadFile(filepath.Join(a.Home, filepath.FromSlash(name))); err != nil || string(data) != want {
			t.Errorf("%s is %q, want %q, %v", name, data, want, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(a.Home, ".pi", "agent", "extensions", "pigrep.ts")); err != nil || !bytes.HasSuffix(data, []byte("// mine\n")) {
		t.Errorf("the extension is %q, %v", data, err)
	}
}

// With its package, pi has tools already. Without a home or an agent, there is nothing to set up.
func TestSetupWithoutNeed(t *testing.T) {
	a, run := newHome(t, map[string]string{".pi/agent/settings.json": `{"packages": ["npm:pi-pigrep"]}`})
	code, said := run("", "--yes")
	if _, err := os.Stat(filepath.Join(a.Home, ".pi", "agent", "mcp.json")); code != problem.ExitDone || err == nil || !strings.Contains(said, "has the package pi-pigrep") || !strings.Contains(said, "pi: hooks") {
		t.Errorf("%d: %s", code, said)
	}
	a, run = newHome(t, nil)
	a.Getenv = func(string) string { return "" }
	if code, said := run("", "--yes"); code != problem.ExitDone || !strings.Contains(said, "no agent was found") {
		t.Errorf("%d: %s", code, said)
	}
	a.Home, a.DataDir = "", ""
	if code, said := run("", "--yes"); code != problem.ExitError || !strings.Contains(said, "no home directory") {
		t.Errorf("%d: %s", code, said)
	}
}
