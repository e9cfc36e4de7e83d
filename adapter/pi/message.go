package pi

import (
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// readMessage reads the message of an entry.
func (p *parser) readMessage(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		p.Miss(v)
		return
	}
	e, all := &p.Entry, p.JSON.Fields(v)
	p.message, e.Role = all, p.JSON.Name(all.Find("role"))
	switch e.Role {
	case "pythonExecution", "jsExecution":
		e.Role = session.RoleShell
	case "developer":
		e.Role = session.RoleSystem
	}
	kind := scope.OfRole(e.Role)
	if ms := p.JSON.Time(all.Find("timestamp")); ms != 0 {
		e.MessageTime = adapter.TimeOf(ms)
	}
	if keysOfRole[e.Role] == nil && e.Role != session.RoleSystem {
		p.Strange("role", e.Role)
	}
	switch e.Role {
	case session.RoleAssistant:
		e.Provider = p.JSON.Name(all.Find("provider"))
		e.Model = p.JSON.Name(all.Find("model"))
	case session.RoleToolResult:
		e.Tool = p.JSON.Name(all.Find("toolName"))
		e.ToolCallID = p.JSON.String(all.Find("toolCallId"))
		e.IsError = p.JSON.IsTrue(all.Find("isError"))
	case session.RoleShell:
		n, ok := p.JSON.Int(all.Find("exitCode"))
		e.IsError = ok && n != 0
	case session.RoleCustom, session.RoleHook:
		e.CustomType = p.JSON.Name(all.Find("customType"))
	case roleMention:
		kind = session.KindPrompt
	}
	p.readContent(all.Find("content"), kind)
	p.readMembers(e.Role, kind, all)
}

// readSystem reads the system message in a compaction.
func (p *parser) readSystem(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		p.Miss(v)
		return
	}
	all := p.JSON.Fields(v)
	p.readContent(all.Find("content"), session.KindSystem)
	p.readMembers(session.RoleSystem, session.KindSystem, all)
}

// readContent reads the content of a message: a text, or a list of blocks. Text becomes parts of the kind.
func (p *parser) readContent(v jsonl.Value, kind session.Kind) {
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
	part := session.Part{Kind: kind}
	p.ofResult(&part)
	p.Findable(part)
}

func (p *parser) readText(v jsonl.Value, kind session.Kind) {
	if kind == session.KindOther {
		if !v.Empty() {
			p.Miss(v)
		}
		return
	}
	text := p.Part(kind, v)
	if kind == session.KindPrompt && p.JSON.Kind(v) == '"' {
		p.Builder.AddPrompt(text)
	}
}

// readBlock reads a block that is an object.
func (p *parser) readBlock(v jsonl.Value, kind session.Kind) {
	all := p.JSON.Fields(v)
	typ := p.JSON.Name(all.Find("type"))
	data := ""
	switch typ {
	case "text":
		p.readText(all.Find("text"), kind)
	case "thinking":
		if !p.JSON.IsTrue(all.Find("redacted")) {
			p.Part(session.KindThinking, all.Find("thinking"))
		}
	case "redactedThinking":
	case "image":
		p.ShowImage(kind, adapter.Image(&p.JSON, all.Find("mimeType"), all.Find("data")))
		if p.JSON.Kind(all.Find("data")) == '"' {
			data = "data"
		}
	case "toolCall":
		p.AddCall(p.JSON.Name(all.Find("name")), p.JSON.String(all.Find("id")), all.Find("arguments"))
	default:
		p.Strange("block", typ)
		p.Unknown = append(p.Unknown, adapter.Unknown{Value: v, Block: true})
		return
	}
	p.MissOthers(all, keysOfBlock[typ], data)
}

// readNested reads the calls that another tool made.
func (p *parser) readNested(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		if !v.Empty() {
			p.Miss(v)
		}
		return
	}
	all := p.JSON.Fields(v)
	p.MissOthers(all, nil, "calls")
	for made := range p.JSON.Elements(all.Find("calls")) {
		if p.JSON.Kind(made) != '{' {
			p.Miss(made)
			continue
		}
		call := p.JSON.Fields(made)
		c := p.AddCall(p.JSON.Name(call.Find("name")), p.JSON.String(call.Find("id")), call.Find("arguments"))
		c.Nested, c.Failed, c.Duration = true, p.JSON.Name(call.Find("status")) == "error", adapter.Millis(&p.JSON, call.Find("durationMs"))
		p.MissOthers(call, nestedKeys)
	}
}

// readAttachments reads what a user of the first format attached: the name of each
// file and the text found in it, never the file itself.
func (p *parser) readAttachments(v jsonl.Value) {
	for file := range p.JSON.Elements(v) {
		all := p.JSON.Fields(file)
		p.addFile(p.JSON.Text(all.Find("fileName")), p.JSON.Text(all.Find("extractedText")), all.Find("mimeType"), all.Find("content"))
		p.MissOthers(all, attachmentKeys)
	}
}

func (p *parser) addFile(name, text []byte, mimeType, data jsonl.Value) {
	image := adapter.Image(&p.JSON, mimeType, data)
	if strings.HasPrefix(image.MimeType, "image/") {
		p.Entry.Images = append(p.Entry.Images, session.Image{MimeType: image.MimeType, Size: image.Size})
	}
	if p.Add(session.KindPrompt, join("\n", name, text)); len(text) == 0 {
		p.ShowFile(image)
	}
}

// roleMention is that of messages with the files that a person mentioned.
const roleMention = "fileMention"
