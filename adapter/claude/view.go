package claude

import (
	"bytes"
	"fmt"
	"slices"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// View implements adapter.Viewer. It has the blocks of the entry, then the parts that come from
// none.
func (p *parser) View(e *session.Entry) *session.View {
	view := &session.View{Rejected: p.rejected}
	if e.Type == session.TypeCompaction {
		view.TokensBefore, _ = p.JSON.Int(p.JSON.Fields(p.All.Find("compactMetadata")).Find("preTokens"))
	}
	done := make(map[int]bool)
	for i := range p.blocks {
		b := &p.blocks[i]
		shown := session.Block{Kind: b.kind, Text: b.text}
		switch {
		case b.sort == imageBlock:
			shown = session.Block{Kind: session.KindPrompt, Image: &b.image}
			if e.Role == session.RoleToolResult {
				shown.Kind = session.KindResult
			}
		case b.part < 0:
			continue
		case b.sort == callBlock:
			shown.Text, shown.Call = nil, p.viewCall(b)
		case b.sort == shellBlock:
			shown.Text, shown.Shell = nil, &session.Shell{Command: string(b.text)}
		default:
			shown.Kind = e.Parts[b.part].Kind
		}
		done[b.part] = true
		view.Blocks = append(view.Blocks, shown)
	}
	for i := range e.Parts {
		if part := &e.Parts[i]; !done[i] && len(part.Text) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: part.Kind, Text: part.Text})
		}
	}
	if e.Role == session.RoleToolResult {
		view.Diff = p.diff()
	}
	return view
}

func (p *parser) viewCall(b *block) *session.Call {
	does := tools()[b.call.tool]
	call := &session.Call{ID: b.id, Tool: b.call.tool, Deed: does.Deed}
	if b.call.input.Empty() {
		return call
	}
	call.Raw = p.JSON.Raw(b.call.input)
	call.Arguments = adapter.Arguments(&p.JSON, b.call.input)
	if i := slices.IndexFunc(call.Arguments, func(a session.Argument) bool { return a.Text && a.Name == does.Command }); i >= 0 {
		call.Command = call.Arguments[i].Value
	}
	adapter.AddEdits(call)
	return call
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
