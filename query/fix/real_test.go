package fix

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
	"pigrep/internal/lab/stories"
	"pigrep/internal/lab/testkit"
)

// Errors of real sessions, with other numbers, paths and names than there: the session
// comes first, and what made the error go away is named.
func TestRealErrors(t *testing.T) {
	root := filepath.Join(testkit.Fixtures(), "real")
	if _, err := os.Stat(root); testkit.Fixtures() == "" || err != nil {
		t.Skip("SKIPPED: PIGREP_FIXTURES names no directory with real sessions: fix is not measured")
	}
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	res, err := indexer.Update(t.Context(), indexer.Options{
		Dir: t.TempDir(), Adapter: pi.New(), Roots: []adapter.Root{{Path: root, Origin: "test"}}, Now: now, Logger: slog.New(slog.DiscardHandler), PID: os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Reader.Close()
	first, right, outcomes := 0, 0, map[Outcome]int{}
	for _, c := range realErrors {
		resp, err := Find(t.Context(), res.Reader, pi.New(), stories.Disk{}, Request{Text: c.text})
		if err != nil {
			t.Fatalf("Find(%q): %v", c.text, err)
		}
		if len(resp.Sessions) == 0 || !strings.Contains(resp.Sessions[0].SessionPath, c.session) {
			var got []string
			for i := range resp.Sessions {
				got = append(got, described(&resp.Sessions[i]))
			}
			t.Errorf("Find(%q): %s is not first, but\n%s", c.text, c.session, strings.Join(got, "\n"))
			continue
		}
		first++
		s := &resp.Sessions[0]
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

var realErrors = []struct {
	text, session string
	outcome       Outcome
	says          string // among the calls and the reply
}{
	{"ModuleNotFoundError: No module named 'ddgs'", "38b4653b", Gone, "gh search repos"},
	{"Traceback (most recent call last):\n  File \"/home/me/tools/web.py\", line 99, in <module>\n    from yaml import load\nModuleNotFoundError: No module named 'yaml'\n\nCommand exited with code 3", "38b4653b", Gone, "gh search repos"},
	{`Unknown JSON field: "stars"`, "38b4653b", Fixed, "gh repo view excalidraw/excalidraw-mcp"},
	{"ERROR: XMLRPC request failed [code: -31999]", "38b4653b", Gone, "excalidraw_tool.py"},
	{"could not add label: 'bug' not found", "a74a3131", Fixed, "gh issue create"},
	{"/bin/bash: line 7: cannot: command not found", "gsd-lite-plan", Gone, "subagent"},
	{"ENOENT: no such file or directory, access '/home/me/app/prompts/reviewer.md'", "gsd-lite-plan", Fixed, "gsd-lite/prompts/reviewer.md"},
	{"ENOENT: no such file or directory, access '/srv/lib/tui/CHANGELOG.md'", "badlogic-compact", Fixed, "coding-agent/CHANGELOG.md"},
	{"! [rejected]        HEAD -> develop (non-fast-forward)\nerror: failed to push some refs to 'https://github.com/acme/app.git'", "badlogic-compact", Fixed, "git pull --rebase"},
	{"CONFLICT (content): Merge conflict in docs/notes.md", "badlogic-compact", Fixed, "git rebase --continue"},
	{"fatal: The upstream branch of your current branch does not match\nthe name of your current branch.  To push to the upstream branch\non the remote, use\n\n    git push origin HEAD:trunk", "badlogic-compact", Fixed, "git push origin HEAD:main"},
	{"src/app/model.ts(19,2): error TS2305: Module '\"./other.js\"' has no exported member 'Foo'.", "badlogic", Fixed, "npm run check"},
	{"src/x.ts:7:3 lint/correctness/noUnusedImports  FIXABLE  ━━━\n\n  ! Several of these imports are unused.", "before-compaction", Fixed, "edit"},
	{"lib/session.ts:99:1 parse ━━━\n\n  × expected a semicolon to end the class property, but found none", "before-compaction", Fixed, "agent-session.ts"},
	{"No changes made to /home/me/README.md. The replacement produced identical content.", "before-compaction", Fixed, "AGENTS.md"},
	{"{\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/home/me/[eval]' ]\n}\n\nNode.js v20.1.0", "before-compaction", Fixed, "npx tsx src/cli.ts"},
	{`400 {"type":"error","error":{"type":"invalid_request_error","message":"messages.12: ` + "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01AAAAzifrra2KYzmYqWvk." + `"}}`, "before-compaction", Fixed, "Refactor complete"},
	{"src/a.ts(1,2): error TS2739: Type '{ x: any; }' is missing the following properties from type 'Theme': a, b", "large-session", Fixed, "skipLibCheck"},
	{"husky - pre-commit script failed (code 1)", "large-session", Fixed, "test-theme-colors.ts"},
	{"cp: /usr/lib/node_modules/app/dist/theme/dark.json: No such file or directory", "large-session", Fixed, "mkdir -p ~/.pi/agent/themes && cp"},
	{"head: /srv/other/CHANGELOG.md: No such file or directory", "badlogic-session", Fixed, "find"},
	{"Could not find the exact text in /home/me/museum.html. The old text must match exactly including all whitespace and newlines.", "b6e6bf81", Fixed, "museum.html"},
}
