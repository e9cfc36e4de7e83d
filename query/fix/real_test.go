package fix

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/session"
	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
)

// realLibrary indexes the real sessions. The test is skipped without them.
func realLibrary(t *testing.T) *index.Reader {
	t.Helper()
	root := filepath.Join(testkit.Fixtures(), "real")
	if _, err := os.Stat(root); testkit.Fixtures() == "" || err != nil {
		// Real sessions are not part of the repository.
		t.Skip("SKIPPED: PIGREP_FIXTURES names no directory with real sessions: fix is not measured")
	}
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(t.Context(), indexer.Options{
		Dir: t.TempDir(), Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "test"}}, Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Reader.Close() })
	return res.Reader
}

func findReal(t *testing.T, r *index.Reader, text string) []Session {
	t.Helper()
	resp, err := Find(t.Context(), r, pi.New(), stories.Disk{}, Request{Text: text, Limit: 10})
	if err != nil {
		t.Fatalf("Find(%q): %v", text, err)
	}
	return resp.Sessions
}

// Errors are found in real sessions, which are indexed once.
func TestReal(t *testing.T) {
	r := realLibrary(t)
	t.Run("errors", func(t *testing.T) { realErrorsAreFound(t, r) })
	t.Run("every error", func(t *testing.T) { everyRealErrorIsFound(t, r) })
	t.Run("foreign errors", func(t *testing.T) { foreignErrorsAreNot(t, r) })
}

// Errors of real sessions, with other numbers, paths and names than there: the session
// comes first, and what made the error go away is named.
func realErrorsAreFound(t *testing.T, r *index.Reader) {
	first, right, outcomes := 0, 0, map[Outcome]int{}
	for _, c := range realErrors {
		list := findReal(t, r, c.text)
		if len(list) == 0 || !strings.Contains(list[0].SessionPath, c.session) {
			var got []string
			for i := range list {
				got = append(got, described(&list[i]))
			}
			t.Errorf("Find(%q): %s is not first, but\n%s", c.text, c.session, strings.Join(got, "\n"))
			continue
		}
		first++
		s := &list[0]
		outcomes[s.Outcome]++
		var said []string
		for _, call := range s.Calls {
			said = append(said, call.Tool+" "+call.Text)
		}
		if s.Reply != nil {
			said = append(said, s.Reply.Text)
		}
		if s.Outcome == c.outcome && strings.Contains(strings.Join(said, "\n"), c.says) {
			right++
		} else {
			t.Errorf("Find(%q): %s\nwant the outcome %s and %q in %q", c.text, described(s), c.outcome, c.says, said)
		}
	}
	t.Logf("%d errors: in %d the session is first, in %d what followed is right; outcomes %v", len(realErrors), first, right, outcomes)
	if len(realErrors) < 20 {
		t.Error("too few errors to measure anything")
	}
}

// Every result that failed is found again when its numbers, names and half of its paths
// are others. Its session is first, or as close as the first: several have the same error.
func everyRealErrorIsFound(t *testing.T, r *index.Reader) {
	seen, tried, found, first := 0, 0, 0, 0
	reader := entry.NewReader(stories.Disk{}, pi.New())
	defer reader.Use(nil)
	for i := range r.Summaries() {
		rec, err := r.Record(r.Summaries()[i].File)
		if err != nil {
			t.Fatal(err)
		}
		reader.Use(&rec.Summary)
		for k := range rec.Nodes {
			text := ""
			if n := &rec.Nodes[k]; n.Role == session.RoleToolResult {
				err := reader.Read(entry.RefOf(n, session.Context{}), entry.Identity{ID: n.ID}, func(e *session.Entry) {
					for _, p := range e.Parts {
						if e.IsError && p.Kind == session.KindResult {
							text += string(p.Text) + "\n"
						}
					}
				})
				if err != nil && !errors.Is(err, entry.ErrChanged) { // it has no parts
					t.Fatal(err)
				}
			}
			if !saysWhat.MatchString(text) || strings.Contains(text, "Command aborted") {
				continue // it has no error
			}
			if seen++; seen%testkit.HowMany(16, 1, 1) != 0 {
				continue
			}
			tried++
			text = changed(text, tried)
			list := findReal(t, r, text)
			at := slices.IndexFunc(list, func(s Session) bool { return s.SessionPath == rec.Path })
			if at < 0 {
				t.Errorf("%s:%d is not found by %q", filepath.Base(rec.Path), rec.Nodes[k].Line, text)
				continue
			}
			found++
			if at == 0 {
				first++
			} else if list[at].Closeness < list[0].Closeness-about {
				t.Errorf("%s:%d is in place %d with %v, after %v, for %q", filepath.Base(rec.Path), rec.Nodes[k].Line, at+1, list[at].Closeness, list[0].Closeness, text)
			}
		}
	}
	t.Logf("%d errors: %d sessions found, %d of them first", tried, found, first)
	if seen < 40 || first*5 < tried*4 {
		t.Errorf("%d of %d errors have their session first, want 4 of 5", first, tried)
	}
}

// saysWhat matches a result with a line that says more than that it failed.
var saysWhat = regexp.MustCompile(`(?m)^(?:[^C(\n\s]|C[^o\n]|Co[^m\n]|Could)`)

