package claude

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// View implements adapter.Viewer.
func (Agent) View(state adapter.State, line adapter.Line, emit func(*session.Entry, *session.View)) []adapter.ParseError {
	p := newParser(state)
	return p.Parse(line, func(e *session.Entry) { emit(e, p.view(e)) })
}

// view makes the view of the entry that has been read: its blocks, then the parts that come
// from none.
func (p *parser) view(e *session.Entry) *session.View {
	view := &session.View{}
	if e.Type == session.TypeCompaction {
		view.TokensBefore, _ = p.json.Int(p.json.Fields(p.all.Find("compactMetadata")).Find("preTokens"))
	}
	done := make(map[int]bool)
	for i := range p.blocks {
		b := &p.blocks[i]
		shown := session.Block{Kind: b.kind, Text: b.text}
		switch {
		case b.sort == imageBlock:
			image := b.image
			image.Base64 = p.json.JSON(b.data)
			shown = session.Block{Kind: session.KindPrompt, Image: &image}
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
	does := toolOf(b.call.tool)
	call := &session.Call{ID: b.id, Tool: b.call.tool, Deed: does.deed}
	if b.call.input.Empty() {
		return call
	}
	call.Raw = p.json.Raw(b.call.input)
	for _, m := range p.json.Fields(b.call.input) {
		a := session.Argument{Name: string(m.Key)}
		if a.Text = p.json.Kind(m.Val) == '"'; a.Text {
			a.Value = p.json.Text(m.Val)
		} else {
			a.Value = p.json.Raw(m.Val)
		}
		if a.Text && a.Name == does.command {
			call.Command = a.Value
		}
		call.Arguments = append(call.Arguments, a)
	}
	addEdits(call, does)
	return call
}

// addEdits adds what a call changes in its file. A call whose arguments have another form is
// left as it is.
func addEdits(c *session.Call, does tool) {
	path := c.Argument(does.file)
	if path == "" || does.deed != session.DeedEdit && does.deed != session.DeedWrite {
		return
	}
	texts := make(map[string]*session.Argument)
	for i := range c.Arguments {
		texts[c.Arguments[i].Name] = &c.Arguments[i]
	}
	var edits []session.Edit
	used := []string{does.file}
	old, added, content, list := texts["old_string"], texts["new_string"], texts["content"], texts["edits"]
	switch {
	case old != nil && added != nil && old.Text && added.Text:
		edits = []session.Edit{{Path: path, Old: old.Value, New: added.Value}}
		used = append(used, "old_string", "new_string")
	case does.deed == session.DeedWrite && content != nil && content.Text:
		edits = []session.Edit{{Path: path, New: content.Value, Whole: true}}
		used = append(used, "content")
	case list != nil:
		var all []struct {
			Old *string `json:"old_string"`
			New *string `json:"new_string"`
		}
		if json.Unmarshal(list.Value, &all) != nil {
			return
		}
		for _, e := range all {
			if e.Old == nil || e.New == nil {
				return
			}
			edits = append(edits, session.Edit{Path: path, Old: []byte(*e.Old), New: []byte(*e.New)})
		}
		used = append(used, "edits")
	}
	if len(edits) == 0 {
		return
	}
	c.Edits = edits
	for _, name := range used {
		texts[name].Edits = true
	}
}

// diff returns what an edit changed, as Claude Code recorded it, as a unified diff; nil if
// there is none.
func (p *parser) diff() []byte {
	made := p.json.Fields(p.all.Find("toolUseResult"))
	patch := made.Find("structuredPatch")
	if p.json.Kind(patch) != '[' {
		return nil
	}
	var out bytes.Buffer
	path := p.json.Text(made.Find("filePath"))
	for hunks := p.json.Elements(patch); hunks.Next(); {
		hunk := p.json.Fields(hunks.Val)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
		}
		number := func(key string) int64 { n, _ := p.json.Int(hunk.Find(key)); return n }
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", number("oldStart"), number("oldLines"), number("newStart"), number("newLines"))
		p.writeHunk(&out, hunk.Find("lines"))
	}
	if out.Len() == 0 {
		return nil
	}
	return out.Bytes()
}

func (p *parser) writeHunk(out *bytes.Buffer, lines jsonl.Value) {
	for list := p.json.Elements(lines); list.Next(); {
		out.Write(p.json.Text(list.Val))
		out.WriteByte('\n')
	}
}
