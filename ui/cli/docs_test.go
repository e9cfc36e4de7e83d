package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/agents"
	"pigrep/index"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/tui"
)

// pageFiles lists the pages that people read, from the root of the module.
func pageFiles(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Glob(filepath.Join("..", "..", "*.md"))
	if err != nil || len(docs) < 5 || len(top) < 3 {
		t.Fatalf("%d and %d pages, %v", len(docs), len(top), err)
	}
	// The benchmark writes this one.
	return slices.DeleteFunc(append(top, docs...), func(path string) bool { return filepath.Base(path) == "BENCHMARKS.md" })
}

// Screens on pages, "console" blocks that begin with a command, are what that
// command prints for testdata/sessions on a terminal of 80 columns, or of the size
// in a comment above the block. What runs until it is interrupted is no screen of
// this kind.
func TestScreens(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages show Unix paths")
	}
	screen := regexp.MustCompile("(?s)((?:<!-- (\\d+)x(\\d+) -->\n)?```console\n\\$ pigrep ([^\n]*)\n).*?```")
	count := 0
	for _, path := range pageFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := screen.ReplaceAllStringFunc(figures(t, string(data)), func(block string) string {
			m := screen.FindStringSubmatch(block)
			if strings.HasPrefix(m[4], "watch") {
				return block
			}
			count++
			width, height := 80, 24
			if m[2] != "" {
				fmt.Sscan(m[2]+" "+m[3], &width, &height)
			}
			return m[1] + screenOf(t, m[4], width, height, true) + "```"
		})
		if *updateFiles {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(data), page); diff != "" {
			t.Errorf("%s (-is +prints), update it with -update:\n%s", path, diff)
		}
	}
	if count == 0 {
		t.Error("no page has a screen")
	}
}

// Links between pages lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, path := range pageFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
	}
}

// screenOf returns what a command shows for the samples on a terminal, as text or, of
// the TUI, with the escape sequences.
func screenOf(t *testing.T, command string, width, height int, plain bool) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "dev")
	root := filepath.Join(home, ".pi", "agent", "sessions")
	if err := os.CopyFS(root, os.DirFS(filepath.Join("..", "..", "testdata", "sessions"))); err != nil {
		t.Fatal(err)
	}
	rewrite(t, root, "/home/dev", home)
	env := map[string]string{location.EnvIndexDir: filepath.Join(home, "index"), pager.Env: "cat"}
	if plain {
		env["NO_COLOR"] = "1"
	}
	a, out, errs := testApp(t)
	a.Streams.OutTTY, a.Streams.Width = true, width
	a.Getenv = func(name string) string { return env[name] }
	a.Home, a.WorkDir, a.ConfigDir = home, home, filepath.Join(home, ".config")
	a.Now = func() time.Time { return time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC) }
	args := wordsOf(command)
	if args[0] == "tui" {
		if code := Run(t.Context(), a, []string{"index"}); code != 0 {
			t.Fatalf("pigrep index: exit code %d, stderr %q", code, errs.String())
		}
		screen := interfaceOf(t, a, args[1:], width, height)
		if !plain {
			return screen
		}
		var text strings.Builder
		for line := range strings.Lines(screen + "\n") {
			text.WriteString(strings.TrimRight(ansi.Strip(line), " \n") + "\n")
		}
		return text.String()
	}
	if code := Run(t.Context(), a, args); code > problem.ExitNothing {
		t.Fatalf("pigrep %s: exit code %d, stderr %q", command, code, errs.String())
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// interfaceOf is the screen of the terminal interface when it has come to rest,
// over an index that is up to date.
func interfaceOf(t *testing.T, a *app.App, args []string, width, height int) string {
	t.Helper()
	o := &tuiOptions{}
	cmd := withFlags(o, "tui")
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(cmd.ParseFlags(args))
	o.query = strings.Join(cmd.Flags().Args(), " ")
	p, err := location.Find(&o.Shared, a)
	must(err)
	ui, err := o.beginning(a)
	must(err)
	ctx := t.Context()
	d := newTUIBackend(ctx, o, p)
	defer d.index.Close()
	generation, err := index.Newest(p.IndexDir)
	must(err)
	ui.Backend, ui.Environ = d.functions(), []string{"COLORFGBG=15;0"}
	m := tui.New(ctx, ui)
	settle(m, m.Init())
	for _, msg := range []tea.Msg{tui.State{Generation: generation.Hash, Ready: true}, tea.WindowSizeMsg{Width: width, Height: height}} {
		_, next := m.Update(msg)
		settle(m, next)
	}
	return m.View().Content
}

// rewrite replaces a text in all files of a directory.
func rewrite(t *testing.T, dir, from, to string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte(from), []byte(to)), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wordsOf splits a command as a shell does, as far as pages need it.
func wordsOf(command string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		list = append(list, m[1]+m[2]+m[3])
	}
	return list
}

