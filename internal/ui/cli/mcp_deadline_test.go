package cli

import (
	"context"
	"strings"
	"testing"

	"pigrep/internal/ui/mcp"
)

// A call that may work no longer says so, and how to narrow it, instead of an answer that
// looks complete.
func TestDeadlineForAgents(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples, func(c *mcp.Config) {
		c.Budget = func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) }
	})
	for tool, arguments := range map[string]string{
		"search": `{"query":"a* b* c*"}`, "list_sessions": `{"query":"timeout"}`, "find_fix": `{"error":"connection refused"}`, "tool_calls": `{"query":"timeout"}`,
	} {
		if text := g.fails(tool, arguments); !strings.Contains(text, "not answered within 5s") || !strings.Contains(text, "narrow it") {
			t.Errorf("%s: %q", tool, text)
		}
	}
	a, text, _ := g.call("grep", `{"pattern":"timeout"}`)
	if a.Complete || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "narrow it") || !strings.Contains(text, "Not complete") {
		t.Errorf("grep: complete %v, warnings %q, text %q", a.Complete, a.Warnings, text)
	}
	if g.result("status", `{}`).IsError {
		t.Error("status fails")
	}
}
