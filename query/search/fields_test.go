package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// workshop has what the fields are about that only texts and records know.
func workshop(t testing.TB) *library {
	label := turn{Fields: map[string]any{"type": "label", "targetId": "w-plan", "label": "Keep this"}}
	return newLibrary(t,
		story{Name: "work", ID: "0aaa", CWD: "/home/u/app", Entries: []turn{
			prompt("clean the build folder, timeout is fine").Named("w-ask"),
			reply("The plan: remove it.").Named("w-plan"),
			called("bash", map[string]any{"command": "rm   -rf build && ls src/auth/main.go", "wait": 30}).Named("w-rm"),
			called("write", map[string]any{"path": "src/main.go", "content": "package main\n// rm -rf nothing"}).Named("w-write"),
			called("edit", map[string]any{"file_path": "/home/u/app/docs/Main.go.md", "edits": []any{}}).Named("w-edit"),
			{ID: "w-shell", Message: map[string]any{"role": "bashExecution", "command": "du -sh .GITCLAW", "output": "rm -rf was said here\n3G", "exitCode": 1}},
			label.Named("w-label"),
			{ID: "w-sum", Fields: map[string]any{"type": "compaction", "summary": "Cleaned up.", "details": map[string]any{
				"readFiles": []string{"src/util/paths.go"}, "modifiedFiles": []string{"src/main.go"}}}},
			{ID: "w-title", Fields: map[string]any{"type": "session_info", "name": "Café cleanup"}},
			reply("exit status 17, timed out; exit code 4").Named("w-exit"),
		}},
		story{Name: "other", ID: "0bbb", CWD: "/home/u/else", Start: day.AddDate(0, 1, 0), Entries: []turn{
			prompt("the timeout of the domain.go file: TimeOut").Named("o-ask"),
			reply("繁體：連線池的資料庫").Named("o-trad"),
			reply("简体：连线池的数据库").Named("o-simp"),
		}},
	)
}

// An expression that takes very long on any text is left to grep.
func TestSearchLargeExpression(t *testing.T) {
	l := workshop(t)
	resp := l.search(Request{Text: "timeout re:" + strings.Repeat("a?", 900) + strings.Repeat("a", 900)})
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "too large for a search, pigrep grep takes it") {
		t.Errorf("a large expression: warnings %q, want one that names grep", resp.Warnings)
	}
	if resp.TotalAny == 0 {
		t.Error("a large expression: no hits, want those of the other word")
	}
}

func TestSearchFields(t *testing.T) {
	l := workshop(t)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"cmd:rm", []string{"w-rm"}},
		{`cmd:"rm -rf"`, []string{"w-rm"}},
		{`cmd:"RM -RF build"`, []string{"w-rm"}},
		{"cmd:r", []string{}},
		{"cmd:.gitclaw", []string{"w-shell"}},
		{"cmd:nothing", []string{}},
		{"kind:shell,title", []string{"w-shell", "w-title"}},
		{"tool:write,edit", []string{"w-edit", "w-write"}},
		{"role:user,bashExecution build", []string{"w-ask"}},
		{"cmd:du OR cmd:rm", []string{"w-rm", "w-shell"}},
		{"cmd:rm build", []string{"w-rm"}},
		{"kind:shell -cmd:du", []string{}},
		{"kind:call -cmd:rm", []string{"w-edit", "w-write"}},
		{"file:main.go", []string{"w-rm", "w-sum", "w-write"}},
		{"file:auth/main.go", []string{"w-rm"}},
		{"file:app/src/main.go", []string{"w-sum", "w-write"}},
		{"file:MAIN.GO.MD", []string{"w-edit"}},
		{"file:ain.go", []string{}},
		{"file:paths.go", []string{"w-sum"}},
		{"file:domain.go", []string{}},
		{"file:main.go kind:summary", []string{"w-sum"}},
		{"label:keep", []string{"w-plan"}},
		{"label:KEEP plan", []string{"w-plan"}},
		{"label:nothing", []string{}},
		{"-label:keep kind:reply", []string{"o-simp", "o-trad", "w-exit"}},
		{"title:cafe plan", []string{"w-plan"}},
		{"title:else timeout", []string{}},
		{"title:domain.go timeout", []string{"o-ask"}}, // its first prompt
		{"is:named timeout", []string{"w-ask"}},
		{"-is:named timeout", []string{"o-ask"}},
		{"branch:active timeout", []string{"o-ask", "w-ask"}},
		{"branch:abandoned timeout", []string{}},
		{"re:time(d.)?out", []string{"o-ask", "w-ask", "w-exit"}},
		{"re:time(d.)?out folder", []string{"w-ask"}},
		{"re:TimeOut", []string{"o-ask"}},
		{`re:"exit (code|status) \d+"`, []string{"w-exit"}},
		{`re:"exit (code|status) \d{3}"`, []string{}},
		{`re:^the\b`, []string{"o-ask", "w-plan"}},
		{"-re:time.*out kind:prompt", []string{}},
		{"re:du\\b OR re:folder", []string{"w-ask", "w-shell"}},
		{"re:.GITCLAW", []string{"w-shell"}},
		{"连线池", []string{"o-simp", "o-trad"}},
		{"連線池", []string{"o-simp", "o-trad"}},
		{"資料庫", []string{"o-trad"}},
		{`"连线池的"`, []string{"o-simp", "o-trad"}},
		{"连", []string{"o-simp", "o-trad"}},
		{"連線", []string{"o-simp", "o-trad"}},
	} {
		resp := l.search(Request{Text: c.text, Flat: true, Limit: 1000})
		if diff := cmp.Diff(c.want, sorted(ids(resp))); diff != "" {
			t.Errorf("hits of %q (-want +got):\n%s", c.text, diff)
		}
		if len(resp.Warnings) > 0 || resp.Total != len(c.want) || !resp.TotalIsExact {
			t.Errorf("Run(%q): total %d, exact %v, warnings %q", c.text, resp.Total, resp.TotalIsExact, resp.Warnings)
		}
		for _, h := range resp.Hits {
			if strings.HasPrefix(c.text, "re:") && len(h.Fragment.Spans) == 0 {
				t.Errorf("Run(%q): nothing is marked in %q", c.text, h.Fragment.Text)
			}
		}
	}
}

// What is wrong with a field is said, and its text searched.
func TestSearchFieldWarnings(t *testing.T) {
	l := workshop(t)
	for _, c := range []struct{ text, want string }{
		{"re:time(out", "at character 5"},
		{"kind:repyl timeout", "reply"},
		{"after:never timeout", "never"},
		{"titel:timeout", "title:"},
		{"is:red timeout", "named"},
		{"branch:main timeout", "abandoned"},
		{`file:/ timeout`, "path"},
		{`timeout OR "=>"`, "grep finds punctuation"},
	} {
		resp := l.search(Request{Text: c.text})
		if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], c.want) || resp.TotalAny == 0 {
			t.Errorf("Run(%q): %d hits, warnings %q, want one that says %q", c.text, resp.TotalAny, resp.Warnings, c.want)
		}
	}
}
