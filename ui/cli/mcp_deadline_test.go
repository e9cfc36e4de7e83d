package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/ui/mcp"
)

// A call that may work no longer says so, and how to narrow it, instead of an answer that
// looks complete.
func TestDeadlineForAgents(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples, func(c *mcp.Config) {
		c.Within, c.Budget = 0, func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) }
	})
	g.settle()
	for tool, arguments := range map[string]string{
		"search": `{"query":"a* b* c*"}`, "list_sessions": `{"query":"timeout"}`, "find_fix": `{"error":"connection refused"}`, "tool_calls": `{"query":"timeout"}`,
	} {
		if text := g.fails(tool, arguments); !strings.Contains(text, "not answered within 5s") || !strings.Contains(text, "narrow it") {
			t.Errorf("%s: %q", tool, text)
		}
	}
	a, text, _ := g.call("grep", `{"pattern":"timeout"}`)
	if a.Complete || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "narrow it") || !strings.HasPrefix(text, "Warning: ") || !strings.Contains(text, "Not complete") {
		t.Errorf("grep: complete %v, warnings %q, text %q", a.Complete, a.Warnings, text)
	}
	if g.result("status", `{}`).IsError {
		t.Error("status fails")
	}
}

// The time for a call holds for opening the index, too: for what other machines send for it.
func TestOpeningWithinTheDeadline(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples, func(c *mcp.Config) {
		c.Within, c.Open = 20*time.Millisecond, func(ctx context.Context, _ []string) (*mcp.Index, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	for tool, arguments := range map[string]string{
		"search": `{"query":"x"}`, "grep": `{"pattern":"x"}`, "usage": `{}`, "list_sessions": `{}`, "find_fix": `{"error":"x"}`, "tool_calls": `{}`, "recap": `{}`, "read_session": `{"session":"x"}`,
	} {
		if text := g.fails(tool, arguments); !strings.Contains(text, "not answered within 20ms") {
			t.Errorf("%s: %q", tool, text)
		}
	}
	if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pigrep://session/x"}); err == nil {
		t.Error("the resource was read")
	}
}

// An expression that takes long on any line is refused. A literal never does, however long
// it is.
func TestLargePatternsForAgents(t *testing.T) {
	t.Parallel()
	g := newAgent(t, samples)
	if text := g.fails("grep", `{"pattern":"`+strings.Repeat("x{1000}", 11)+`"}`); !strings.Contains(text, "needs more than 10000 states") || !strings.Contains(text, "repeat less") {
		t.Errorf("a large expression: %q", text)
	}
	for _, arguments := range []string{`{"pattern":"` + strings.Repeat("x", 15_000) + `"}`, `{"fixed":true,"pattern":"` + strings.Repeat("[x]", 5_000) + `"}`} {
		if a, text, _ := g.call("grep", arguments); !a.Complete || a.Total != 0.0 {
			t.Errorf("a long literal: %+v, %q", a, text)
		}
	}
}
