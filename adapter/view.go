package adapter

import (
	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
	"pigrep/scope"
)

// Viewer is an Adapter that can lay entries out for a person.
type Viewer interface {
	// View parses a line as the Parser of the state does, and hands each entry
	// over with its view; both are valid only during emit.
	View(state State, line Line, emit func(*session.Entry, *session.View)) []ParseError
}

// View implements Viewer.
func (pi) View(state State, line Line, emit func(*session.Entry, *session.View)) []ParseError {
	p := &piParser{state: state, hash: xxhash.New()}
	return p.Parse(line, func(e *session.Entry) {
		start := int(e.Offset - line.Offset)
		emit(e, p.view(e, value{extent: extent{start, start + e.Length}}))
	})
}

// view makes the view of the entry that was just projected. Where the shape of
// the entry is not one of pi's, the parts stand in for it.
func (p *piParser) view(e *session.Entry, v value) *session.View {
	view := &session.View{}
	all := p.collect(v)
	done := map[session.Kind]bool{}
	switch e.Type {
	case "message":
		message := find(all, "message")
		if p.obj.kind(message) == '{' {
			p.viewMessage(view, e, p.collect(message), done)
		}
	case "custom_message":
		p.viewContent(view, session.KindNote, find(all, "content"), done)
	case "compaction":
		if n, ok := p.integer(find(all, "tokensBefore")); ok {
			view.TokensBefore = n
		}
	}
	for i := range e.Parts {
		if part := &e.Parts[i]; !done[part.Kind] {
			view.Blocks = append(view.Blocks, session.Block{Kind: part.Kind, Text: part.Text})
		}
	}
	return view
}

// viewMessage adds the blocks of a message. The kinds it has dealt with are done.
func (p *piParser) viewMessage(view *session.View, e *session.Entry, all []member, done map[session.Kind]bool) {
	switch e.Role {
	case "bashExecution":
		p.viewShell(view, all)
		done[session.KindShell] = true
	case "system":
		// Its parts say all.
	case "compactionSummary", "branchSummary":
		if n, ok := p.integer(find(all, "tokensBefore")); ok {
			view.TokensBefore = n
		}
	default:
		kind := scope.OfRole(e.Role)
		p.viewContent(view, kind, find(all, "content"), done)
		if kind == session.KindPrompt {
			p.viewAttachments(view, find(all, "attachments"))
		}
		if nested := find(all, "nestedCalls"); p.obj.kind(nested) == '{' && e.Role == "toolResult" {
			base := len(p.members)
			for calls := p.obj.elementsOf(find(p.collect(nested), "calls")); calls.next(); {
				if p.obj.kind(calls.val) != '{' {
					continue
				}
				call := p.viewCall(p.collect(calls.val))
				call.Nested = true
				view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: call})
			}
			p.members = p.members[:base]
		}
	}
}

// viewContent adds the blocks of a content: a text, or a list of blocks. Blocks
// of an unknown kind are left to the part that holds them.
func (p *piParser) viewContent(view *session.View, kind session.Kind, v value, done map[session.Kind]bool) {
	if kind == session.KindOther {
		return
	}
	done[kind], done[session.KindThinking], done[session.KindCall] = true, true, true
	add := func(kind session.Kind, text value) {
		if s := p.obj.text(text, &p.arena); len(s) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Text: s})
		}
	}
	for blocks := p.obj.elementsOf(v); blocks.next(); {
		if p.obj.kind(blocks.val) == '"' {
			add(kind, blocks.val)
			continue
		}
		base := len(p.members)
		all := p.collect(blocks.val)
		switch p.name(find(all, "type")) {
		case "text":
			add(kind, find(all, "text"))
		case "thinking":
			if !p.isTrue(find(all, "redacted")) {
				add(session.KindThinking, find(all, "thinking"))
			}
		case "image":
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Image: p.viewImage(find(all, "mimeType"), find(all, "data"))})
		case "toolCall":
			view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: p.viewCall(all)})
		}
		p.members = p.members[:base]
	}
}

func (p *piParser) viewImage(mimeType, data value) *session.Image {
	image := &session.Image{MimeType: p.name(mimeType)}
	if p.obj.kind(data) == '"' {
		image.Base64 = p.obj.data[data.start+1 : data.end-1]
		image.Size = len(image.Base64) / 4 * 3
		for i := len(image.Base64); i > 0 && i > len(image.Base64)-2 && image.Base64[i-1] == '='; i-- {
			image.Size--
		}
	}
	return image
}

func (p *piParser) viewCall(all []member) *session.Call {
	call := &session.Call{ID: p.string(find(all, "id")), Tool: p.name(find(all, "name"))}
	if status := find(all, "status"); p.obj.kind(status) == '"' {
		call.Failed = p.name(status) == "error"
	}
	arguments := find(all, "arguments")
	if arguments.empty() {
		return call
	}
	call.Raw = p.obj.raw(arguments)
	base := len(p.members)
	for _, m := range p.collect(arguments) {
		a := session.Argument{Name: string(m.key)}
		if a.Text = p.obj.kind(m.val) == '"'; a.Text {
			a.Value = p.obj.text(m.val, &p.arena)
		} else {
			a.Value = p.obj.raw(m.val)
		}
		call.Arguments = append(call.Arguments, a)
	}
	p.members = p.members[:base]
	return call
}

func (p *piParser) viewAttachments(view *session.View, v value) {
	for files := p.obj.elementsOf(v); files.next(); {
		base := len(p.members)
		all := p.collect(files.val)
		name := p.obj.text(find(all, "fileName"), &p.arena)
		text := p.obj.text(find(all, "extractedText"), &p.arena)
		image := p.viewImage(find(all, "mimeType"), find(all, "content"))
		if len(text) > 0 {
			image = nil
			if len(name) > 0 {
				text = p.join(name, text)
			}
		} else {
			text = name
		}
		if image != nil || len(text) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: session.KindPrompt, Text: text, Image: image})
		}
		p.members = p.members[:base]
	}
}

func (p *piParser) viewShell(view *session.View, all []member) {
	s := &session.Shell{
		Command:   p.string(find(all, "command")),
		Cancelled: p.isTrue(find(all, "cancelled")),
		Truncated: p.isTrue(find(all, "truncated")),
		Output:    p.string(find(all, "fullOutputPath")),
	}
	s.ExitCode, s.HasExit = p.integer(find(all, "exitCode"))
	view.Blocks = append(view.Blocks, session.Block{
		Kind: session.KindShell, Text: p.obj.text(find(all, "output"), &p.arena), Shell: s,
	})
}
