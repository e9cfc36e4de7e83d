package adapter

import (
	"slices"

	"pigrep/internal/session"
)

// part adds a part with the text of a string. A value of another shape is
// unknown.
func (p *piParser) part(kind session.Kind, v value) {
	if c := p.obj.kind(v); c == '{' || c == '[' {
		p.unknown = append(p.unknown, unknown{value: v})
		return
	}
	p.add(kind, p.obj.text(v, &p.arena))
}

// add adds a part, unless its text is empty. The parts of a tool result name
// its tool and the call that it answers.
func (p *piParser) add(kind session.Kind, text []byte) {
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
func (p *piParser) details(v value) {
	if !v.empty() {
		p.leafPart(session.KindDetails, []unknown{{value: v}}, p.entry.Parts)
	}
}

// strings adds the strings of a value.
func (p *piParser) strings(kind session.Kind, v value) {
	if !v.empty() {
		p.leafPart(kind, []unknown{{value: v}}, nil)
	}
}

// other adds the strings that no rule names, in file order.
func (p *piParser) other() {
	slices.SortFunc(p.unknown, func(a, b unknown) int { return a.start - b.start })
	p.leafPart(session.KindOther, p.unknown, nil)
}

// leafPart adds one part with the strings of the values, save those held.
func (p *piParser) leafPart(kind session.Kind, values []unknown, held []session.Part) {
	size := 0
	for _, v := range values {
		switch p.obj.kind(v.value) {
		case '"', '{', '[':
			size += v.end - v.start
		}
	}
	if size == 0 {
		return
	}
	p.leaves.begin(&p.obj, p.arena.room(size+decodeSlack), false, held)
	for _, v := range values {
		p.leaves.add(v.value, v.block)
	}
	p.add(kind, p.arena.keep(p.leaves.end()))
}
