package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/fix"
	"pigrep/query/search"
	"pigrep/query/similar"
	"pigrep/remote/opensearch"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
)

var updateFiles = flag.Bool("update", false, "write the golden files and docs")

// testApp is an app in an empty home, at noon of a day, with its two outputs.
func testApp(t *testing.T) (a *app.App, out, errs *bytes.Buffer) {
	t.Helper()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	home := t.TempDir()
	env := map[string]string{location.EnvIndexDir: filepath.Join(home, "index")}
	return &app.App{
		Process: app.Process{
			Getenv:     func(name string) string { return env[name] },
			Environ:    os.Environ,
			Now:        func() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) },
			PID:        os.Getpid(),
			Executable: os.Executable,
			LookPath:   exec.LookPath,
			Open:       func(path string) error { return fmt.Errorf("open %s", path) },
			Replace:    func(dir string, argv []string) error { return fmt.Errorf("run %q in %s", argv, dir) },
		},
		User:   app.User{Home: home, WorkDir: home, TempDir: home, Zone: func() *time.Location { return time.UTC }},
		Speech: app.Speech{Streams: &terminal.Streams{In: strings.NewReader(""), Out: out, Err: errs, Width: 80}},
		Agents: agents.All(),
	}, out, errs
}

// writeSessions makes n sessions; session i alone has the word needle<i>.
func writeSessions(t *testing.T, root string, n int) {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("some words that fill a line of a conversation ", 40)
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"session","version":3,"id":"s%06d","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`+"\n", i)
		for j := range 40 {
			fmt.Fprintf(&b, `{"type":"message","id":"e%07d","parentId":null,"timestamp":"2026-03-01T10:%02d:00.000Z",`+
				`"message":{"role":"user","content":"%s line %d of %d"}}`+"\n", j, j, filler, j, i)
		}
		fmt.Fprintf(&b, `{"type":"message","id":"e9999999","parentId":null,"timestamp":"2026-03-01T11:00:00.000Z",`+
			`"message":{"role":"user","content":"needle%d"}}`+"\n", i)
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("s%06d.jsonl", i)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// waitFor polls for a condition that a command in another goroutine brings about.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timed out")
		}
	}
}

func TestCommandFirst(t *testing.T) {
	a, _, _ := testApp(t)
	tests := []struct{ args, want string }{
		{"", ""},
		{"connection timeout", "search connection timeout"},
		{"search connection", "search connection"},
		{"index --rebuild", "index --rebuild"},
		{"--json status", "status --json"},
		{"--kind call status", "status --kind call"},
		{"--kind=call,shell rm", "search --kind=call,shell rm"},
		{"--kind call rm status", "search --kind call rm status"},
		{"-n 3 status", "status -n 3"},
		{"-n3 words", "search -n3 words"},
		{"-- status", "search -- status"},
		{"--here -- -race", "search --here -- -race"},
		{"-race", "search -race"},
		{"-h", "-h"},
		{"--help", "--help"},
		{"words --help", "search words --help"},
		{"--version", "version"},
		{"commit HEAD", "log --commit HEAD"},
		{"--json doctor --deep", "status --check --json --deep"},
		{"--session-dir x --version", "version --session-dir x"},
		{"-V", "version"},
		{"-v", "version"},
		{"-v words", "search -v words"},
		{"grep -v words", "grep -v words"},
		{"help scopes", "help scopes"},
		{"grepping", "search grepping"},
		{"scopes", "search scopes"},
		{"__complete sea", "__complete sea"},
		{"--json", "search --json"},
		{"-", "search -"},
	}
	for _, test := range tests {
		got := strings.Join(commandFirst(a, strings.Fields(test.args)), " ")
		if got != test.want {
			t.Errorf("commandFirst(%q) = %q, want %q", test.args, got, test.want)
		}
	}
}

