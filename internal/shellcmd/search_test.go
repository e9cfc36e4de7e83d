package shellcmd

import (
	"testing"

	"pigrep/internal/session"
)

// Calls of this program and their results are marked, whoever calls it and however; other
// parts of the same entries are not.
func TestSearchesAreMarked(t *testing.T) {
	for _, c := range []struct {
		tool, text, command string
		want                bool
	}{
		{tool: "mcp__pigrep__search", want: true},
		{tool: "mcp_pigrep_grep", want: true},
		{tool: "pigrep.read_session", want: true},
		{tool: "mcp", text: "tool: pigrep_search", want: true},
		{tool: "codemode", text: "return tools.mcp__pigrep__search({query: 'x'})", want: true},
		{tool: "codemode", text: "return tools.mcp__other__search({query: 'x'})"},
		{tool: "mcp__other__search", text: "query: pigrep"},
		{tool: "edit", text: "path: pigrep/mcp__pigrep__search"},
		{tool: "bash", command: "pigrep search timeout", want: true},
		{tool: "bash", command: "cd /tmp && ./pigrep timeout | head -5", want: true},
		{tool: "bash", command: "for w in a b; do pigrep --json grep $w; done", want: true},
		{tool: "bash", command: "timeout 5 pigrep show 01a1", want: true},
		{tool: "bash", command: "sudo -u me pigrep usage", want: true},
		{tool: "bash", command: "pigrep index --quiet && pigrep status"},
		{tool: "bash", command: "pigrep"},
		{tool: "bash", command: "rg pigrep . ; echo pigrep search x; go build -o pigrep ."},
	} {
		o, facts := NewFolder(), &session.Facts{}
		call := session.EntryCall{Part: 1, ID: "c1", Tool: c.tool, Text: []byte(c.text)}
		if c.command != "" {
			call.Command = []byte(c.command)
		}
		e := &session.Entry{Parts: make([]session.Part, 2), Facts: &session.EntryFacts{Calls: []session.EntryCall{call}}}
		o.Add(facts, e, "")
		result := &session.Entry{Identity: session.Identity{Offset: 9}, Said: session.Said{ToolCallID: "c1", Tool: c.tool}, Parts: make([]session.Part, 2), Facts: &session.EntryFacts{IsResult: true}}
		o.Add(facts, result, "")
		if e.Parts[0].Search || e.Parts[1].Search != c.want || result.Parts[0].Search != c.want || result.Parts[1].Search != c.want {
			t.Errorf("%s %s%s: marks %v of the call, %v of the result, want %v", c.tool, c.text, c.command, e.Parts, result.Parts, c.want)
		}
		orphan := &session.Entry{Identity: session.Identity{Offset: 99}, Said: session.Said{ToolCallID: "c2", Tool: c.tool}, Parts: make([]session.Part, 1), Facts: &session.EntryFacts{IsResult: true}}
		o.Add(facts, orphan, "")
		if want := c.want && c.tool != "bash" && c.text == ""; orphan.Parts[0].Search != want {
			t.Errorf("a result of %s without its call: marked %v, want %v", c.tool, orphan.Parts[0].Search, want)
		}
	}
}
