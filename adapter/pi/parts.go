package pi

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// writeMessage writes the parts of a message whose blocks have been read.
func (p *parser) writeMessage(m *message) {
	p.writeBlocks(m.kind)
	known := len(p.Unknown)
	own, ok := keysOfRole[m.role]
	if !ok {
		own = messageKeys
	}
	p.MissOthers(m.fields, own)
	switch m.role {
	case session.RoleUser:
		p.Entry.UserText = string(p.Prompt)
	case session.RoleAssistant:
		p.writeFailure(m.fields.Find("errorMessage"), m.fields.Find("stopReason"))
	case session.RoleShell:
		p.writeShell(p.typed(), m.fields.Find("output"))
	case session.RoleCompactionSummary, session.RoleBranchSummary:
		p.Part(m.kind, m.fields.Find("summary"))
	case session.RoleSystem:
		// Sections and tools repeat most of the content.
		p.leafPart(session.KindSystem, p.Unknown[known:], p.Entry.Parts)
		p.Unknown = p.Unknown[:known]
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
			b.text = p.Part(session.KindThinking, b.value)
		case imageBlock:
			p.writeImage(b)
		case callBlock:
			b.call.part = -1
			if n := len(p.Entry.Parts); len(p.Call(b.call.tool, b.call.id, b.call.arguments)) > 0 {
				b.call.part = n
			}
		case fileBlock:
			if strings.HasPrefix(p.JSON.Name(b.mimeType), "image/") {
				p.writeImage(b)
			}
			p.Add(session.KindPrompt, b.text)
		}
	}
	part := session.Part{Kind: kind}
	p.ofResult(&part)
	p.Findable(part)
}

func (p *parser) writeText(kind session.Kind, b *block) {
	if kind == session.KindOther {
		if !b.value.Empty() {
			p.Miss(b.value)
		}
		return
	}
	b.text = p.Part(kind, b.value)
	if kind == session.KindPrompt && p.JSON.Kind(b.value) == '"' {
		p.Builder.AddPrompt(b.text)
	}
}

// writeImage records the type and the size of an image.
func (p *parser) writeImage(b *block) {
	image := adapter.Image(&p.JSON, b.mimeType, b.data)
	image.Base64 = nil
	p.Entry.Images = append(p.Entry.Images, image)
}

// join joins the texts that are not empty, with a separator between them.
func join(between string, texts ...[]byte) []byte {
	return bytes.Join(slices.DeleteFunc(texts, func(text []byte) bool { return len(text) == 0 }), []byte(between))
}

// writeShell writes a command that the user ran, with its output.
func (p *parser) writeShell(command, output jsonl.Value) {
	for _, v := range []jsonl.Value{command, output} {
		if c := p.JSON.Kind(v); c != '"' && c != 0 {
			p.Miss(v)
		}
	}
	p.Add(session.KindShell, join("\n", p.JSON.Text(command), p.JSON.Text(output)))
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
	text := p.JSON.Text(message)
	if len(text) == 0 {
		if c := p.JSON.Kind(message); c == '{' || c == '[' {
			p.Miss(message)
		}
		return
	}
	p.Entry.IsError = true
	p.Add(session.KindError, join(": ", p.JSON.Text(reason), text))
}

func (p *parser) wants(v jsonl.Value) bool {
	return !p.Sparse || !v.Empty() && p.Line.Wanted(p.JSON.Raw(v))
}

func (p *parser) onPart(part *session.Part) {
	p.unsure = p.unsure || p.missing
	p.ofResult(part)
}

// ofResult names, in a part of a tool result, its tool and the call that it answers.
func (p *parser) ofResult(part *session.Part) {
	if p.Entry.Role == session.RoleToolResult {
		part.Tool, part.ToolCallID = p.Entry.Tool, p.Entry.ToolCallID
	}
}

// details adds the strings of details that no part so far contains.
func (p *parser) details(v jsonl.Value) {
	p.leafPart(session.KindDetails, []adapter.Unknown{{Value: v}}, p.Entry.Parts)
}

// leafPart adds one part with the strings of the values, except those that a held
// part contains.
func (p *parser) leafPart(kind session.Kind, values []adapter.Unknown, held []session.Part) {
	some, wanted := false, false
	for _, v := range values {
		switch p.JSON.Kind(v.Value) {
		case '"', '{', '[':
			some, wanted = true, wanted || p.wants(v.Value)
		}
	}
	if !some {
		return
	}
	if !wanted {
		p.missing = true
		return
	}
	if p.Sparse && len(held) > 0 { // which may not be read
		p.unsure = !p.Counted(kind, values, longest(held)) || p.unsure
		return
	}
	p.held = p.held[:0]
	for i := range held {
		p.held = append(p.held, held[i].Text)
	}
	p.AddLeaves(kind, values, p.held)
}

// longest returns how many bytes the longest text of some parts has, or more.
func longest(parts []session.Part) (n int) {
	for i := range parts {
		part := &parts[i]
		if n = max(n, len(part.Text), utf8.UTFMax*len(part.JSON)); part.Lines > 0 {
			return math.MaxInt
		}
	}
	return n
}
