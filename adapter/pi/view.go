package pi

import (
	"bytes"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// View implements adapter.Viewer. Content without blocks is shown by its parts.
func (p *parser) View(e *session.Entry) *session.View {
	view := &session.View{}
	var done map[session.Kind]bool // kinds whose parts are in the view already
	switch e.Type {
	case session.TypeMessage:
		done = p.viewMessage(view)
	case session.TypeCustomMessage:
		done = p.viewBlocks(view, session.KindNote)
	case session.TypeCompaction:
		view.TokensBefore, _ = p.JSON.Int(p.All.Find("tokensBefore"))
	}
	for i := range e.Parts {
		if part := &e.Parts[i]; !done[part.Kind] {
			view.Blocks = append(view.Blocks, session.Block{Kind: part.Kind, Text: part.Text})
		}
	}
	return view
}

// viewMessage adds the blocks of a message. It returns the kinds whose parts are
// then in the view.
func (p *parser) viewMessage(view *session.View) (done map[session.Kind]bool) {
	m := &p.message
	switch m.role {
	case session.RoleShell:
		p.viewShell(view)
		return map[session.Kind]bool{session.KindShell: true}
	case session.RoleSystem:
		// Its parts are enough.
	case session.RoleCompactionSummary, session.RoleBranchSummary:
		view.TokensBefore, _ = p.JSON.Int(m.fields.Find("tokensBefore"))
	default:
		if m.kind != session.KindOther && m.fields != nil {
			done = p.viewBlocks(view, m.kind)
			if m.role == session.RoleToolResult && p.viewDiff(view) {
				done[session.KindDetails] = true
			}
			return done
		}
	}
	return nil
}

// viewBlocks adds the blocks that were read. Unknown ones appear as the part that has
// their text. It returns the kinds whose parts are then in the view.
func (p *parser) viewBlocks(view *session.View, kind session.Kind) (done map[session.Kind]bool) {
	for i := range p.blocks {
		b := &p.blocks[i]
		shown := session.Block{Kind: kind, Text: b.text}
		switch b.sort {
		case thinkingBlock:
			shown.Kind = session.KindThinking
		case imageBlock:
			shown.Image = new(adapter.Image(&p.JSON, b.mimeType, b.data))
		case callBlock:
			shown.Kind, shown.Call = session.KindCall, p.viewCall(&b.call)
		case fileBlock:
			if !b.withText {
				shown.Image = new(adapter.Image(&p.JSON, b.mimeType, b.data))
			}
		}
		if len(shown.Text) > 0 || shown.Image != nil || shown.Call != nil {
			view.Blocks = append(view.Blocks, shown)
		}
	}
	return map[session.Kind]bool{kind: true, session.KindThinking: true, session.KindCall: true}
}

func (p *parser) viewCall(c *call) *session.Call {
	does := toolOf(c.tool)
	call := &session.Call{ID: c.id, Tool: c.tool, Deed: does.Deed, Nested: c.nested, Failed: p.failed(c)}
	if c.arguments.Empty() {
		return call
	}
	call.Raw = p.JSON.Raw(c.arguments)
	call.Arguments = adapter.Arguments(&p.JSON, c.arguments)
	for _, m := range p.JSON.Fields(c.arguments) {
		if call.Command == nil && isCommand(does, m.Key) {
			call.Command = p.command(m.Val)
		}
	}
	adapter.AddEdits(call)
	return call
}

func (p *parser) viewShell(view *session.View) {
	fields := p.message.fields
	s := &session.Shell{
		Command:   p.JSON.String(p.typed()),
		Cancelled: p.JSON.IsTrue(fields.Find("cancelled")),
	}
	s.ExitCode, s.HasExit = p.JSON.Int(fields.Find("exitCode"))
	view.Blocks = append(view.Blocks, session.Block{
		Kind: session.KindShell, Text: p.JSON.Text(fields.Find("output")), Shell: s,
	})
}

// isDiff reports whether a text is a diff: a unified one, or lines with signs.
func isDiff(text []byte) bool {
	if adapter.IsPatch(text) || bytes.Contains(text, []byte("\n@@ -")) {
		return true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > 0 && !strings.ContainsRune("+- ", rune(line[0])) {
			return false
		}
	}
	return len(bytes.TrimSpace(text)) > 0
}

// viewDiff adds the diff in the details of a result, and the other details. It reports
// whether there is a diff.
func (p *parser) viewDiff(view *session.View) bool {
	details := p.message.fields.Find("details")
	fields := p.JSON.Fields(details)
	for _, name := range [...]string{"diff", "patch"} {
		if v := fields.Find(name); p.JSON.Kind(v) == '"' && isDiff(p.JSON.Text(v)) {
			view.Diff = p.JSON.Text(v)
			break
		}
	}
	if view.Diff == nil {
		return false
	}
	p.Leaves.Begin(&p.JSON, p.JSON.Room(details.End-details.Start), false, nil)
	for _, other := range adapter.AppendOthers(nil, fields, nil, "diff", "patch") {
		p.Leaves.Add(other.Value, false)
	}
	if rest := p.JSON.Keep(p.Leaves.End()); len(rest) > 0 {
		view.Blocks = append(view.Blocks, session.Block{Kind: session.KindDetails, Text: rest})
	}
	return true
}
