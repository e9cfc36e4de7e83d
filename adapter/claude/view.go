package claude

import (
	"bytes"
	"fmt"

	"pigrep/internal/session"
)

// View implements adapter.Viewer.
func (p *parser) View(e *session.Entry) *session.View {
	view := p.LineParser.View(e)
	if e.Type == session.TypeCompaction {
		view.TokensBefore, _ = p.JSON.Int(p.JSON.Fields(p.All.Find("compactMetadata")).Find("preTokens"))
	}
	if e.Role == session.RoleToolResult {
		view.Diff = p.diff()
	}
	return view
}

// diff returns what an edit changed, as Claude Code recorded it, as a unified diff; nil if
// there is none.
func (p *parser) diff() []byte {
	made := p.JSON.Fields(p.All.Find("toolUseResult"))
	patch := made.Find("structuredPatch")
	if p.JSON.Kind(patch) != '[' {
		return nil
	}
	var out bytes.Buffer
	path := p.JSON.Text(made.Find("filePath"))
	for each := range p.JSON.Elements(patch) {
		hunk := p.JSON.Fields(each)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
		}
		number := func(key string) int64 { n, _ := p.JSON.Int(hunk.Find(key)); return n }
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", number("oldStart"), number("oldLines"), number("newStart"), number("newLines"))
		for line := range p.JSON.Elements(hunk.Find("lines")) {
			out.Write(p.JSON.Text(line))
			out.WriteByte('\n')
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return out.Bytes()
}