var (
	aPath   = regexp.MustCompile(`(?:/[\w.@+-]+)+/([\w.-]+)`)
	aName   = regexp.MustCompile(`'[\w$-]+'`)
	aNumber = regexp.MustCompile(`(^|[^A-Za-z0-9])\d+`)
)

// changed returns an error with other values.
func changed(text string, n int) string {
	text = aPath.ReplaceAllStringFunc(text, func(p string) string {
		if n++; n%2 == 0 {
			return "/srv/x/other.ts"
		}
		return "/srv/x" + p[strings.LastIndexByte(p, '/'):]
	})
	text = aName.ReplaceAllString(text, "'zz'")
	return aNumber.ReplaceAllString(text, "${1}57")
}

// Errors that are not in the real sessions are not found there.
func foreignErrorsAreNot(t *testing.T, r *index.Reader) {
	for _, text := range []string{
		"panic: runtime error: invalid memory address or nil pointer dereference",
		`java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null`,
		"fatal: not a git repository (or any of the parent directories): .git",
		"error[E0382]: borrow of moved value: `x`",
		"TypeError: Cannot read properties of undefined (reading 'map')",
		"Error: listen EADDRINUSE: address already in use :::3000",
		"sqlite3.OperationalError: database is locked",
		"ImportError: cannot import name 'x' from partially initialized module 'y'",
		`psql: error: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused`,
		"npm ERR! ERESOLVE unable to resolve dependency tree",
		"Permission denied (publickey).",
		"Segmentation fault (core dumped)",
		"No space left on device",
		"KeyError: 'user_id'",
		"429 Too Many Requests",
	} {
		if list := findReal(t, r, text); len(list) > 0 {
			t.Errorf("Find(%q): %s", text, described(&list[0]))
		}
	}
}

var realErrors = []struct {
	text, session string
	outcome       Outcome
	says          string // among the calls and the reply
}{
	{"ModuleNotFoundError: No module named 'ddgs'", "38b4653b", Gone, "gh search repos"},
	{"Traceback (most recent call last):\n  File \"/home/me/tools/web.py\", line 99, in <module>\n    from yaml import load\nModuleNotFoundError: No module named 'yaml'\n\nCommand exited with code 3", "38b4653b", Gone, "gh search repos"},
	{`Unknown JSON field: "stars"`, "38b4653b", Gone, "viewer.html"},
	{"ERROR: XMLRPC request failed [code: -31999]", "38b4653b", Gone, "excalidraw_tool.py"},
	{"could not add label: 'bug' not found", "a74a3131", Fixed, "gh issue create"},
	{"/bin/bash: line 7: cannot: command not found", "gsd-lite-plan", Gone, "subagent"},
	{"ENOENT: no such file or directory, access '/home/me/app/prompts/reviewer.md'", "gsd-lite-plan", Fixed, "gsd-lite/prompts/reviewer.md"},
	{"ENOENT: no such file or directory, access '/srv/lib/tui/CHANGELOG.md'", "badlogic-compact", Gone, "coding-agent/CHANGELOG.md"},
	{"! [rejected]        HEAD -> develop (non-fast-forward)\nerror: failed to push some refs to 'https://github.com/acme/app.git'", "badlogic-compact", Fixed, "git pull --rebase"},
	{"CONFLICT (content): Merge conflict in docs/notes.md", "badlogic-compact", Gone, "git rebase --continue"},
	{"fatal: The upstream branch of your current branch does not match\nthe name of your current branch.  To push to the upstream branch\non the remote, use\n\n    git push origin HEAD:trunk", "badlogic-compact", Fixed, "git push origin HEAD:main"},
	{"src/app/model.ts(19,2): error TS2305: Module '\"./other.js\"' has no exported member 'Foo'.", "badlogic", Fixed, "npm run check"},
	{"src/x.ts:7:3 lint/correctness/noUnusedImports  FIXABLE  ━━━\n\n  ! Several of these imports are unused.", "before-compaction", Fixed, "edit"},
	{"lib/session.ts:99:1 parse ━━━\n\n  × expected a semicolon to end the class property, but found none", "before-compaction", Fixed, "agent-session.ts"},
	{"No changes made to /home/me/README.md. The replacement produced identical content.", "before-compaction", Fixed, "AGENTS.md"},
	{"{\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/home/me/[eval]' ]\n}\n\nNode.js v20.1.0", "before-compaction", Gone, "npx tsx src/cli.ts"},
	{`400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.12: ` + "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01AAAAzifrra2KYzmYqWvk." + `"}}`, "before-compaction", Fixed, "Refactor complete"},
	{"src/a.ts(1,2): error TS2739: Type '{ x: any; }' is missing the following properties from type 'Theme': a, b", "large-session", Fixed, "skipLibCheck"},
	{"husky - pre-commit script failed (code 1)", "large-session", Fixed, "test-theme-colors.ts"},
	{"cp: /usr/lib/node_modules/app/dist/theme/dark.json: No such file or directory", "large-session", Gone, "mkdir -p ~/.pi/agent/themes && cp"},
	{"head: /srv/other/CHANGELOG.md: No such file or directory", "badlogic-session", Gone, "find"},
	{"Could not find the exact text in /home/me/museum.html. The old text must match exactly including all whitespace and newlines.", "b6e6bf81", Fixed, "museum.html"},
}
