package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"pigrep/ui/cli/help"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
)

// Every setting is a flag, and those that it yields to are flags beside it.
func TestSettingsAreFlags(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	seen := make(map[string]bool)
	for i := range settings.Table {
		s := &settings.Table[i]
		if seen[s.Key()] {
			t.Errorf("%s is in the table twice", s.Key())
		}
		seen[s.Key()] = true
		cmd, f := s.FlagOf(root)
		if f == nil {
			t.Errorf("%s is no flag", s.Key())
			continue
		}
		for _, name := range s.Yields {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s yields to --%s, which %s does not take", s.Key(), name, cmd.Name())
			}
		}
		for _, v := range s.Env {
			if !strings.Contains(help.Topic("environment"), v.Name) {
				t.Errorf("help environment lacks $%s, which overrides %s", v.Name, s.Key())
			}
		}
		if s.Standard == "" && s.Note == "" {
			t.Errorf("%s does not say what holds without it", s.Key())
		}
	}
}

// The sample is a settings file: with every key in force, each is taken.
func TestSampleSettings(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	sample := settings.Sample(root)
	for line := range strings.Lines(sample) {
		if len(line) > 80+1 {
			t.Errorf("the sample is wider than %d: %q", 80, line)
		}
	}
	if said, err := settings.Parse(root, "/c/config.toml", []byte(sample)); err != nil || len(said) > 0 {
		t.Errorf("the unchanged sample sets %v, %v", said, err)
	}
	said, err := settings.Parse(root, "/c/config.toml", []byte(regexp.MustCompile(`(?m)^#(\w)`).ReplaceAllString(sample, "$1")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key := range said {
		got = append(got, key)
	}
	want := append(settings.Keys(), settings.TUIKeys()...)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys in the sample (-want +got):\n%s", diff)
	}
}

func TestParseSettings(t *testing.T) {
	a, _, _ := testApp(t)
	root := newRootCommand(a)
	tests := []struct{ text, message, hint string }{
		{"limit = 3\n", "/c/x.toml:1:1: unknown key limit", "search.limit, sessions.limit"},
		{"# one\n[search]\nlimt = 3\n", "/c/x.toml:3:1: unknown key search.limt", "the nearest is search.limit"},
		{"[serch]\nlimit = 3\n", "/c/x.toml:1:2: unknown table serch", "the nearest is search"},
		{"[[search]]\nlimit = 3\n", "/c/x.toml:1:3: search is a table", "write [search]"},
		{"search = 3\n", "/c/x.toml:1:1: search is a table", "write [search]"},
		{"scope = \"al\"\n", `/c/x.toml:1:1: scope: there is no "al"`, "conversations"},
		{"scope = 3\n", "/c/x.toml:1:1: scope takes a text in quotes", `scope = 'all'`},
		{"quiet = \"yes\"\n", "/c/x.toml:1:1: quiet takes true or false", "quiet = true"},
		{"exclude = [3]\n", "/c/x.toml:1:1: exclude takes a list", `exclude = [`},
		{"search = { limit = -1 }\n", "/c/x.toml:1:12: search.limit takes a number from 0 on", "limit = 20"},
		{"quiet = true\n color =\n", "/c/x.toml:2:9: ", "--sample"},
		{"scope = \"all\"\nscope = \"all\"\n", "/c/x.toml:2:1: ", "--sample"},
		{"[tui.keys]\nnxt = \"down\"\n", "/c/x.toml:2:1: tui.keys.nxt: there is no such name", "the nearest is next; there are next, previous"},
		{"[tui.keys]\nfilters = \"ctrl+f\"\n", "/c/x.toml:2:1: tui.keys.filters: ctrl+f is also a key of read-page-down", "read-page-down = [...]"},
		{"[tui.keys]\nfilters = [\"ctrl-x\", \"x\"]\n", "/c/x.toml:2:1: tui.keys.filters: \"x\" would not be typed", "function key"},
		{"[tui.keys]\nfilters = \"hyper-x\"\n", "/c/x.toml:2:1: tui.keys.filters: there is no key \"hyper-x\"", "pgdown"},
		{"tui.keys.pager = 3\n", "/c/x.toml:1:1: tui.keys.pager takes a text", "next = ["},
		{"[tui.colors]\nmach = \"red\"\n", "/c/x.toml:2:1: tui.colors.mach: there is no such name", "the nearest is match; there are match, prompt"},
		{"[tui.colors]\nmatch = \"rot\"\n", "/c/x.toml:2:1: tui.colors.match: there is no colour \"rot\"", "#rrggbb"},
		{"[tui.colors]\nmatch = [\"red\", \"red\", \"red\"]\n", "/c/x.toml:2:1: tui.colors.match: 3 colours", "light"},
		{"[tui.key]\nnext = \"down\"\n", "/c/x.toml:1:2: unknown table tui.key", "tui.keys"},
		{"rebuild = true\n", "/c/x.toml:1:1: unknown key rebuild", "pigrep config"},
	}
	for _, test := range tests {
		_, err := settings.Parse(root, "/c/x.toml", []byte(test.text))
		p, ok := err.(*problem.Error)
		if !ok || !strings.HasPrefix(p.Message, test.message) || !strings.Contains(p.Hint, test.hint) {
			t.Errorf("Parse(%q): %#v; want %q and the hint %q", test.text, err, test.message, test.hint)
		}
	}
	got, err := settings.Parse(root, filepath.FromSlash("/c/x.toml"), []byte("\ufeff"+
		"search.limit = 5\nexclude = \"a\"\nindex-dir = \"ix\"\nsession-dir = [\"~/a\", 'b']\n[show]\nfull = false\n"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line int, values ...string) settings.Value {
		return settings.Value{Values: values, Line: line, Column: 1}
	}
	want := map[string]settings.Value{
		"search.limit": at(1, "5"), "exclude": at(2, "a"), "index-dir": at(3, filepath.FromSlash("/c/ix")),
		"session-dir": at(4, "~/a", filepath.FromSlash("/c/b")), "show.full": at(6, "false"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

// A flag overrides the environment, which overrides the file, which overrides the
// default. With a flag that excludes the setting, the default applies.
func TestWhatDecides(t *testing.T) {
	env := map[string]string{}
	a, _, _ := testApp(t)
	a.ConfigDir, a.Getenv = a.Home, func(name string) string { return env[name] }
	if err := os.MkdirAll(filepath.Join(a.Home, "pigrep"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "scope = \"all\"\ncolor = \"always\"\nindex-dir = \"/ix\"\n[search]\nlimit = 3\n[tools]\nutc = true\n"
	if err := os.WriteFile(filepath.Join(a.Home, "pigrep", "config.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	settle := func(args ...string) map[string]string {
		t.Helper()
		cmd, rest, err := newRootCommand(a).Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil {
			err = settings.Apply(a, cmd, func() *cobra.Command { return newRootCommand(a) })
		}
		if err != nil {
			t.Fatal(err)
		}
		values := make(map[string]string)
		for _, name := range []string{"scope", "color", "index-dir", "limit", "utc"} {
			if f := cmd.Flags().Lookup(name); f != nil {
				values[name] = f.Value.String()
			}
		}
		return values
	}
	check := func(got, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	ix := filepath.FromSlash("/ix")
	check(settle("search", "x"), map[string]string{"scope": "all", "color": "always", "index-dir": ix, "limit": "3"})
	check(settle("search", "x", "--scope=prompts", "-n5"), map[string]string{"scope": "prompts", "color": "always", "index-dir": ix, "limit": "5"})
	check(settle("search", "x", "--kind=call", "--session-dir=s"), map[string]string{"scope": "", "color": "always", "index-dir": "", "limit": "3"})
	check(settle("tools", "calls"), map[string]string{"color": "always", "index-dir": ix, "utc": "true", "limit": ""})
	check(settle("usage"), map[string]string{"color": "always", "index-dir": ix, "utc": "false", "limit": ""})
	check(settle("completion"), map[string]string{"color": "", "index-dir": ""})
	env[location.EnvIndexDir], env["NO_COLOR"] = "/other", "1"
	check(settle("sessions"), map[string]string{"scope": "all", "color": "", "index-dir": "", "limit": ""})
	env[settings.EnvConfig] = settings.NoSettings
	check(settle("search", "x"), map[string]string{"scope": "", "color": "", "index-dir": "", "limit": ""})
}