// example is a command line in a page or a help text.
type example struct{ where, line string }

// examples lists the lines of "sh" blocks on pages and in the skill, and the examples in help that
// run pigrep.
func examples(t *testing.T) []example {
	t.Helper()
	var list []example
	add := func(where, line string) {
		line = strings.TrimSpace(regexp.MustCompile(`\s+# .*`).ReplaceAllString(line, ""))
		known := slices.ContainsFunc(list, func(e example) bool { return e.line == line })
		if regexp.MustCompile(`\bpigrep\b`).MatchString(line) && !strings.HasPrefix(line, "#") && !known {
			list = append(list, example{where, line})
		}
	}
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	for _, path := range append(pageFiles(t), "skill.md") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range block.FindAllStringSubmatch(string(data), -1) {
			for line := range strings.Lines(m[1]) {
				add(filepath.Base(path), strings.ReplaceAll(line, "SESSION:ENTRY", "01a1f7de:5e6f7a8b"))
			}
		}
	}
	a, _, _ := testApp(t)
	for _, c := range everyCommand(newRootCommand(a)) {
		for line := range strings.Lines(c.Example) {
			add("help of "+c.CommandPath(), line)
		}
	}
	return list
}

// elsewhere says which examples cannot run here: they need what a test has not, such as an engine,
// or do not end by themselves.
var elsewhere = regexp.MustCompile(`^pigrep (watch|tui|web|push|remote|hosts|keep|commit|log)\b|--watch\b|--lessons\b|--from team|--on |^pigrep resume$|^pigrep (export|report) .*--open|tui --print|init (zsh|fish|powershell)|fpath|\$URL|systemctl|journalctl|launchctl|go install|^go test|^cp contrib|^eval .*init|^(apt|dnf|apk|brew|scoop|git|make|diff|ssh|vim) |\| *vim\b|\bvim -q |^fzf\b|\| *fzf\b`)

// The table of README has a row for each agent.
func TestReadmeNamesAgents(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents.All() {
		if name := session.ShortAgent(a.Name()); !strings.Contains(string(readme), "| `"+name+"` |") {
			t.Errorf("README has no row for %s", name)
		}
	}
}

