package session

import (
	"strings"
	"testing"
)

func TestSubject(t *testing.T) {
	for _, test := range []struct{ prompt, want string }{
		{"fix the login", "fix the login"},
		{"  fix\n\nthe  login\n", "fix the login"},
		{"", ""},
		{"# Fix login\n\nIt fails.", "Fix login It fails."},
		{"#123 is broken", "#123 is broken"},
		{"first\n---\nsecond", "first second"},

		{"<skill name=\"review\" location=\"/home/u/SKILL.md\">\nRead <b>all</b>.\n</skill>\n\nthe last commit", "/skill:review the last commit"},
		{"<skill name=\"review\" location=\"/home/u/SKILL.md\">\n# Review\n</skill>", "/skill:review"},
		{"<file name=\"/home/u/a b.ts\">\nlet x\n</file>\n<file name=\"/home/u/c.png\"></file>\nwhy?", "why?"},
		{"<file name=\"/home/u/a b.ts\">\nlet x\n</file>\n", "/file:a-b.ts"},
		{"<skill name=\"review\" without an end", "<skill name=\"review\" without an end"},
		{"<b> is not closed", "<b> is not closed"},
		{"a < b and <c>d</c>", "a < b and <c>d</c>"},

		{"<context>\nall\n</context>\n<task>\nfix it\n</task>\nnow", "fix it now"},
		{"<issue_description>It **fails**.</issue_description>", "It fails."},
		{"<app_context>\nall\n</app_context>", "/app_context"},
		{"<!-- of a template -->\nfix it", "fix it"},

		{"- fix **both** of [the tests](https://example.com/x)\n- [ ] run `go test`, ```x``` and ![a screen](s.png)\n> quoted", "fix both of the tests run go test, x and a screen quoted"},
		{"find **/*.go and **/*.ts in a[0](b) * 2", "find **/*.go and **/*.ts in a[0](b) * 2"},
		{"-1 is * -2 ** 2 and __init__", "-1 is * -2 ** 2 and __init__"},

		{"/mode", "/mode"},
		{"/review src/auth.go", "/review src/auth.go"},
		{"/review\nthe login", "/review the login"},
		{"/home/u/app.log has errors", "/home/u/app.log has errors"},
		{"/ is full", "/ is full"},

		{"explain\n```go\nfunc main() {}\n```\nin short", "explain in short"},
		{"```go\nfunc main() {}\n```", "func main() {}"},
		{"```\nwithout an end", "without an end"},

		{"## Prerequisite\n\nYou MUST load these\n\n## Rules\n- no\n\n## Problem to Solve\ncreate a server\n", "create a server"},
		{"## Goal\nfirst\n## Task\nsecond\n## Output\njson", "second"},
		{"## Skills\n- a\n## Task\n\n## Output\njson", "Skills a Task Output json"},
		{"\n## User Input\n\n```text\nprinciples of quality\n```\n\nYou **MUST** consider the user input.\n\n## Outline\n\nYou are", "principles of quality"},
		{"## User Input\n\n```text\n\n```\n\nYou MUST consider it.\n\n## Goal\n\nfind gaps", "find gaps"},
		{"The user input to you can be provided as an argument.\n\nUser input:\n\nphotos in albums\n\nThe text after it", "photos in albums"},
		{"User input:\n2\n\nfails", "User input: 2 fails"},
		{"Implement the following plan:\n\n# Plan: one list\n\n## Context", "Plan: one list Context"},
		{"# Log in with OAuth\n\n## Problem\nPasswords.", "Log in with OAuth Problem Passwords."},
		{"The login fails.\n\n## Context\nall\n\n## Goal\nnone", "The login fails. Context all Goal none"},
	} {
		if got := Subject(test.prompt); got != test.want {
			t.Errorf("Subject(%q) = %q, want %q", test.prompt, got, test.want)
		}
	}
	long := Subject(strings.Repeat("日本 ", 1000))
	if len(long) > MaxFirstPrompt || !strings.HasPrefix(long, "日本 日本") || strings.ContainsRune(long, '\ufffd') {
		t.Errorf("the subject of a long prompt is %q", long)
	}
}