// Each command has the name that the table gives it, and help lists them in that order.
func TestCommandTable(t *testing.T) {
	a, _, _ := testApp(t)
	var names []string
	for _, c := range newRootCommand(a).Commands() {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff(commandNames(), names); diff != "" {
		t.Errorf("commands (-table +tree):\n%s", diff)
	}
}

// withFlags returns a command with the flags of options.
func withFlags[T any](o *T, name string) *cobra.Command {
	return newCommand(nil, o, &cobra.Command{Use: name}, nil)
}

func searchCommand(a *app.App) *cobra.Command {
	return newCommand(a, &searchOptions{}, &cobra.Command{Use: searchName}, runSearch)
}

func TestSearchFlags(t *testing.T) {
	a, _, _ := testApp(t)
	got := &searchOptions{}
	cmd := withFlags(got, searchName)
	err := cmd.ParseFlags([]string{
		"two", "words", "-n", "5", "--per-session=2", "--flat", "--kind", "call,shell", "--kind", "call", "--role", "user",
		"--tool", "bash", "--session", "01a1", "--session", "x/y.jsonl", "--here", "--project", "app", "--model", "opus",
		"--since", "2026-03-01", "--until", "2026-03-01", "--error", "--exclude", "*/old/*",
	})
	if err != nil {
		t.Fatal(err)
	}
	if query := strings.Join(cmd.Flags().Args(), " "); query != "two words" || got.Limit.N != 5 || got.PerSession.N != 2 || !got.Flat {
		t.Errorf("own flags: %q, %d, %d, %t", query, got.Limit.N, got.PerSession.N, got.Flat)
	}
	req, err := got.Request(a)
	if err != nil {
		t.Fatal(err)
	}
	want := search.Request{Env: filter.Env{Now: a.Now()}, Spec: filter.Spec{Kinds: []session.Kind{session.KindCall, session.KindShell}, Roles: []string{"user"}, Tools: []string{"bash"}, Sessions: []string{"01a1", filepath.Join(a.WorkDir, "x", "y.jsonl")}, Models: []string{"opus"}, Projects: []string{"app"}, Excludes: []string{"*/old/*"}, CWD: a.WorkDir, Error: true, Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, req, cmpopts.IgnoreUnexported(search.Request{}), cmpopts.IgnoreFields(filter.Env{}, "Expand")); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestBadFlags(t *testing.T) {
	tests := []struct{ args, message, hint string }{
		{"--scope everything x", "unknown scope", "help scopes"},
		{"--kind promt x", "unknown kind", "help scopes"},
		{"--scope all --kind call x", "cannot be combined", "kinds"},
		{"--here --cwd / x", "cannot be combined", "--cwd ."},
		{"--json --jsonl x", "cannot be combined", "one per line"},
		{"--since soon x", `"soon"`, "2 weeks ago"},
		{"--until 2026-13-01 x", "2026-13-01", "2026-01-31"},
		{"--since today --until yesterday x", "is after", "--since"},
		{"--color sometimes x", "never", "pigrep search --help"},
		{"-n many x", "takes a number", "--help"},
		{"-n 99999999999999999999 x", "--limit takes a number", "--help"},
		{"-n -1 x", "--limit takes a number >= 0, not -1", "--help"},
		{"-C -1 x", "--context takes a number >= 0, not -1", "--help"},
		{"-race", "unknown flag -race", "pigrep -- -race"},
		{"x --no-cache", "unknown flag --no-cache", "pigrep -- --no-cache"},
		{"--since", "needs an argument", "--help"},
		{"index words", "takes no arguments", "pigrep search index words"},
		{"tools comands", `tools has no subcommand "comands"`, "pigrep tools commands?"},
		{"index --wait long", `--wait takes a time, not "long"`, "30s"},
		{"index --rebuild --dry-run", "cannot be combined", "all files"},
		{"index --nope", "unknown flag --nope", "pigrep index --help"},
		{"index --wiat 3s", "unknown flag --wiat", "did you mean --wait?"},
		{"--foo", "unknown flag --foo", "to search for the text --foo"},
		{"help nothing", "no help", "topics"},
		{"completion", "takes one argument", "completion bash"},
		{"completion tcsh", "unknown shell", ""},
		{"--json", "query is empty", "type words"},
	}
	for _, test := range tests {
		a, out, errs := testApp(t)
		if got := Run(t.Context(), a, strings.Fields(test.args)); got != problem.ExitError {
			t.Errorf("pigrep %s: exit code %d, want %d", test.args, got, problem.ExitError)
		}
		if out.Len() > 0 || !strings.Contains(errs.String(), "hint") || !strings.Contains(errs.String(), test.message) || !strings.Contains(errs.String(), test.hint) {
			t.Errorf("pigrep %s: stdout %q, stderr %q; want %q and the hint %q", test.args, out, errs, test.message, test.hint)
		}
		if n := strings.Count(errs.String(), "\n"); n > 2 {
			t.Errorf("pigrep %s: %d lines of error: %q", test.args, n, errs)
		}
	}
}

// A flag that is not like the one that was typed is not suggested.
func TestUnlikeFlags(t *testing.T) {
	for _, flag := range []string{"--xyz", "--zorblaxq"} {
		a, _, errs := testApp(t)
		Run(t.Context(), a, []string{flag})
		if strings.Contains(errs.String(), "did you mean") {
			t.Errorf("pigrep %s: %s", flag, errs)
		}
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{problem.ErrNothingFound, 1},
		{problem.ErrIncomplete, 2},
		{errors.New("any"), 2},
		{&problem.Error{Code: problem.CodeUsage}, 2},
		{fmt.Errorf("index: %w", context.Canceled), 130},
		{fmt.Errorf("write: %w", syscall.EPIPE), 0},
		{&os.PathError{Op: "write", Err: syscall.EPIPE}, 0},
		{io.ErrClosedPipe, 0},
	}
	for _, test := range tests {
		if got := problem.Exit(test.err); got != test.want {
			t.Errorf("exitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
	var listed []int
	for _, c := range problem.ExitCodes {
		listed = append(listed, c.Code)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 130}, listed); diff != "" {
		t.Errorf("table of exit codes (-want +got):\n%s", diff)
	}
}

// brokenAgent simulates a bug in another package.
type brokenAgent struct{ adapter.Agent }

func (brokenAgent) Roots(adapter.Environment) ([]adapter.Root, error) { panic("a bug") }

func TestPanicIsOneLine(t *testing.T) {
	a, _, errs := testApp(t)
	a.Agents = []adapter.Agent{brokenAgent{a.Agents[0]}}
	if got := Run(t.Context(), a, []string{"words"}); got != problem.ExitError {
		t.Errorf("exit code %d, want %d", got, problem.ExitError)
	}
	if !strings.HasPrefix(errs.String(), "pigrep: internal error: a bug\nhint: ") || strings.Contains(errs.String(), "goroutine") {
		t.Errorf("stderr %q", errs)
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestResultsThatCannotBeWritten(t *testing.T) {
	a, _, errs := testApp(t)
	a.Streams.Out = full{}
	if got := Run(t.Context(), a, []string{"version"}); got != problem.ExitError || !strings.Contains(errs.String(), "write the results") {
		t.Errorf("exit code %d, stderr %q", got, errs)
	}
}

// everyCommand lists the commands, each before those below it.
func everyCommand(c *cobra.Command) (list []*cobra.Command) {
	for _, c := range c.Commands() {
		list = append(append(list, c), everyCommand(c)...)
	}
	return list
}

func TestHelp(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	for _, c := range append(everyCommand(root), root) {
		text := help.Command(c)
		if !c.HasParent() {
			text = help.Root()
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 80+1 {
				t.Errorf("help of %s is wider than %d: %q", c.Name(), 80, line)
			}
		}
		if !c.HasParent() {
			for _, topic := range help.Topics {
				if !strings.Contains(text, topic) {
					t.Errorf("help of pigrep does not name the topic %s", topic)
				}
			}
			continue
		}
		if c.Short == "" || c.Example == "" || !strings.Contains(text, "Exit codes:") {
			t.Errorf("help of %s lacks a short text, an example or the exit codes", c.Name())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			listed := regexp.MustCompile(`(?m)^ +(-.*, )?--` + f.Name + `([\s,]|$)`).MatchString(text)
			if f.Name != "help" && listed == f.Hidden {
				t.Errorf("help of %s lists --%s: %t", c.Name(), f.Name, listed)
			}
		})
	}
	for _, topic := range help.Topics {
		for line := range strings.Lines(help.Topic(topic)) {
			if len([]rune(line)) > 80+1 {
				t.Errorf("topic %s is wider than %d: %q", topic, 80, line)
			}
		}
	}
}

// -h fits on one screen: what a command does, its own flags and three examples. grep has as
// many flags as the screen has rows.
func TestBriefHelp(t *testing.T) {
	root := newRootCommand(func() *app.App { a, _, _ := testApp(t); return a }())
	commands := make(map[string]bool) // that have a text
	for _, c := range everyCommand(root) {
		name := c.Name()
		if text := c.Annotations[help.Text]; text != "" {
			name = text
		}
		commands[name] = true
		a, out, _ := testApp(t)
		args := append(strings.Fields(c.CommandPath())[1:], "-h")
		if code := Run(t.Context(), a, args); code != 0 {
			t.Errorf("%q: exit code %d", args, code)
		}
		text := out.String()
		if rows := strings.Count(text, "\n"); rows > 24 && c.Name() != "grep" || rows > 40 {
			t.Errorf("%q takes %d rows", args, rows)
		}
		for _, want := range []string{c.Short, "pigrep " + c.Name(), "Examples:", "--help"} {
			if want == "pigrep "+c.Name() {
				want = c.CommandPath()
			}
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q:\n%s", args, want, text)
			}
		}
		if strings.Contains(text, "--session-dir") {
			t.Errorf("%q lists a shared flag", args)
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 80+1 || strings.HasPrefix(line, strings.Repeat(" ", 20)) || regexp.MustCompile(`^ +(-\w, )?--.*(…|  (with|on|for|in|to|as) )`).MatchString(line) {
				t.Errorf("%q: %q is no sentence on one line", args, line)
			}
		}
		if names := strings.Count(help.Root(), "  "+c.Name()+"  "); c.Parent() == root && (names == 1) == c.Hidden {
			t.Errorf("pigrep help names %s %d times", c.Name(), names)
		}
	}
	if rows := strings.Count(help.Root(), "\n"); rows > 24 {
		t.Errorf("pigrep help takes %d rows", rows)
	}
	if files, _ := filepath.Glob(filepath.Join("help", "commands", "*.txt")); len(files) != len(commands)+2 { // and help, and pigrep
		t.Errorf("%d texts for %d commands", len(files), len(commands))
	}
}

// The table says which shared flags take a value, as they do.
func TestSharedFlags(t *testing.T) {
	a, _, _ := testApp(t)
	search := searchCommand(a)
	for _, row := range flags.Table {
		f := search.Flags().Lookup(row.Name)
		if isSwitch := f.Value.Type() == "bool"; isSwitch != (row.Value == "") {
			t.Errorf("--%s: switch %t, value %q", row.Name, isSwitch, row.Value)
		}
	}
}

// Every filter is a flag of search, with its line of help, and every field stands in the
// help of queries.
func TestEveryFilterIsAFlag(t *testing.T) {
	a, _, _ := testApp(t)
	set := searchCommand(a).Flags()
	topic := help.Topic("query")
	for i := range filter.Table {
		row := &filter.Table[i]
		name := row.Name
		if name == filter.Searches {
			name = "no-searches"
		}
		if f := set.Lookup(name); name != "" && (f == nil || !strings.Contains(f.Usage, strings.ReplaceAll(row.Usage, "`", "'"))) {
			t.Errorf("--%s: %+v, want %q", name, f, row.Usage)
		}
		if row.Field != "" && !strings.Contains(topic, "  "+row.Example+" ") {
			t.Errorf("the help of queries lacks %s", row.Example)
		}
	}
}

// Help lists the variables that the program reads, those of the adapter
// included.
func TestVariables(t *testing.T) {
	asked := make(map[string]bool)
	a, _, _ := testApp(t)
	a.Getenv = func(name string) string { asked[name] = true; return "" }
	o := &flags.Shared{}
	if _, err := location.Find(o, a); err == nil {
		t.Error("a place without sessions is no error")
	}
	if _, err := o.Printer(a); err != nil {
		t.Fatal(err)
	}
	a.Streams.OutTTY = true
	if _, err := o.Printer(a); err != nil {
		t.Fatal(err)
	}
	topic := help.Topic("environment")
	for name := range asked {
		if !strings.Contains(topic, name) {
			t.Errorf("help environment lacks $%s, which is read", name)
		}
	}
	if len(asked) < 5 {
		t.Errorf("only %d variables were asked for: %v", len(asked), asked)
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"__complete sea":               "search",
		"__complete help sco":          "scopes",
		"__complete completion z":      "zsh",
		"__complete search --scope p":  "prompts",
		"__complete search --kind the": "thinking",
		"__complete search --color n":  "never",
		"__complete tools --lim":       "--limit\tshow at most N rows",
		"__complete tools calls --rul": "--rule\tonly calls",
	} {
		a, out, _ := testApp(t)
		if got := Run(t.Context(), a, strings.Fields(args)); got != problem.ExitDone || !strings.Contains(out.String(), want) {
			t.Errorf("pigrep %s: exit code %d, %q, want %q", args, got, out, want)
		}
	}
	for _, shell := range shells {
		a, out, _ := testApp(t)
		if got := Run(t.Context(), a, []string{"completion", shell}); got != problem.ExitDone || !strings.Contains(out.String(), "pigrep") {
			t.Errorf("completion %s: exit code %d, %d bytes", shell, got, out.Len())
		}
	}
}

// Root cannot be kept from reading, so the unreadable directory is an error
// made up.
func TestWarnUnusable(t *testing.T) {
	a, _, errs := testApp(t)
	snapshot.WarnUnusable(a, fileErrorsOf("/a", "/b", "/c", "/d", "/e"), nil)
	want := "pigrep: skipped /a: permission denied\npigrep: skipped /b: permission denied\npigrep: skipped /c: permission denied\n" +
		"pigrep: 2 more files or directories cannot be read\nhint: `pigrep status` lists them\n"
	if diff := cmp.Diff(want, errs.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Words that people search for must not be commands; topics are asked for with
// help alone.
func TestTopicsAreNoCommands(t *testing.T) {
	a, _, _ := testApp(t)
	for _, c := range newRootCommand(a).Commands() {
		if help.Topic(c.Name()) != "" {
			t.Errorf("the topic %s is a command too", c.Name())
		}
	}
}

// On a terminal the same search is laid out for people, in colour.
func TestTerminal(t *testing.T) {
	a, out, errs := testApp(t)
	a.Streams.OutTTY, a.Streams.ErrTTY = true, true
	args := []string{"--session-dir", filepath.Join("testdata", "sessions"), "connection timeout"}
	a.WorkDir = must(os.Getwd())
	if got := Run(t.Context(), a, args); got != problem.ExitDone {
		t.Fatalf("exit code %d, stderr %q", got, errs)
	}
	for _, want := range []string{
		"\x1b[1mLogin timeouts\x1b[m\n", "\x1b[2m/home/dev/app · 2mo ago (", " · 0195aaaa\x1b[m\n",
		"\x1b[32mprompt  \x1b[m ", "\x1b[1;31mconnection\x1b[m", "a1000001", "2 hits in 1 session, 4 looser ones",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out.Reset()
	if got := Run(t.Context(), a, append(args, "--color=never", "+xyzzy")); got != problem.ExitNothing || out.Len() > 0 {
		t.Errorf("nothing to find: exit code %d, stdout %q", got, out)
	}
	if want := "pigrep: nothing found in the conversations of 2 session files; --scope all\nsearches everything\n" +
		"pigrep: xyzzy occurs nowhere; connection has 2 hits in 1 session, timeout 6 in\n2; no entry has all of them\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func fileErrorsOf(paths ...string) []indexer.FileError {
	var list []indexer.FileError
	for _, p := range paths {
		list = append(list, indexer.FileError{Path: p, Err: &os.PathError{Op: "open", Path: p, Err: syscall.EACCES}})
	}
	return list
}

// The texts of flags name the defaults that the program uses.
func TestDefaultsInTexts(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	for flag, want := range map[string]string{
		"similar limit": fmt.Sprintf("(default %d)", similar.DefaultLimit), "fix limit": fmt.Sprintf("(default %d)", fix.DefaultLimit),
		"log limit": fmt.Sprintf("(default %d; 0 is no limit)", defaultCommits), "init key": "(default " + usualKey + ")",
		"search limit": fmt.Sprintf("(default %d, with --flat %d)", search.DefaultLimit, search.DefaultFlatLimit), "search per-session": fmt.Sprintf("(default %d)", search.DefaultPerSession),
		"show around": fmt.Sprintf("(default %d before and %d after)", entry.Before, entry.After), "recap limit": fmt.Sprintf("(default %d)", shownSessions),
		"remote add password-env": "(default " + usualPassword + ")", "remote add prefix": "(default " + opensearch.DefaultPrefix + ")",
	} {
		words := strings.Fields(flag)
		cmd, _, err := root.Find(words[:len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		if usage := cmd.Flags().Lookup(words[len(words)-1]).Usage; !strings.Contains(usage, want) {
			t.Errorf("--%s: %q, want %q", flag, usage, want)
		}
	}
}
