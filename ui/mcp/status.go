package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/ui/printer"
)

// StatusInput is the arguments of status: none.
type StatusInput struct{}

func (s *server) addStatus(m *mcp.Server) {
	add(m, s, tool[StatusInput]{
		name: "status", title: "What is indexed",
		description: "What is indexed, how fresh it is, and what was skipped.",
		output:      &jsonschema.Schema{Type: "object", Description: "as pigrep status --json prints it"}, call: s.status,
	})
}

func (s *server) status(context.Context, *StatusInput) (*mcp.CallToolResult, error) {
	f, err := s.Status()
	if err != nil {
		return nil, err
	}
	data, err := encode(printer.StatusJSON(f))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	switch {
	case f.Damage != "":
		fmt.Fprintf(&b, "The index is damaged: %s\n", f.Damage)
	case !f.Built:
		b.WriteString("There is no index yet; the first search builds it.\n")
	default:
		fmt.Fprintf(&b, "%s, %s, the newest of %s.\n", human.Plural(f.Sessions, "session", "sessions"), human.Plural(f.Entries, "entry", "entries"), minute(f.Newest))
	}
	for _, r := range f.Roots {
		fmt.Fprintf(&b, "%s: %s\n", r.Path, human.Plural(r.Files, "session file", "session files"))
	}
	if f.State.PendingFiles > 0 {
		fmt.Fprintf(&b, "%s not indexed yet.\n", human.Plural(f.State.PendingFiles, "session file is", "session files are"))
	}
	for _, path := range f.Outside {
		fmt.Fprintf(&b, "%s is not followed: the link leads out of the session directories.\n", path)
	}
	if f.State.SkippedLines > 0 {
		fmt.Fprintf(&b, "%s left out as malformed.\n", human.Plural(f.State.SkippedLines, "line is", "lines are"))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimRight(b.String(), "\n")}}, StructuredContent: data}, nil
}
