//go:build linux

package main

import (
	"encoding/json"
	"slices"
	"strings"
)

var sessionMakers = []maker{
	{name: "sessions", command: "sessions", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{"-n 10", "-n 1", "--named", "--forks", "--forks --named", "-0", "--print0 -n 3", "--forks -n 5", "--redact -n 4", "--max-bytes 4000", "--no-pager -n 2", "--color always -n 2", "-n 0", "-n x", "--quiet -n 3"} {
			ask(strings.Fields(flags)...)
		}
		ask("--json")
		ask("--no-pager")
	}},
	{name: "sessions filter", command: "sessions", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for _, f := range filters(p) {
			ask(f...)
		}
	}},
	{name: "sessions text", command: "sessions", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for i, w := range p.words(12) {
			ask(append(strings.Fields([]string{"", "--named", "-n 3", "--forks", "--scope all", "--kind prompt"}[i%6]), w)...)
		}
		for _, run := range p.runs(3, 6) {
			ask(run...)
		}
		for _, w := range p.or(wordsOf(p.titles), "title", 3) {
			ask("title:" + w)
			ask("--", w, "-kind:result")
		}
		ask("is:named")
		ask("has:image")
		ask("is:error", "branch:abandoned")
		ask("kind:nothing")
		ask("zzzznothing")
	}},
	{name: "show", command: "show", forms: []string{"--json", "", "people", "--jsonl"}, make: func(p *picker, ask func(...string)) {
		flags := []string{"", "--full", "--tree", "--all", "--raw", "--branch abandoned", "--branch any", "--role user", "--kind call,result", "--tree --all", "--redact", "--error", "--tool bash --full", "--max-bytes 3000", "--scope prompts", "--since 2026-03-01"}
		sessions := p.someSessions(20)
		for i, s := range sessions {
			target := [...]string{s.path, s.id, s.id[:min(13, len(s.id))], s.id[:min(8, len(s.id))]}[i%4]
			ask(append(strings.Fields(flags[i%len(flags)]), target)...)
			ask(append(strings.Fields(flags[(i+5)%len(flags)]), s.path)...)
		}
		for _, s := range sessions[:min(3, len(sessions))] {
			ask(s.id[:1])
			ask("--tree", s.path)
		}
	}},
	{name: "show filter", command: "show", forms: []string{"--json", "", "--json", "people"}, make: func(p *picker, ask func(...string)) {
		if s := p.someSessions(1); len(s) == 1 {
			for _, f := range filters(p) {
				ask(append(slices.Clone(f), s[0].path)...)
			}
		}
	}},
	{name: "show entry", command: "show", forms: []string{"--json", "", "people", "--json"}, make: func(p *picker, ask func(...string)) {
		flags := []string{"", "--around 0", "--around 5", "--raw", "--full", "--around 1 --all", "--around 2 --raw", "--branch any", "--redact --around 1"}
		for i, e := range p.someEntries(24) {
			target := [...]string{e.session.id + ":" + e.id, e.session.path + ":" + e.id, e.id, e.session.id[:min(13, len(e.session.id))] + ":" + e.id[:min(4, len(e.id))]}[i%4]
			ask(append(strings.Fields(flags[i%len(flags)]), target)...)
		}
		for _, e := range p.someEntries(6) {
			ask("--leaf", e.id, e.session.path)
			ask("--tree", "--leaf", e.id, e.session.path)
		}
	}},
	{name: "show input", command: "show", forms: []string{"--json", "", "people"}, feed: func(p *picker, ask func(string, ...string)) {
		for range 4 {
			var in strings.Builder
			for _, e := range p.someEntries(3) {
				line, _ := json.Marshal(map[string]any{"type": "hit", "sessionPath": e.session.path, "entryId": e.id})
				in.WriteString(string(line) + "\n")
			}
			if in.Len() > 0 {
				ask(in.String(), "-", "--around", "1")
			}
		}
		ask("{\"type\":\"hit\"\n", "-")
		ask("\n", "-")
	}},
	{name: "show wrong", command: "show", forms: []string{"--json", ""}, make: func(p *picker, ask func(...string)) {
		for _, args := range []string{"zzzz", "ffffffff-ffff", "/nowhere/x.jsonl", "00000000:zzzz", ":", "--tree --raw 0", "--around -1 0", "0 1", "--leaf zzzz 0"} {
			ask(strings.Fields(args)...)
		}
		ask("")
	}},
	{name: "resume", command: "resume", forms: []string{"--json", "", "people", "--jsonl"}, make: func(p *picker, ask func(...string)) {
		for i, s := range p.someSessions(14) {
			flags := []string{"", "--fork", "--in /", "--in /nowhere", "--fork --in /"}[i%5]
			ask(append(strings.Fields(flags), [...]string{s.path, s.id, s.id[:min(8, len(s.id))]}[i%3])...)
		}
		for _, w := range p.words(6) {
			ask(w)
		}
		for _, run := range p.runs(2, 3) {
			ask(run...)
		}
		ask("zzzznothing")
		for _, f := range filters(p) {
			ask(append(slices.Clone(f), "error")...)
		}
	}},
	{name: "export", command: "export", forms: asIs, make: func(p *picker, ask func(...string)) {
		flags := []string{"--format md", "--format html", "--format json", "--format txt", "", "--all --format json", "--redact --format html", "--kind prompt,reply --format txt", "--branch any --format md", "--role user --format html", "--redact --all", "--format pdf"}
		for i, s := range p.someSessions(2 * len(flags)) {
			ask(append(strings.Fields(flags[i%len(flags)]), s.path)...)
		}
		for _, e := range p.someEntries(3) {
			ask("--leaf", e.id, "--format", "txt", e.session.path)
		}
		if s := p.someSessions(1); len(s) == 1 {
			for i, f := range filters(p) {
				ask(append(slices.Clone(f), "--format", []string{"txt", "json", "md", "html"}[i%4], s[0].path)...)
			}
		}
		ask("zzzz")
	}},
}

