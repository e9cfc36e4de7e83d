package search

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pigrep/adapter/pi"
	"pigrep/query/engine/syntax"
	"pigrep/query/engine/words"
)

// Whatever is typed, a search ends with an answer or with a TextError.
func checkSearch(t *testing.T, l *library, text string) {
	t.Helper()
	resp, err := Run(context.Background(), l.Reader, pi.New(), Disk{}, Request{Text: text})
	if err != nil {
		var e *words.TextError
		if !errors.As(err, &e) || e.Hint == "" || !utf8.ValidString(e.Reason) {
			t.Errorf("Run(%q): %v", text, err)
		}
		return
	}
	if resp.Total > resp.TotalAny || len(resp.Hits) > resp.TotalAny {
		t.Errorf("Run(%q): %d hits, totals %d and %d", text, len(resp.Hits), resp.Total, resp.TotalAny)
	}
	if _, err := json.Marshal(resp.Hits); err != nil {
		t.Errorf("Run(%q): %v", text, err)
	}
}

var oddQueries = []string{
	"*", "a*", "~", "//", "~~", "a~2", "**", "token~ auth*", `"`, `""`, `"""`, "(", ")", "((", "+", "-", "!", "+-!", "NOT NOT NOT a", "\x00", "\xff\xfe", "\u202etoken",
	"\U0001F469\u200d\U0001F4BB", "مرحبا بالعالم", "kind:", `model:"`, "kind:call", "after:never x", "before:2w", "is:error", "-is:error", "model:\"\"",
	`cwd:"a b" x`, "session:x", "a:b:c:d", "+kind:call NOT tool:bash (role:user OR token)", "token AND NOT kind:reply",
	"getUserName OR get_user_name AND (auth)", `NOT "exit code" NOT file.go:520 137`, "用户 登录 能", "C++ c++ -race", "01a1f7 e-race",
	"re:", `re:""`, "re:(", "re:(?i)TOKEN|auth", `re:"a\b \"x"`, "re:a{1000}{1000}", "re:.*", "re:^$ token", "-re:token auth", "re:\\", "cmd:", "cmd:&&", `cmd:"`, "file:/", "file:..", "file:main.go x",
	"label:x", `label:"`, "title:x", "is:", "is:named", "branch:any token", "-branch:active token", "re:token OR cmd:x AND NOT file:y", "連線 連", "a && b || c", "x~9 src/*",
}

func FuzzSearch(f *testing.F) {
	l := shelf(f)
	for _, text := range oddQueries {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSearch(t, l, text) })
}

func TestSearchOddQueries(t *testing.T) {
	l := shelf(t)
	for _, text := range oddQueries {
		checkSearch(t, l, text)
		checkWritten(t, text)
	}
	for _, text := range []string{
		strings.Repeat("x", 10000),
		strings.Repeat("token ", 2000),
		strings.Repeat("(", 5000) + "token",
		strings.Repeat("(token ", 2000) + strings.Repeat(")", 2000),
		strings.Repeat("!(", 2000) + "token" + strings.Repeat(")", 2000) + " auth",
		strings.Repeat("a/b/", 3000),
		`"` + strings.Repeat("exit code ", 1000) + `"`,
		strings.Repeat("登录", 3000),
		numbered("word", 1000),
		numbered("word OR other", 500),
		numbered("+need", 200),
		numbered("NOT gone", 200) + " token",
		numbered("re:tok.n", 60) + " token",
		numbered("cmd:x", 60) + numbered("file:y", 60) + " token",
	} {
		checkSearch(t, l, text)
		checkWritten(t, text)
	}
	resp := l.search(Request{Text: numbered("token", 1) + " " + numbered("word", 300)})
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "64") {
		t.Errorf("a query of 301 words warns %q, want one warning that names the limit", resp.Warnings)
	}
}

func numbered(word string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(word)
		b.WriteString(strings.Repeat("q", i%7))
		b.WriteByte(byte('a' + i%26))
		b.WriteByte(byte('a' + i/26%26))
		b.WriteByte(' ')
	}
	return b.String()
}

// checkWritten checks that a tree is written as text that means the same.
func checkWritten(t *testing.T, text string) {
	t.Helper()
	root, _ := syntax.Parse(text)
	if root == nil {
		return
	}
	written := root.String()
	if again, _ := syntax.Parse(written); again == nil || again.String() != written {
		t.Errorf("%q is written as %q, and that as %v", text, written, again)
	}
}
