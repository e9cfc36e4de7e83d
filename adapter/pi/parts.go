package pi

import (
	"slices"

	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// part adds a part with the text of a string. A value of another shape is
// unknown.
func (p *parser) part(kind session.Kind, v jsonl.Value) {
	if c := p.json.Kind(v); c == '{' || c == '[' {
		p.unknown = append(p.unknown, unknown{Value: v})
		return
	}
	p.add(kind, p.json.Text(v))
}

// add adds a part, unless its text is empty. The parts of a tool result name
// its tool and the call that it answers.
func (p *parser) add(kind session.Kind, text []byte) {
	if len(text) == 0 {
		return
	}
	part := session.Part{Kind: kind, Text: text}
	if p.entry.Role == "toolResult" {
		part.Tool, part.ToolCallID = p.entry.Tool, p.entry.ToolCallID
	}
	p.entry.Parts = append(p.entry.Parts, part)
}

// details adds the strings of details that no part so far holds.
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

// other adds the strings that no rule names, in file order.
func (p *parser) other() {
	slices.SortFunc(p.unknown, func(a, b unknown) int { return a.Start - b.Start })
	p.leafPart(session.KindOther, p.unknown, nil)
}

// leafPart adds one part with the strings of the values, save those held.
func (p *parser) leafPart(kind session.Kind, values []unknown, held []session.Part) {
	size := 0
	for _, v := range values {
		switch p.json.Kind(v.Value) {
		case '"', '{', '[':
			size += v.End - v.Start
		}
	}
	if size == 0 {
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