// Command lines in pages and help texts work: they find something and are not an
// error. Of those that cannot run here, the flags are known.
func TestExamplesRun(t *testing.T) {
	testkit.Unraced(t)
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash for the examples, as on Windows; the pages are the same everywhere:", err)
	}
	home := t.TempDir()
	root := filepath.Join(home, ".pi", "agent", "sessions")
	project := filepath.Join(home, "src", "app")
	for _, dir := range []string{root, filepath.Join(project, "config"), filepath.Join(project, "src", "auth"), project + "-moved", filepath.Join(project, ".pi", "skills", "pigrep"), filepath.Join(home, ".config", "fish", "completions")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The session that examples name, and a fork of it from the last hour, with what
	// they look for.
	session := fmt.Sprintf(`{"type":"session","version":3,"id":"01a1f7de-1111-7222-8333-444455556666","timestamp":"2026-01-15T10:30:00.000Z","cwd":%q}
{"type":"message","id":"5e6f7a8b","parentId":null,"timestamp":"2026-01-15T10:30:03.000Z","message":{"role":"user","content":"The login redirect fails: connection timeout, please retry"}}
{"type":"message","id":"6e6f7a8b","parentId":"5e6f7a8b","timestamp":"2026-01-15T10:30:05.000Z","message":{"role":"assistant","model":"m","provider":"p","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"rm -rf build"}}],"usage":{"input":10,"output":5,"cost":{"total":0.01}}}}
{"type":"message","id":"7e6f7a8b","parentId":"6e6f7a8b","timestamp":"2026-01-15T10:30:06.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","isError":true,"content":[{"type":"text","text":"exit code 137"}]}}
`, project)
	named := filepath.Join(root, "2026-01-15T10-30-00-000Z_01a1f7de-1111-7222-8333-444455556666.jsonl")
	at := time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
	recent := fmt.Sprintf(`{"type":"session","version":3,"id":"02b2e8cf-1111-7222-8333-444455556666","timestamp":%[1]q,"cwd":%[2]q,"parentSession":%[3]q}
{"type":"message","id":"a1","parentId":null,"timestamp":%[1]q,"message":{"role":"user","content":"TODO: retry after panic: timeout after 30, ENOENT or EACCES; keep a[i] = b->c and DATABASE_URL"}}
{"type":"message","id":"a2","parentId":"a1","timestamp":%[1]q,"message":{"role":"assistant","model":"m","provider":"p","content":[{"type":"toolCall","id":"d1","name":"edit","arguments":{"path":"src/auth/login.go","oldText":"package","newText":"package auth // retry the login"}},{"type":"toolCall","id":"d2","name":"edit","arguments":{"path":"src/auth.go"}},{"type":"toolCall","id":"d3","name":"read","arguments":{"path":"config/app.toml"}},{"type":"toolCall","id":"d4","name":"bash","arguments":{"command":"docker build . && docker compose up"}},{"type":"toolCall","id":"d5","name":"bash","arguments":{"command":"git push --force; cat ~/.ssh/id_rsa"}}],"usage":{"input":10,"output":5,"cost":{"total":0.01}}}}
{"type":"message","id":"a3","parentId":"a2","timestamp":%[1]q,"message":{"role":"toolResult","toolCallId":"d4","toolName":"bash","isError":true,"content":[{"type":"text","text":"no such service\nModuleNotFoundError: No module named 'requests'\na.ts(1,2): error TS2339: Property 'a' does not exist on type 'B'."}]}}
`, at, project, named)
	alike := fmt.Sprintf(`{"type":"session","version":3,"id":"03c3f9da-1111-7222-8333-444455556666","timestamp":"2026-01-16T10:30:00.000Z","cwd":%q}
{"type":"message","id":"b1","parentId":null,"timestamp":"2026-01-16T10:30:03.000Z","message":{"role":"user","content":"The redirect after the login fails again"}}
`, home)
	for path, text := range map[string]string{
		named: session, filepath.Join(project, "session.jsonl"): session, filepath.Join(root, "recent.jsonl"): recent, filepath.Join(root, "alike.jsonl"): alike,
		filepath.Join(project, "src", "auth", "login.go"): "package auth // retry the login\n" + strings.Repeat("\n", 60),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "pi"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	list, ran := examples(t), 0
	for _, e := range list {
		line := e.line
		if elsewhere.MatchString(line) || lacksProgram(line) {
			if !strings.HasPrefix(line, "pigrep ") || strings.ContainsAny(line, "|&<>$;") {
				continue
			}
			line += " --help" // after which nothing runs, and unknown flags are errors
		}
		ran++
		cmd := exec.CommandContext(t.Context(), shell, "-c", "set -o pipefail; "+line)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
			"PI_CODING_AGENT_DIR=", "PI_CODING_AGENT_SESSION_DIR=", "PIGREP_INDEX_DIR=", "PIGREP_CONFIG=none", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code, err = exit.ExitCode(), nil
		}
		if err != nil || code != 0 || strings.Contains(errs.String(), "searched as text") {
			t.Errorf("%s: %s: exit code %d, %v, stderr %q", e.where, e.line, code, err, errs.String())
		}
	}
	if ran < len(list)*2/3 {
		t.Errorf("only %d of %d examples ran", ran, len(list))
	}
}

// What an agent reads before it searches is short, and so is what its first command answers: at most 1,700
// tokens of four bytes for ten sessions.
func TestSkillCostsLittle(t *testing.T) {
	if len(skillText) > 1700 {
		t.Errorf("the skill has %d bytes", len(skillText))
	}
	_, command, _ := strings.Cut(skillText, "\npigrep ")
	command, _, _ = strings.Cut(command, " -- ")
	a, out, errs := testApp(t)
	a.Home = t.TempDir()
	root := filepath.Join(a.Home, ".pi", "agent", "sessions")
	if err := os.CopyFS(root, os.DirFS(filepath.Join("..", "..", "testdata", "sessions"))); err != nil {
		t.Fatal(err)
	}
	if code := Run(t.Context(), a, append(wordsOf(command), "--", "the")); code != 0 {
		t.Fatalf("exit code %d, stderr %q", code, errs.String())
	}
	if rows, tokens := strings.Count(out.String(), "\n"), out.Len()/4; rows != 10 || tokens > 1700 {
		t.Errorf("%d rows of %d tokens:\n%s", rows, tokens, out)
	}
}

// lacksProgram reports whether a line pipes into a program that is not here.
func lacksProgram(line string) bool {
	for _, piece := range strings.Split(line, "|")[1:] {
		name := strings.Fields(piece + " x")[0]
		if _, err := exec.LookPath(name); err != nil {
			return true
		}
	}
	return false
}
