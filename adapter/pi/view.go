package pi

import (
	"github.com/cespare/xxhash/v2"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// View implements Viewer.
func (Agent) View(state adapter.State, line adapter.Line, emit func(*session.Entry, *session.View)) []adapter.ParseError {
	p := &parser{state: state, hash: xxhash.New()}
	return p.Parse(line, func(e *session.Entry) {
		start := int(e.Offset - line.Offset)
		emit(e, p.view(e, jsonl.At(start, start+e.Length)))
	})
}

// view makes the view of the entry that was just projected. Where the shape of
// the entry is not one of pi's, the parts stand in for it.
func (p *parser) view(e *session.Entry, v jsonl.Value) *session.View {
	view := &session.View{}
	all := p.collect(v)
	done := map[session.Kind]bool{}
	switch e.Type {
	case "message":
		message := find(all, "message")
		if p.obj.Kind(message) == '{' {
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
func (p *parser) viewMessage(view *session.View, e *session.Entry, all []member, done map[session.Kind]bool) {
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
		if nested := find(all, "nestedCalls"); p.obj.Kind(nested) == '{' && e.Role == "toolResult" {
			base := len(p.members)
			for calls := p.obj.ElementsOf(find(p.collect(nested), "calls")); calls.Next(); {
				if p.obj.Kind(calls.Val) != '{' {
					continue
				}
				call := p.viewCall(p.collect(calls.Val))
				call.Nested = true
				view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: call})
			}
			p.members = p.members[:base]
		}
	}
}

// viewContent adds the blocks of a content: a text, or a list of blocks. Blocks
// of an unknown kind are left to the part that holds them.
func (p *parser) viewContent(view *session.View, kind session.Kind, v jsonl.Value, done map[session.Kind]bool) {
	if kind == session.KindOther {
		return
	}
	done[kind], done[session.KindThinking], done[session.KindCall] = true, true, true
	add := func(kind session.Kind, text jsonl.Value) {
		if s := p.obj.Text(text, &p.arena); len(s) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Text: s})
		}
	}
	for blocks := p.obj.ElementsOf(v); blocks.Next(); {
		if p.obj.Kind(blocks.Val) == '"' {
			add(kind, blocks.Val)
			continue
		}
		base := len(p.members)
		all := p.collect(blocks.Val)
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

func (p *parser) viewImage(mimeType, data jsonl.Value) *session.Image {
	image := &session.Image{MimeType: p.name(mimeType)}
	if p.obj.Kind(data) == '"' {
		image.Base64 = p.obj.Data[data.Start+1 : data.End-1]
		image.Size = len(image.Base64) / 4 * 3
		for i := len(image.Base64); i > 0 && i > len(image.Base64)-2 && image.Base64[i-1] == '='; i-- {
			image.Size--
		}
	}
	return image
}

func (p *parser) viewCall(all []member) *session.Call {
	call := &session.Call{ID: p.string(find(all, "id")), Tool: p.name(find(all, "name"))}
	if status := find(all, "status"); p.obj.Kind(status) == '"' {
		call.Failed = p.name(status) == "error"
	}
	arguments := find(all, "arguments")
	if arguments.Empty() {
		return call
	}
	call.Raw = p.obj.Raw(arguments)
	base := len(p.members)
	for _, m := range p.collect(arguments) {
		a := session.Argument{Name: string(m.key)}
		if a.Text = p.obj.Kind(m.val) == '"'; a.Text {
			a.Value = p.obj.Text(m.val, &p.arena)
		} else {
			a.Value = p.obj.Raw(m.val)
		}
		call.Arguments = append(call.Arguments, a)
	}
	p.members = p.members[:base]
	return call
}

func (p *parser) viewAttachments(view *session.View, v jsonl.Value) {
	for files := p.obj.ElementsOf(v); files.Next(); {
		base := len(p.members)
		all := p.collect(files.Val)
		name := p.obj.Text(find(all, "fileName"), &p.arena)
		text := p.obj.Text(find(all, "extractedText"), &p.arena)
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

func (p *parser) viewShell(view *session.View, all []member) {
	s := &session.Shell{
		Command:   p.string(find(all, "command")),
		Cancelled: p.isTrue(find(all, "cancelled")),
		Truncated: p.isTrue(find(all, "truncated")),
		Output:    p.string(find(all, "fullOutputPath")),
	}
	s.ExitCode, s.HasExit = p.integer(find(all, "exitCode"))
	view.Blocks = append(view.Blocks, session.Block{
		Kind: session.KindShell, Text: p.obj.Text(find(all, "output"), &p.arena), Shell: s,
	})
}
