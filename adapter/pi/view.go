package pi

import (
	"pigrep/adapter"
	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// View implements Viewer.
func (Agent) View(state adapter.State, line adapter.Line, emit func(*session.Entry, *session.View)) []adapter.ParseError {
	p := newParser(state)
	return p.Parse(line, func(e *session.Entry) { emit(e, p.view(e, p.value)) })
}

// view makes the view of the entry that was just projected. Where the shape of
// the entry is not one of pi's, the parts stand in for it.
func (p *parser) view(e *session.Entry, v jsonl.Value) *session.View {
	view := &session.View{}
	all := p.json.Fields(v)
	done := map[session.Kind]bool{}
	switch e.Type {
	case "message":
		message := all.Find("message")
		if p.json.Kind(message) == '{' {
			p.viewMessage(view, e, p.json.Fields(message), done)
		}
	case "custom_message":
		p.viewContent(view, session.KindNote, all.Find("content"), done)
	case "compaction":
		if n, ok := p.json.Int(all.Find("tokensBefore")); ok {
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
func (p *parser) viewMessage(view *session.View, e *session.Entry, all jsonl.Fields, done map[session.Kind]bool) {
	switch e.Role {
	case "bashExecution":
		p.viewShell(view, all)
		done[session.KindShell] = true
	case "system":
		// Its parts say all.
	case "compactionSummary", "branchSummary":
		if n, ok := p.json.Int(all.Find("tokensBefore")); ok {
			view.TokensBefore = n
		}
	default:
		kind := scope.OfRole(e.Role)
		p.viewContent(view, kind, all.Find("content"), done)
		if kind == session.KindPrompt {
			p.viewAttachments(view, all.Find("attachments"))
		}
		if nested := all.Find("nestedCalls"); p.json.Kind(nested) == '{' && e.Role == "toolResult" {
			for calls := p.json.Elements(p.json.Fields(nested).Find("calls")); calls.Next(); {
				if p.json.Kind(calls.Val) != '{' {
					continue
				}
				call := p.viewCall(p.json.Fields(calls.Val))
				call.Nested = true
				view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: call})
			}
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
		if s := p.json.Text(text); len(s) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Text: s})
		}
	}
	for blocks := p.json.Elements(v); blocks.Next(); {
		if p.json.Kind(blocks.Val) == '"' {
			add(kind, blocks.Val)
			continue
		}
		all := p.json.Fields(blocks.Val)
		switch p.json.Name(all.Find("type")) {
		case "text":
			add(kind, all.Find("text"))
		case "thinking":
			if !p.json.IsTrue(all.Find("redacted")) {
				add(session.KindThinking, all.Find("thinking"))
			}
		case "image":
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Image: p.viewImage(all.Find("mimeType"), all.Find("data"))})
		case "toolCall":
			view.Blocks = append(view.Blocks, session.Block{Kind: session.KindCall, Call: p.viewCall(all)})
		}
	}
}

func (p *parser) viewImage(mimeType, data jsonl.Value) *session.Image {
	image := &session.Image{MimeType: p.json.Name(mimeType)}
	if p.json.Kind(data) == '"' {
		raw := p.json.Raw(data)
		image.Base64 = raw[1 : len(raw)-1]
		image.Size = len(image.Base64) / 4 * 3
		for i := len(image.Base64); i > 0 && i > len(image.Base64)-2 && image.Base64[i-1] == '='; i-- {
			image.Size--
		}
	}
	return image
}

func (p *parser) viewCall(all jsonl.Fields) *session.Call {
	call := &session.Call{ID: p.json.String(all.Find("id")), Tool: p.json.Name(all.Find("name"))}
	if status := all.Find("status"); p.json.Kind(status) == '"' {
		call.Failed = p.json.Name(status) == "error"
	}
	arguments := all.Find("arguments")
	if arguments.Empty() {
		return call
	}
	call.Raw = p.json.Raw(arguments)
	for _, m := range p.json.Fields(arguments) {
		a := session.Argument{Name: string(m.Key)}
		if a.Text = p.json.Kind(m.Val) == '"'; a.Text {
			a.Value = p.json.Text(m.Val)
		} else {
			a.Value = p.json.Raw(m.Val)
		}
		call.Arguments = append(call.Arguments, a)
	}
	return call
}

func (p *parser) viewAttachments(view *session.View, v jsonl.Value) {
	for files := p.json.Elements(v); files.Next(); {
		all := p.json.Fields(files.Val)
		name := p.json.Text(all.Find("fileName"))
		text := p.json.Text(all.Find("extractedText"))
		image := p.viewImage(all.Find("mimeType"), all.Find("content"))
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
	}
}

func (p *parser) viewShell(view *session.View, all jsonl.Fields) {
	s := &session.Shell{
		Command:   p.json.String(all.Find("command")),
		Cancelled: p.json.IsTrue(all.Find("cancelled")),
		Truncated: p.json.IsTrue(all.Find("truncated")),
		Output:    p.json.String(all.Find("fullOutputPath")),
	}
	s.ExitCode, s.HasExit = p.json.Int(all.Find("exitCode"))
	view.Blocks = append(view.Blocks, session.Block{
		Kind: session.KindShell, Text: p.json.Text(all.Find("output")), Shell: s,
	})
}