var auditMakers = []maker{
	{name: "tools", command: "tools", forms: tableForms, make: func(p *picker, ask func(...string)) {
		for _, by := range []string{"tool", "day", "week", "month", "model", "project", "session", "project,tool", "day,model", "month,tool,model", "nothing"} {
			ask("--by", by)
			ask("--by", by, "--utc", "--failed")
		}
		ask("--by", "tool", "--by", "month")
		ask("--max-bytes", "2000", "--by", "session")
		for _, f := range filters(p) {
			if fits("tools", f) {
				ask(f...)
			}
		}
	}},
	{name: "calls", command: "tools calls", forms: tableForms, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{
			"-n 30", "--failed -n 30", "--risky", "--risky -n 3", "--rule recursive-delete --verbose", "--rule superuser --rule credentials", "--rule forced-push", "--rule network-to-shell", "--rule decoded-code", "--rule disk-tool", "--rule world-writable", "--rule outside-write", "--risky --redact -n 9999", "--rule nothing", "--utc -n 5", "--verbose --quiet -n 5", "--redact -n 40", "--max-bytes 3000", "-n 0",
			"--arg path=.*\\.go$ -n 20", "--arg command=git -n 20", "--arg command=( -n 5", "--arg nothing=x", "--arg broken", "--tool bash --arg command=^rm",
		} {
			ask(strings.Fields(flags)...)
		}
		for i, w := range p.words(12) {
			ask(append(strings.Fields([]string{"-n 20", "--failed", "--tool bash", "--risky", "-n 5 --utc"}[i%5]), w)...)
		}
		for _, c := range p.or(p.commands, "command", 6) {
			ask("-n", "10", "--", c)
		}
		for _, f := range filters(p) {
			if fits("tools", f) {
				ask(append([]string{"-n", "25"}, f...)...)
			}
		}
	}},
	{name: "commands", command: "tools commands", forms: tableForms, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{
			"", "-n 10", "--failed", "--raw -n 50", "--raw --failed", "--risky", "--risky -n 5", "--rule forced-push", "--rule outside-write", "--rule credentials --raw", "--rule network-to-shell", "--rule disk-tool",
			"--rule world-writable", "--rule decoded-code", "--raw --redact -n 20", "--utc --raw -n 5", "--max-bytes 1500", "--rule nothing", "--risky --redact", "--raw --max-bytes 2500",
		} {
			ask(append(strings.Fields(flags), "--no-pager")...)
		}
		for i, c := range p.or(p.commands, "command", 8) {
			word := strings.Fields(c)[0]
			ask(append(strings.Fields([]string{"", "--raw", "--risky", "--failed"}[i%4]), "--", word)...)
		}
		for _, f := range filters(p) {
			if fits("tools", f) {
				ask(append(slices.Clone(f), "-n", "15")...)
			}
		}
	}},
	{name: "files", command: "tools files", forms: tableForms, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{"", "-n 10", "--failed", "--utc -n 5", "--max-bytes 2000", "--redact -n 10", "--here"} {
			ask(append(strings.Fields(flags), "--no-pager")...)
		}
		files := p.or(p.files, "file", 8)
		for i, f := range files {
			ask("-n", "20", "--", f)
			ask("--", base(files)[i])
		}
		ask("./config")
		ask("/home")
		ask("nothing.zzz")
		for _, f := range filters(p) {
			if fits("tools", f) {
				ask(append(slices.Clone(f), "-n", "15")...)
			}
		}
	}},
	{name: "usage", command: "usage", forms: tableForms, make: func(p *picker, ask func(...string)) {
		for _, by := range []string{"day", "week", "month", "model", "project", "session", "day,model", "project,model", "month,project,model", "tool", "nothing"} {
			ask("--by", by)
			ask("--by", by, "--utc", "--since", "2026-01-01")
		}
		ask("--max-bytes", "1500", "--by", "session")
		for _, f := range filters(p) {
			if fits("usage", f) {
				ask(f...)
			}
		}
	}},
	{name: "index", command: "index", forms: []string{"--json", "", "people", "--jsonl"}, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{"", "", " --verbose", " --quiet --color always"} {
			ask(strings.Fields("--dry-run" + flags)...)
		}
	}},
	{name: "status", command: "status", forms: []string{"--json", "", "--jsonl", "--json"}, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{"--quiet", "--quiet", "--skipped", "--stores", "--skipped", "--verbose"} {
			ask(flags)
		}
	}},
	{name: "doctor", command: "doctor", forms: []string{"--json", ""}, make: func(p *picker, ask func(...string)) {
		for range 2 {
			ask("--quiet")
		}
	}},
	{name: "mcp", command: "mcp", forms: asIs, feed: func(p *picker, ask func(string, ...string)) {
		for i, run := range p.runs(2, 6) {
			ask(mcpInput("search", map[string]any{"query": strings.Join(run, " "), "flat": i%2 == 1, "context": i % 3}))
			ask(mcpInput("grep", map[string]any{"pattern": run[:1], "maxCount": 2, "context": i % 2}))
			ask(mcpInput("list_sessions", map[string]any{"query": run[1], "limit": 3}))
		}
		for _, s := range p.someSessions(4) {
			ask(mcpInput("read_session", map[string]any{"session": s.id}))
		}
		for _, e := range p.someEntries(4) {
			ask(mcpInput("read_session", map[string]any{"session": e.session.id, "entry": e.id, "around": 2}))
		}
		for _, tool := range []string{"list_sessions", "list_tool_calls", "usage", "status", "search", "nothing"} {
			ask(mcpInput(tool, map[string]any{}))
		}
	}}}

// outputMakers try the flags of all commands.
var outputMakers = []maker{
	output("search", "timeout"), output("grep -m 2", "timeout"), output("sessions", "timeout"), output("sessions -n 3"), output("show", "0"), output("resume", "timeout"),
	output("tools"), output("tools calls -n 5"), output("tools commands"), output("tools files"), output("usage"),
}

// output returns the maker for a command with a few of its flags.
func output(command string, args ...string) maker {
	words := strings.Fields(command)
	at := len(words)
	for i, w := range words {
		if strings.HasPrefix(w, "-") {
			at = i
			break
		}
	}
	return maker{name: "output " + command, command: strings.Join(words[:at], " "), forms: asIs, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{"--verbose", "--quiet", "--color always", "--color never --verbose", "--quiet --json", "--json --jsonl", "--nonsense", "--max-bytes 900 --json", "--redact --color always"} {
			ask(slices.Concat(words[at:], strings.Fields(flags), args)...)
		}
	}}
}

// mcpInput returns the messages of a client that calls one tool.
func mcpInput(tool string, args map[string]any) string {
	call, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"compare","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + string(call) + "\n"
}
