package shellcmd

import (
	"strings"
	"testing"

	"pigrep/internal/session"
)

// The programs that may have set the exit code of a failed shell command are named.
// An exit code that says no is no failure.
func TestEndings(t *testing.T) {
	const interrupted = session.Unknown
	for _, test := range []struct {
		command string
		exit    int32
		printed string
		want    string // the programs, "no match" or ""
	}{
		{"npm test", 1, "", "npm test"},
		{"cd /app && npm run check", 1, "", "npm run"},
		{"cd /app && npm ci && npm test", 1, "", "npm ci, npm test"},
		{"cd /nope && npm test", 1, "/bin/bash: line 1: cd: /nope: No such file or directory\n", "cd"},
		{"cd /app && nmp test | tail", 127, "bash: line 1: nmp: command not found\n", "nmp"},
		{"cd /nope", 1, "", "cd"},
		{"echo failed; exit 3", 3, "", "exit"},
		{"npm ci; npm test", 1, "", "npm test"},
		{"set -e; npm ci; npm test", 1, "", "npm ci, npm test"},
		{"set -euo pipefail\nnpm test | tee log", 1, "", "npm test, tee"},
		{"npm test | tee log", 1, "", "tee"},
		{"npm test || npm run fix", 1, "", "npm run"},
		{"npm test || exit 1", 1, "", "npm test"},
		{"npm test || { echo failed; exit 1; }", 1, "", "npm test"},
		{"npm test; echo done; exit 1", 1, "", "npm test"},
		{"if npm test; then npm run a; else npm run b; fi", 1, "", "npm run"},
		{"if ! npm test; then echo failed; exit 1; fi", 1, "", "npm test"},
		{"for f in *; do node $f; done", 1, "", "node"},
		{"(cd x; make all)", 2, "", "make all"},
		{"bash -c 'cd x && make all'", 2, "", "make all"},
		{"sudo apt install x", 100, "", "apt install"},
		{"find . -exec grep x {} +", 1, "", "find"},
		{"x=$(git status)", 128, "", "git status"},
		{"echo $(git status) && go vet", 1, "", "go vet"},
		{"f() { grep x y; }; f", 1, "", "f"},
		{"sleep 5; npm test | tail -5", interrupted, "", "npm test, tail"},
		{"sleep 500", interrupted, "", "sleep"},
		{"server & curl x", 7, "", "curl"},

		{"cd nosuch && grep -rn foo .", 1, "bash: line 1: cd: nosuch: No such file or directory\n", "cd"},
		{"cd nosuch; grep -rn foo .", 1, "/usr/bin/bash: line 0: cd: nosuch: No such file or directory\n", "cd"},
		{"cd nosuch && grep -rn foo .", 1, "Exit code 1\n(eval):cd:1: no such file or directory: nosuch\n", "cd"},
		{"cd nosuch && rg foo", 1, "zsh:cd:1: no such file or directory: nosuch\n", "cd"},
		{"cd nosuch && which foo", 1, "sh: 1: cd: can't cd to nosuch\n", "cd"},
		{"pushd nosuch && test -f x", 1, "-bash: pushd: nosuch: Not a directory\n", "pushd"},
		{"(cd nosuch && grep foo .)", 1, "bash: cd: nosuch: Permission denied\n", "cd"},
		{"gti diff | grep foo", 1, "bash: line 1: gti: command not found\n", "gti"},
		{"gti diff | grep foo", 1, "(eval):1: command not found: gti\n", "grep"},
		{"grep foo < nosuch", 1, "bash: line 1: nosuch: No such file or directory\n", "grep"},
		{"grep foo *.nosuch", 1, "(eval):1: no matches found: *.nosuch\n", "grep"},
		{"type nosuch", 1, "bash: line 1: type: nosuch: not found\n", "no match"},
		{"command -v nosuch && ls", 1, "", "command, ls"},
		{"grep foo log", 1, "bash history: line 1: cd: nosuch: No such file or directory\n", "no match"},
		{"git diff --exit-code", 1, "+bash: line 1: cd: nosuch: No such file or directory\n", "no match"},

		{"grep x y", 1, "", "no match"},
		{"grep x y", 2, "", "grep"},
		{"cd x && grep -rn foo src | sort | rg bar", 1, "", "no match"},
		{"cat y | grep x", 1, "", "no match"},
		{"grep x y && diff a b", 1, "", "no match"},
		{"grep x y && npm test", 1, "", "grep, npm test"},
		{"npm test; grep x y", 1, "", "no match"},
		{"[ -f x ]", 1, "", "no match"},
		{"[[ -f x ]] && ls", 1, "", "[[, ls"},
		{"[[ -f x ]]", 1, "", "no match"},
		{"test -d x || exit 1", 1, "", "no match"},
		{"git diff --quiet", 1, "", "no match"},
		{"git grep foo", 1, "", "no match"},
		{"command -v node", 1, "", "no match"},
		{"which node", 1, "", "no match"},
		{"systemctl is-active x", 3, "", "no match"},
		{"ls | xargs grep x", 123, "", "grep"},
		{"grep 'unfinished", 2, "", "grep"},
		{"ls -l $(grep x y)", 1, "", "ls"},
	} {
		var facts session.Facts
		o := NewFolder()
		call := session.EntryCall{Tool: "bash", ID: "c1", Command: []byte(test.command)}
		o.Add(&facts, &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{call}}}, "/app")
		if said := SaysNo(test.command, test.exit, []byte(test.printed)); said != (test.want == "no match") {
			t.Errorf("%q with exit code %d says no: %t, want %q", test.command, test.exit, said, test.want)
		}
		outcome := session.Outcome{Failed: true, Exit: test.exit, Duration: session.Unknown}
		result := &session.Entry{
			Said: session.Said{ToolCallID: "c1", Tool: "bash"}, Facts: &session.EntryFacts{IsResult: true, Outcome: outcome}, Parts: []session.Part{{Kind: session.KindResult, Text: []byte(test.printed)}},
		}
		o.Add(&facts, result, "/app")
		c := &facts.Calls[0]
		var blamed []string
		for i, program := range c.Programs {
			if c.Failed && c.Blamed>>i&1 != 0 && !strings.Contains(strings.Join(blamed, " "), program) {
				blamed = append(blamed, program)
			}
		}
		got := strings.Join(blamed, ", ")
		if c.NoMatch {
			got = "no match"
		}
		if got != test.want {
			t.Errorf("%q with exit code %d: %q, want %q", test.command, test.exit, got, test.want)
		}
	}
}

// An agent that goes by the exit code takes a search that did not run for one without matches.
func TestAgentsNoMatchThatDidNotRun(t *testing.T) {
	for printed, want := range map[string]bool{"": false, "(eval):cd:1: no such file or directory: nosuch\n": true} {
		var facts session.Facts
		o := NewFolder()
		o.Add(&facts, &session.Entry{Facts: &session.EntryFacts{Calls: []session.EntryCall{{Tool: "Bash", ID: "c1", Command: []byte("cd nosuch && grep foo .")}}}}, "/app")
		o.Add(&facts, &session.Entry{
			Said: session.Said{ToolCallID: "c1", Tool: "Bash"}, Parts: []session.Part{{Kind: session.KindResult, Text: []byte(printed)}},
			Facts: &session.EntryFacts{IsResult: true, Outcome: session.Outcome{NoMatch: true, Exit: session.Unknown, Duration: session.Unknown}},
		}, "/app")
		if c := &facts.Calls[0]; c.Failed != want || c.NoMatch == want {
			t.Errorf("with %q printed: failed %t, no match %t; want failed %t", printed, c.Failed, c.NoMatch, want)
		}
	}
}
