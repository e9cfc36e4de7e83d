package claude

import (
	"bytes"
	"cmp"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// readMessage reads a line with a message.
func (p *parser) readMessage(typ string) {
	e, v := &p.Entry, p.All.Find("message")
	e.Type = session.TypeMessage
	p.MissOthers(p.All, messageLineKeys)
	p.message = p.JSON.Fields(v)
	if p.JSON.Kind(v) != '{' && !v.Empty() {
		p.Miss(v)
	}
	p.MissOthers(p.message, messageKeys)
	content := p.message.Find("content")
	if role := p.message.Find("role"); !role.Empty() && p.JSON.Name(role) != typ {
		p.Strange("role", p.JSON.Name(role))
	}
	if typ == lineAssistant {
		e.Role = session.RoleAssistant
		if model := p.JSON.Name(p.message.Find("model")); model != "" && model[0] != '<' { // <synthetic> is no model
			if e.Model = model; strings.HasPrefix(model, "claude") { // else a gateway may have put another one in its place
				e.Provider = "anthropic"
			}
		}
		p.readBlocks(content, session.KindReply)
		p.readFailure()
	} else {
		p.readBlocks(content, session.KindPrompt)
		p.finishUser()
		if e.Role != session.RoleToolResult {
			p.shadow(false)
		}
	}
	p.Rest()
	p.details()
}

// readBlocks reads the content of a message: a text, or a list of blocks.
func (p *parser) readBlocks(v jsonl.Value, kind session.Kind) {
	for item := range p.JSON.Elements(v) {
		switch p.JSON.Kind(item) {
		case '"':
			p.readText(item, kind)
		case '{':
			p.readBlock(item, kind)
		case '[':
			p.Miss(item)
		}
	}
	if c := p.JSON.Kind(v); c != '[' && c != '{' && c != '"' && c != 'n' && c != 0 {
		p.Miss(v)
	}
	part := session.Part{Kind: session.KindPrompt, ToolCallID: p.Entry.ToolCallID}
	if p.Entry.Role == session.RoleToolResult {
		part.Kind = session.KindResult
	}
	p.Findable(part)
}

// readText reads a text of a message. That of a user may be several: see readTexts.
func (p *parser) readText(v jsonl.Value, kind session.Kind) {
	if kind == session.KindPrompt && p.JSON.Kind(v) == '"' {
		p.readTexts(v)
		return
	}
	p.Part(kind, v)
}

// readBlock reads a block that is an object.
func (p *parser) readBlock(v jsonl.Value, kind session.Kind) {
	all := p.JSON.Fields(v)
	typ := p.JSON.Name(all.Find("type"))
	known, ok := blockKeys[typ]
	if !ok && !(kind == session.KindReply && strings.HasSuffix(typ, "_tool_result")) {
		if typ != "fallback" { // to another model, which the reply names
			p.Strange("block", typ)
		}
		p.Unknown = append(p.Unknown, adapter.Unknown{Value: v, Block: true})
		return
	}
	switch typ {
	case "text":
		p.readText(all.Find("text"), kind)
	case "thinking":
		p.Part(session.KindThinking, all.Find("thinking"))
	case "tool_use", "server_tool_use":
		p.AddCall(p.JSON.Name(all.Find("name")), p.JSON.String(all.Find("id")), all.Find("input"))
	case "tool_result":
		p.readResult(all)
	case "image", "document":
		if !p.readImage(all.Find("source")) {
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: v, Block: true})
			return
		}
	case "redacted_thinking":
	default: // the result of a tool that the provider runs, such as web_search_tool_result
		p.addResult(p.JSON.String(all.Find("tool_use_id")), all.Find("content"))
		known = blockKeys["tool_result"]
	}
	p.MissOthers(all, known)
}

func (p *parser) readResult(all jsonl.Fields) {
	e := &p.Entry
	id := p.JSON.String(all.Find("tool_use_id"))
	e.Role = session.RoleToolResult
	e.ToolCallID = cmp.Or(e.ToolCallID, id)
	failed := p.JSON.IsTrue(all.Find("is_error"))
	if failed && e.ToolCallID == id && p.isRejection(all.Find("content")) {
		failed, p.Facts.Rejected = false, true
	}
	e.IsError = e.IsError || failed
	add := func(text jsonl.Value) {
		p.addResult(id, text)
		if bytes.HasPrefix(p.JSON.Raw(text), []byte(`"<persisted-output>`)) {
			e.CustomType = session.PartialResult // the beginning of an output, which Claude Code has written to a file below tool-results
		}
	}
	for item := range p.JSON.Elements(all.Find("content")) {
		fields := p.JSON.Fields(item)
		switch typ := p.JSON.Name(fields.Find("type")); {
		case p.JSON.Kind(item) == '"':
			add(item)
		case typ == "text":
			add(fields.Find("text"))
			p.MissOthers(fields, blockKeys["text"])
		case typ == "image" && p.readImage(fields.Find("source")):
		case typ == "tool_reference":
			add(fields.Find("tool_name"))
			p.MissOthers(fields, nil, "type", "tool_name")
		default:
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: item, Block: true})
		}
	}
}

// addResult adds a text of the result of a call.
func (p *parser) addResult(id string, v jsonl.Value) {
	before := len(p.Entry.Parts)
	if p.AddResult(v); len(p.Entry.Parts) > before {
		p.Entry.Parts[before].ToolCallID = id
	}
}

// readImage reads the source of an image or a document. It reports whether its data is no
// text.
func (p *parser) readImage(source jsonl.Value) bool {
	all := p.JSON.Fields(source)
	return p.JSON.Name(all.Find("type")) == "base64" && p.AddImage(session.KindPrompt, all.Find("media_type"), all.Find("data"))
}

// readFailure makes the text of a reply an error if Claude Code wrote it in place of one.
func (p *parser) readFailure() {
	e := &p.Entry
	if !p.JSON.IsTrue(p.All.Find("isApiErrorMessage")) {
		return
	}
	e.IsError = true
	for i := range e.Parts {
		if e.Parts[i].Kind == session.KindReply {
			e.Parts[i].Kind = session.KindError
		}
	}
}
