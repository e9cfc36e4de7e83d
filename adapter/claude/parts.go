package claude

import (
	"bytes"
	"slices"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// The order of an entry's parts does not depend on the order of its members, so that a part
// keeps its number: the content, block by block; then other; then details, which are left
// out if they are not wanted.

// restOf adds one part with the text of a value and the strings of the members of an
// object, except those in the set or among the names.
func (p *parser) restOf(kind session.Kind, first jsonl.Value, all jsonl.Fields, known adapter.Keys, names ...string) {
	leaves := &p.Leaves
	if kind == session.KindDetails {
		leaves = &p.detailed
	}
	size := first.End - first.Start
	for _, m := range all {
		size += m.Val.End - m.Val.Start
	}
	var held [][]byte
	if text := p.JSON.Text(first); len(text) > 0 {
		held = append(p.held[:0], text)
	}
	leaves.Begin(&p.JSON, p.JSON.Room(size), false, nil)
	if !first.Empty() {
		leaves.Add(first, false)
	}
	leaves.Begin(&p.JSON, leaves.End(), false, held) // goes on
	for _, m := range all {
		if !known.Has(m.Key) && !slices.Contains(names, string(m.Key)) {
			leaves.Add(m.Val, false)
		}
	}
	p.Add(kind, p.JSON.Keep(leaves.End()))
}

// detailKeys are the members of a line with a message whose text is details.
var detailKeys = []string{"toolUseResult", "planContent", "classifierMetaLines", "mcpMeta"}

// heldBudget bounds the bytes that are searched for the strings of details. Further strings
// count as not held.
const heldBudget = 64 << 20

// wantsDetails reports whether details may have a wanted text. Text that they repeat must
// then be read.
func (p *parser) wantsDetails() bool {
	return slices.ContainsFunc(detailKeys, func(key string) bool {
		v := p.All.Find(key)
		return !v.Empty() && p.Line.Wanted(p.JSON.Raw(v))
	})
}

// details adds the strings of the details that the parts so far do not contain.
func (p *parser) details() {
	if p.Sparse {
		return
	}
	p.held = p.held[:0]
	for i := range p.Entry.Parts {
		p.held = append(p.held, p.Entry.Parts[i].Text)
	}
	p.values, p.budget = p.values[:0], heldBudget
	for _, key := range detailKeys {
		switch v := p.All.Find(key); p.JSON.Kind(v) {
		case '{':
			p.detailsOf(p.JSON.Fields(v))
		case '[', '"':
			p.detail(v)
		}
	}
	p.AddLeaves(session.KindDetails, p.values, p.held)
}

// detailsOf adds the values in the result of a tool as it was made.
func (p *parser) detailsOf(all jsonl.Fields) {
	changed := p.JSON.IsTrue(all.Find("userModified"))
	isEdit := !all.Find("structuredPatch").Empty()
	for _, m := range all {
		switch key := string(m.Key); {
		case repeated[key] && !(changed && (key == "newString" || key == "edits")):
		case key == "content" && isEdit && !changed: // the file that was written
		case key == "file" && p.JSON.Kind(m.Val) == '{' && len(p.Entry.Parts) > 0:
			for _, f := range p.JSON.Fields(m.Val) { // which was read
				if !fileContent.Has(f.Key) {
					p.detail(f.Val)
				}
			}
		default:
			p.detail(m.Val)
		}
	}
}

// detail adds a value to those of the details, or its elements, unless it is a string that a
// part contains but for the space around it.
func (p *parser) detail(v jsonl.Value) {
	switch p.JSON.Kind(v) {
	case '[':
		for item := range p.JSON.Elements(v) {
			p.values = append(p.values, adapter.Unknown{Value: item, Block: true})
		}
		return
	case '"':
		text := bytes.TrimSpace(bytes.TrimPrefix(p.JSON.Text(v), []byte("Error: ")))
		if len(text) == 0 || slices.ContainsFunc(p.held, func(held []byte) bool {
			p.budget -= len(held)
			return p.budget > 0 && bytes.Contains(held, text)
		}) {
			return
		}
	}
	p.values = append(p.values, adapter.Unknown{Value: v, Block: true})
}
