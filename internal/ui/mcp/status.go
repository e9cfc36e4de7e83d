package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pigrep/internal/human"
	"pigrep/query"
)

// StatusInput are the arguments of status: none.
type StatusInput struct{}

// statusFacts are the fields of a status that its text tells.
type statusFacts struct {
	Built    bool             `json:"built"`
	Damage   string           `json:"damage"`
	Sessions int              `json:"sessions"`
	Entries  int              `json:"entries"`
	Newest   string           `json:"newest"`
	Index    query.IndexState `json:"index"`
	Roots    []struct {
		Path  string `json:"path"`
		Files int    `json:"files"`
	} `json:"roots"`
}

func (s *server) addStatus(m *mcp.Server) {
	add(m, s, tool[StatusInput]{
		name: "status", title: "What is indexed",
		description: "What is indexed and how fresh: session directories, numbers of sessions and entries, what is pending, skipped or unreadable.",
		output:      &jsonschema.Schema{Type: "object", Description: "as pigrep status --json prints it"}, call: s.status,
	})
}

func (s *server) status(ctx context.Context, _ *StatusInput) (*mcp.CallToolResult, error) {
	data, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	var f statusFacts
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("read the status: %w", err)
	}
	var b strings.Builder
	switch {
	case f.Damage != "":
		fmt.Fprintf(&b, "The index is damaged: %s\n", f.Damage)
	case !f.Built:
		b.WriteString("There is no index yet; the first search builds it.\n")
	default:
		fmt.Fprintf(&b, "%s, %d entries, the newest of %s.\n", human.Plural(f.Sessions, "session", "sessions"), f.Entries, f.Newest)
	}
	for _, r := range f.Roots {
		fmt.Fprintf(&b, "%s: %s\n", r.Path, human.Plural(r.Files, "session file", "session files"))
	}
	if f.Index.PendingFiles > 0 {
		fmt.Fprintf(&b, "%s not indexed yet.\n", human.Plural(f.Index.PendingFiles, "session file is", "session files are"))
	}
	if f.Index.SkippedLines > 0 {
		fmt.Fprintf(&b, "%s left out as malformed.\n", human.Plural(f.Index.SkippedLines, "line is", "lines are"))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.TrimRight(b.String(), "\n")}}, StructuredContent: data}, nil
}
