package pi

import (
	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// message is the one interpretation of a message, together with the blocks of the
// parser. Its parts, facts and view are all made from it.
type message struct {
	role   string
	kind   session.Kind // of its text
	fields jsonl.Fields // none when the entry has no message
}

// block is a piece of a content, an attachment or a nested call.
type block struct {
	sort     blockSort
	value    jsonl.Value // the text of text and thinking
	text     []byte      // its text once written; of a file its name and text
	mimeType jsonl.Value // of an image or a file
	data     jsonl.Value // of an image or a file
	withText bool        // a file whose text is known
	call     call
}

type blockSort uint8

const (
	textBlock blockSort = iota
	thinkingBlock
	imageBlock
	callBlock
	fileBlock // an attachment
)

type call struct {
	id, tool  string
	arguments jsonl.Value
	status    jsonl.Value // of a nested call
	duration  jsonl.Value // of a nested call
	nested    bool        // another tool made it
	part      int         // the number of its part, -1 when it has none
}

// readMessage reads the message of an entry and writes its parts.
func (p *parser) readMessage(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		p.Miss(v)
		return
	}
	e, all := &p.Entry, p.JSON.Fields(v)
	p.message = message{role: p.JSON.Name(all.Find("role")), fields: all}
	m := &p.message
	switch m.role {
	case "pythonExecution", "jsExecution":
		m.role = session.RoleShell
	case "developer":
		m.role = session.RoleSystem
	}
	if m.kind = scope.OfRole(m.role); m.role == roleMention {
		m.kind = session.KindPrompt
	}
	e.Role = m.role
	if ms := p.JSON.Time(all.Find("timestamp")); ms != 0 {
		e.MessageTime = adapter.TimeOf(ms)
	}
	if keysOfRole[m.role] == nil && m.role != session.RoleSystem {
		p.Strange("role", m.role)
	}
	p.readContent(all.Find("content"))
	switch m.role {
	case session.RoleUser:
		p.readAttachments(all.Find("attachments"))
	case roleMention:
		p.readMentions(all.Find("files"))
	case session.RoleAssistant:
		e.Provider = p.JSON.Name(all.Find("provider"))
		e.Model = p.JSON.Name(all.Find("model"))
	case session.RoleToolResult:
		e.Tool = p.JSON.Name(all.Find("toolName"))
		e.ToolCallID = p.JSON.String(all.Find("toolCallId"))
		e.IsError = p.JSON.IsTrue(all.Find("isError"))
		p.readNested(all.Find("nestedCalls"))
	case session.RoleShell:
		n, ok := p.JSON.Int(all.Find("exitCode"))
		e.IsError = ok && n != 0
	case session.RoleCustom, session.RoleHook:
		e.CustomType = p.JSON.Name(all.Find("customType"))
	}
	p.writeMessage(m)
}

// readSystem reads the system message in a compaction and writes its parts.
func (p *parser) readSystem(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		p.Miss(v)
		return
	}
	all := p.JSON.Fields(v)
	p.readContent(all.Find("content"))
	p.writeMessage(&message{role: session.RoleSystem, kind: session.KindSystem, fields: all})
}

// readContent reads the content of a message: a text, or a list of blocks.
func (p *parser) readContent(v jsonl.Value) {
	for item := range p.JSON.Elements(v) {
		switch p.JSON.Kind(item) {
		case '"':
			p.blocks = append(p.blocks, block{sort: textBlock, value: item})
		case '{':
			p.readBlock(item)
		case '[':
			p.Miss(item)
		}
	}
}

// readBlock reads a block that is an object.
func (p *parser) readBlock(v jsonl.Value) {
	all := p.JSON.Fields(v)
	typ := p.JSON.Name(all.Find("type"))
	switch typ {
	case "text":
		p.blocks = append(p.blocks, block{sort: textBlock, value: all.Find("text")})
	case "thinking":
		if !p.JSON.IsTrue(all.Find("redacted")) {
			p.blocks = append(p.blocks, block{sort: thinkingBlock, value: all.Find("thinking")})
		}
	case "redactedThinking":
	case "image":
		p.blocks = append(p.blocks, block{sort: imageBlock, mimeType: all.Find("mimeType"), data: all.Find("data")})
	case "toolCall":
		p.readCall(all, false)
	default:
		p.Strange("block", typ)
		p.Unknown = append(p.Unknown, adapter.Unknown{Value: v, Block: true})
		return
	}
	var data []string
	if typ == "image" && p.JSON.Kind(all.Find("data")) == '"' {
		data = []string{"data"}
	}
	p.MissOthers(all, keysOfBlock[typ], data...)
}

// readCall reads a call of a tool. A nested one was made by another tool.
func (p *parser) readCall(all jsonl.Fields, nested bool) {
	p.blocks = append(p.blocks, block{sort: callBlock, call: call{
		id: p.JSON.String(all.Find("id")), tool: p.JSON.Name(all.Find("name")), arguments: all.Find("arguments"),
		status: all.Find("status"), duration: all.Find("durationMs"), nested: nested,
	}})
}

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
		p.readCall(call, true)
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
	p.blocks = append(p.blocks, block{sort: fileBlock, text: join("\n", name, text), mimeType: mimeType, data: data, withText: len(text) > 0})
}

// roleMention is that of messages with the files that a person mentioned.
const roleMention = "fileMention"
