package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pigrep/lab/testkit"
	"pigrep/ui/cli/problem"
)

// runIn runs pigrep on the sessions of the scripts, with stderr on a terminal or not.
func runIn(t *testing.T, ctx context.Context, terminal bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	a, out, errs := testApp(t)
	a.Streams.ErrTTY = terminal
	a.WorkDir = must(os.Getwd())
	getenv, root := a.Getenv, must(filepath.Abs(filepath.Join("testdata", "sessions")))
	a.Getenv = func(name string) string {
		if name == "PI_CODING_AGENT_SESSION_DIR" {
			return root
		}
		return getenv(name)
	}
	code = Run(ctx, a, args)
	return code, out.String(), strings.Join(strings.Fields(errs.String()), " ")
}

// Words to search for may begin with the name of a command. On a terminal, pigrep says what it
// ran and how to search for the words.
func TestWordsThatRunACommand(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, test := range []struct {
		ctx  context.Context
		args string
		want string // on stderr of a terminal; "" for no word about searching
	}{
		{stopped, "web search", "this ran the command web; to search for the words: pigrep search web search"},
		{stopped, "web", ""},
		{t.Context(), "fix login bug", "this ran the command fix; to search for the words: pigrep search fix login bug"},
		{t.Context(), "sessions expire zyzzyva", "this ran the command sessions; to search for the words: pigrep search sessions expire zyzzyva"},
		{t.Context(), "grep zyzzyva", ""},
		{t.Context(), "grep -F zyzzyva files", ""},
		{t.Context(), "grep connection", ""},
		{t.Context(), "index out of range", "to search for these words: pigrep search index out of range"},
		{t.Context(), "status code", "to search for these words: pigrep search status code"},
		{t.Context(), "show me the log", "to search for these words: pigrep search show me the log"},
		{t.Context(), "export default function", "to search for these words: pigrep search export default function"},
		{t.Context(), "similar errors before", "to search for these words: pigrep search similar errors before"},
		{t.Context(), "help me find it", "to search for these words: pigrep search help me find it"},
		{t.Context(), "init script failed", "to search for these words: pigrep search init script failed"},
		{t.Context(), "show 0195aaaa a1000001", "for an entry of that session: pigrep show 0195aaaa:a1000001"},
	} {
		_, _, errs := runIn(t, test.ctx, true, strings.Fields(test.args)...)
		if test.want == "" && strings.Contains(errs, "pigrep search") || !strings.Contains(errs, test.want) {
			t.Errorf("pigrep %s: stderr %q, want %q", test.args, errs, test.want)
		}
		if _, _, errs := runIn(t, test.ctx, false, strings.Fields(test.args)...); strings.Contains(errs, "this ran") {
			t.Errorf("pigrep %s, not on a terminal: %q", test.args, errs)
		}
	}
}

// A word that other programs use for a command is searched for, and the command is named.
func TestWordsThatMeanACommand(t *testing.T) {
	for word, meant := range map[string]string{
		"ls": "sessions", "list": "sessions", "session": "sessions", "sesions": "sessions", "stats": "usage", "cost": "usage",
		"open": "show", "cat": "show", "view": "show", "open 0195aaaa": "show 0195aaaa", "cat last": "show last", "list 0195": "sessions 0195",
		"serve": "web", "browse": "web", "ui": "tui", "man": "help --man DIR", "tool": "tools", "statuss": "status",
	} {
		typed, _, _ := strings.Cut(word, " ")
		want := "pigrep: " + typed + " is not a command and was searched as text; did you mean: pigrep " + meant
		if _, _, errs := runIn(t, t.Context(), true, strings.Fields(word)...); !strings.Contains(errs, want) || strings.Count(errs, "did you mean") > 1 {
			t.Errorf("pigrep %s: stderr %q, want %q", word, errs, want)
		}
	}
	for _, words := range []string{"list connection", "cat the file", "connection", "cost timeout"} {
		if _, _, errs := runIn(t, t.Context(), true, strings.Fields(words)...); strings.Contains(errs, "not a command") {
			t.Errorf("pigrep %s: stderr %q", words, errs)
		}
	}
	for _, c := range commands() {
		for _, word := range append(strings.Fields(c.also), "man") {
			if meant := commandMeant(word); meant != c.name && word != "man" || slices.Contains(commandNames(), word) {
				t.Errorf("%s is said to mean %s, and is %s", word, c.name, meant)
			}
		}
	}
}

// A command that somebody mistyped before is named too, and a word that is written often is a word.
func TestMistypedCommandsThatOccur(t *testing.T) {
	a, _, errs := testApp(t)
	dir := filepath.Join(a.Home, ".pi", "agent", "sessions")
	text := `{"type":"session","version":3,"id":"01a1bbbb-0000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n"
	for i := range 20 {
		text += fmt.Sprintf(`{"type":"message","id":"aaaa%04d","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"take %d: import it, and look for a match"}}`+"\n", i, i)
	}
	text += `{"type":"message","id":"bbbb0001","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"why does pigrep sesions or serach or shwo print nothing"}}` + "\n"
	testkit.Check(t, os.MkdirAll(dir, 0o755))
	testkit.Check(t, os.WriteFile(filepath.Join(dir, "01a1bbbb-0000.jsonl"), []byte(text), 0o600))
	for typed, meant := range map[string]string{
		"sesions": "sessions", "serach": "search", "shwo 01a1bbbb": "show 01a1bbbb", "shwo last": "show last", "import": "", "match": "", "serach take": "search take", "import quux": "", "import it": "",
	} {
		errs.Reset()
		a.Streams.ErrTTY = true
		if code := Run(t.Context(), a, strings.Fields(typed)); code > problem.ExitNothing {
			t.Errorf("pigrep %s: exit code %d", typed, code)
		}
		_, said, is := strings.Cut(strings.Join(strings.Fields(errs.String()), " "), "is not a command and was searched as text; did you mean: pigrep ")
		if is != (meant != "") || !strings.HasPrefix(said, meant) {
			t.Errorf("pigrep %s: %s; want %q", typed, errs, meant)
		}
	}
}
