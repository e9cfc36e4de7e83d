package pi

import (
	"bytes"
	"slices"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// readMembers reads the members of a message beside its content.
func (p *parser) readMembers(role string, kind session.Kind, all jsonl.Fields) {
	switch role {
	case session.RoleUser:
		p.readAttachments(all.Find("attachments"))
	case roleMention:
		p.readMentions(all.Find("files"))
	case session.RoleToolResult:
		p.readNested(all.Find("nestedCalls"))
	}
	known := len(p.Unknown)
	own, ok := keysOfRole[role]
	if !ok {
		own = messageKeys
	}
	p.MissOthers(all, own)
	switch role {
	case session.RoleUser:
		p.Entry.UserText = string(p.Prompt)
	case session.RoleAssistant:
		p.writeFailure(all.Find("errorMessage"), all.Find("stopReason"))
	case session.RoleShell:
		p.writeShell(p.typed(), all.Find("output"))
	case session.RoleCompactionSummary, session.RoleBranchSummary:
		p.Part(kind, all.Find("summary"))
	case session.RoleSystem:
		// Sections and tools repeat most of the content.
		p.leafPart(session.KindSystem, p.Unknown[known:], p.Entry.Parts)
		p.Unknown = p.Unknown[:known]
	}
	p.details(all.Find("details"))
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
	if v := p.message.Find("command"); !v.Empty() {
		return v
	}
	return p.message.Find("code")
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
		p.unsure = true
		return
	}
	p.held = p.held[:0]
	for i := range held {
		p.held = append(p.held, held[i].Text)
	}
	p.AddLeaves(kind, values, p.held)
}
