package pi

import (
	"slices"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// maxPrompt bounds Entry.UserText, which is only shown.
const maxPrompt = 64 << 10

// writeMessage writes the parts of a message whose blocks have been read.
func (p *parser) writeMessage(m *message) {
	p.writeBlocks(m.kind)
	known := len(p.unknown)
	own := keysOfRole[m.role]
	p.notKnown(m.fields, func(key []byte) bool { return messageKeys.has(key) || own.has(key) })
	switch m.role {
	case session.RoleUser:
		p.entry.UserText = string(p.prompt)
	case session.RoleAssistant:
		p.writeFailure(m.fields.Find("errorMessage"), m.fields.Find("stopReason"))
	case session.RoleShell:
		p.writeShell(p.typed(), m.fields.Find("output"))
	case session.RoleCompactionSummary, session.RoleBranchSummary:
		p.part(m.kind, m.fields.Find("summary"))
	case session.RoleSystem:
		// Sections and tools repeat most of the content.
		p.leafPart(session.KindSystem, p.unknown[known:], p.entry.Parts)
		p.unknown = p.unknown[:known]
	}
	p.details(m.fields.Find("details"))
}

// writeBlocks writes the parts of the blocks that have been read. Text becomes parts
// of the given kind.
func (p *parser) writeBlocks(kind session.Kind) {
	for i := range p.blocks {
		switch b := &p.blocks[i]; b.sort {
		case textBlock:
			p.writeText(kind, b)
		case thinkingBlock:
			b.text = p.part(session.KindThinking, b.value)
		case imageBlock:
			p.writeImage(b)
		case callBlock:
			p.writeCall(&b.call)
		case fileBlock:
			if p.isImage(b) {
				p.writeImage(b)
			}
			p.add(session.KindPrompt, b.text)
		}
	}
	if len(p.entry.Parts) == 0 && len(p.entry.Images) > 0 { // without any part no search could find it
		p.entry.Parts = append(p.entry.Parts, p.ofResult(session.Part{Kind: kind}))
	}
}

func (p *parser) writeText(kind session.Kind, b *block) {
	if kind == session.KindOther {
		if !b.value.Empty() {
			p.unknown = append(p.unknown, unknown{Value: b.value})
		}
		return
	}
	b.text = p.part(kind, b.value)
	if kind == session.KindPrompt && p.json.Kind(b.value) == '"' {
		if len(p.prompt) > 0 {
			p.prompt = append(p.prompt, ' ')
		}
		p.prompt = append(p.prompt, session.Cut(b.text, maxPrompt-len(p.prompt))...)
	}
}

// writeImage records the type and the size of an image.
func (p *parser) writeImage(b *block) {
	image := adapter.Image(&p.json, b.mimeType, b.data)
	image.Base64 = nil
	p.entry.Images = append(p.entry.Images, image)
}

func (p *parser) writeCall(c *call) {
	c.part = -1
	if c.unwanted && len(c.tool) > 0 {
		p.entry.Parts = append(p.entry.Parts, session.Part{Kind: session.KindCall, Tool: c.tool, ToolCallID: c.id})
		return
	}
	room := p.json.Room(len(c.tool) + c.arguments.End - c.arguments.Start + 64)
	p.leaves.Begin(&p.json, append(room, c.tool...), true, nil)
	if !c.arguments.Empty() && p.json.Kind(c.arguments) != 'n' {
		p.leaves.Add(c.arguments, false)
	}
	if text := p.json.Keep(p.leaves.End()); len(text) > 0 {
		c.part = len(p.entry.Parts)
		p.entry.Parts = append(p.entry.Parts, session.Part{Kind: session.KindCall, Text: text, Tool: c.tool, ToolCallID: c.id})
	}
}

// join returns two texts as one.
func (p *parser) join(a []byte, between string, b []byte) []byte {
	text := append(p.json.Room(len(a)+len(between)+len(b)), a...)
	text = append(text, between...)
	return p.json.Keep(append(text, b...))
}

// writeShell writes a command that the user ran, with its output.
func (p *parser) writeShell(command, output jsonl.Value) {
	for _, v := range []jsonl.Value{command, output} {
		if c := p.json.Kind(v); c != '"' && c != 0 {
			p.unknown = append(p.unknown, unknown{Value: v})
		}
	}
	a, b := p.json.Text(command), p.json.Text(output)
	switch {
	case len(a) == 0:
		p.add(session.KindShell, b)
	case len(b) == 0:
		p.add(session.KindShell, a)
	default:
		p.add(session.KindShell, p.join(a, "\n", b))
	}
}

// typed returns what a user ran: a command, or the code of another language.
func (p *parser) typed() jsonl.Value {
	if v := p.message.fields.Find("command"); !v.Empty() {
		return v
	}
	return p.message.fields.Find("code")
}

// writeFailure writes the error that ended a reply, preceded by the stop reason.
func (p *parser) writeFailure(message, reason jsonl.Value) {
	text := p.json.Text(message)
	if len(text) == 0 {
		if c := p.json.Kind(message); c == '{' || c == '[' {
			p.unknown = append(p.unknown, unknown{Value: message})
		}
		return
	}
	p.entry.IsError = true
	if why := p.json.Text(reason); len(why) > 0 {
		text = p.join(why, ": ", text)
	}
	p.add(session.KindError, text)
}

// part adds a part with the text of a string, and returns that text. A value of
// another shape is unknown.
func (p *parser) part(kind session.Kind, v jsonl.Value) []byte {
	if c := p.json.Kind(v); c == '{' || c == '[' {
		p.unknown = append(p.unknown, unknown{Value: v})
		return nil
	}
	if p.sparse {
		p.addPart(session.Part{Kind: kind, JSON: p.json.JSON(v)})
		return nil
	}
	text := p.json.Text(v)
	p.add(kind, text)
	return text
}

// wants reports whether the text in a value is wanted.
func (p *parser) wants(v jsonl.Value) bool {
	return !p.sparse || !v.Empty() && p.wanted(p.json.Raw(v))
}

// add adds a part with a text.
func (p *parser) add(kind session.Kind, text []byte) {
	p.addPart(session.Part{Kind: kind, Text: text})
}

// addPart adds a part, unless its text is empty.
func (p *parser) addPart(part session.Part) {
	if len(part.Text)+len(part.JSON) == 0 {
		return
	}
	p.unsure = p.unsure || p.missing
	p.entry.Parts = append(p.entry.Parts, p.ofResult(part))
}

// ofResult returns a part that, in a tool result, names its tool and the call that it
// answers.
func (p *parser) ofResult(part session.Part) session.Part {
	if p.entry.Role == session.RoleToolResult {
		part.Tool, part.ToolCallID = p.entry.Tool, p.entry.ToolCallID
	}
	return part
}

// details adds the strings of details that no part so far contains.
func (p *parser) details(v jsonl.Value) {
	if !v.Empty() {
		p.leafPart(session.KindDetails, []unknown{{Value: v}}, p.entry.Parts)
	}
}

// strings adds the strings of a value.
func (p *parser) strings(kind session.Kind, v jsonl.Value) {
	if !v.Empty() {
		p.leafPart(kind, []unknown{{Value: v}}, nil)
	}
}

// other adds the strings that no rule covers, in file order.
func (p *parser) other() {
	slices.SortFunc(p.unknown, func(a, b unknown) int { return a.Start - b.Start })
	p.leafPart(session.KindOther, p.unknown, nil)
}

// leafPart adds one part with the strings of the values, except those that a held
// part contains.
func (p *parser) leafPart(kind session.Kind, values []unknown, held []session.Part) {
	size, wanted := 0, false
	for _, v := range values {
		switch p.json.Kind(v.Value) {
		case '"', '{', '[':
			size += v.End - v.Start
			wanted = wanted || p.wants(v.Value)
		}
	}
	if size == 0 {
		return
	}
	if !wanted {
		p.missing = true
		return
	}
	if p.sparse && len(held) > 0 { // which may not be read
		p.unsure = true
		return
	}
	p.held = p.held[:0]
	for i := range held {
		p.held = append(p.held, held[i].Text)
	}
	p.leaves.Begin(&p.json, p.json.Room(size), false, p.held)
	for _, v := range values {
		p.leaves.Add(v.Value, v.block)
	}
	p.add(kind, p.json.Keep(p.leaves.End()))
}
