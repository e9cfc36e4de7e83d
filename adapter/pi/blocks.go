package pi

import (
	"strings"
	"unicode/utf8"

	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// content projects the content of a message: a text, or a list of blocks.
func (p *parser) content(kind session.Kind, v jsonl.Value) {
	for blocks := p.json.Elements(v); blocks.Next(); {
		switch p.json.Kind(blocks.Val) {
		case '"':
			p.textBlock(kind, blocks.Val)
		case '{':
			p.structured(kind, blocks.Val)
		case '[':
			p.unknown = append(p.unknown, unknown{Value: blocks.Val})
		}
	}
}

// textBlock projects the text of a text block.
func (p *parser) textBlock(kind session.Kind, v jsonl.Value) {
	if kind == session.KindOther {
		p.unknown = append(p.unknown, unknown{Value: v})
		return
	}
	before := len(p.entry.Parts)
	p.part(kind, v)
	if kind == session.KindPrompt && p.json.Kind(v) == '"' {
		if len(p.prompt) > 0 {
			p.prompt = append(p.prompt, ' ')
		}
		for _, part := range p.entry.Parts[before:] {
			p.prompt = append(p.prompt, cut(part.Text, maxPrompt-len(p.prompt))...)
		}
	}
}

// cut returns the first n bytes of a text, fewer to end between characters.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// structured projects a block that is an object.
func (p *parser) structured(kind session.Kind, v jsonl.Value) {
	all := p.json.Fields(v)
	typ := p.json.Name(all.Find("type"))
	switch typ {
	case "text", "thinking", "image", "toolCall":
	default:
		p.unknown = append(p.unknown, unknown{Value: v, block: true})
		return
	}
	for k := range all {
		v := all[k].Val
		known := true
		key := string(all[k].Key)
		if key == "type" || key == "id" {
			continue
		}
		switch typ {
		case "text":
			switch key {
			case "text":
				p.textBlock(kind, v)
			case "textSignature":
			default:
				known = false
			}
		case "thinking":
			switch key {
			case "thinking":
				if !p.json.IsTrue(all.Find("redacted")) {
					p.part(session.KindThinking, v)
				}
			case "thinkingSignature", "redacted":
			default:
				known = false
			}
		case "image":
			switch key {
			case "mimeType":
				p.image(v)
			case "data":
				known = p.json.Kind(v) == '"'
			default:
				known = false
			}
		case "toolCall":
			switch key {
			case "name", "arguments", "thoughtSignature", "partialJson":
			default:
				known = false
			}
		}
		if !known {
			p.unknown = append(p.unknown, unknown{Value: v})
		}
	}
	if typ == "toolCall" {
		p.call(all)
	}
}

// image notes the type of an image.
func (p *parser) image(mimeType jsonl.Value) {
	if s := p.json.Name(mimeType); s != "" {
		p.entry.MimeTypes = append(p.entry.MimeTypes, s)
	}
}

// call projects a tool call, or one that a tool made.
func (p *parser) call(all jsonl.Fields) {
	name, arguments := all.Find("name"), all.Find("arguments")
	tool := p.json.Name(name)
	id := p.json.String(all.Find("id"))
	room := p.json.Room(len(tool) + arguments.End - arguments.Start + 64)
	p.leaves.Begin(&p.json, append(room, tool...), true, nil)
	if !arguments.Empty() && p.json.Kind(arguments) != 'n' {
		p.leaves.Add(arguments, false)
	}
	if text := p.json.Keep(p.leaves.End()); len(text) > 0 {
		p.entry.Parts = append(p.entry.Parts, session.Part{Kind: session.KindCall, Text: text, Tool: tool, ToolCallID: id})
	}
}

// nested projects the calls that a tool made itself.
func (p *parser) nested(v jsonl.Value) {
	for _, m := range p.json.Fields(v) {
		switch string(m.Key) {
		case "calls":
			p.nestedCalls(m.Val)
		default:
			p.unknown = append(p.unknown, unknown{Value: m.Val})
		}
	}
	if p.json.Kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{Value: v})
	}
}

func (p *parser) nestedCalls(v jsonl.Value) {
	for calls := p.json.Elements(v); calls.Next(); {
		if p.json.Kind(calls.Val) != '{' {
			p.unknown = append(p.unknown, unknown{Value: calls.Val})
			continue
		}
		all := p.json.Fields(calls.Val)
		p.call(all)
		for _, m := range all {
			switch string(m.Key) {
			case "id", "name", "arguments", "status", "durationMs", "argumentsBytes":
			default:
				p.unknown = append(p.unknown, unknown{Value: m.Val})
			}
		}
	}
}

// attachments projects what a user of the first format attached: the name of
// each file and the text found in it, never the file itself.
func (p *parser) attachments(v jsonl.Value) {
	for files := p.json.Elements(v); files.Next(); {
		all := p.json.Fields(files.Val)
		if strings.HasPrefix(p.json.Name(all.Find("mimeType")), "image/") {
			p.image(all.Find("mimeType"))
		}
		name := p.json.Text(all.Find("fileName"))
		text := p.json.Text(all.Find("extractedText"))
		if len(name) > 0 && len(text) > 0 {
			text = p.join(name, text)
		} else if len(text) == 0 {
			text = name
		}
		p.add(session.KindPrompt, text)
		for _, m := range all {
			switch string(m.Key) {
			case "id", "type", "fileName", "mimeType", "size", "content", "extractedText", "preview":
			default:
				p.unknown = append(p.unknown, unknown{Value: m.Val})
			}
		}
	}
}

// join puts two texts on lines of one.
func (p *parser) join(a, b []byte) []byte {
	text := append(p.json.Room(len(a)+1+len(b)), a...)
	text = append(text, '\n')
	return p.json.Keep(append(text, b...))
}

// shell projects what the person ran.
func (p *parser) shell(command, output jsonl.Value) {
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
		p.add(session.KindShell, p.join(a, b))
	}
}

// failure projects the error that ended a reply, after the reason for its end.
func (p *parser) failure(message, reason jsonl.Value) {
	text := p.json.Text(message)
	if len(text) == 0 {
		if c := p.json.Kind(message); c == '{' || c == '[' {
			p.unknown = append(p.unknown, unknown{Value: message})
		}
		return
	}
	p.entry.IsError = true
	if why := p.json.Text(reason); len(why) > 0 {
		joined := append(p.json.Room(len(why)+2+len(text)), why...)
		joined = append(joined, ": "...)
		text = p.json.Keep(append(joined, text...))
	}
	p.add(session.KindError, text)
}

// replacement projects what an edit of the context puts in place of an entry.
func (p *parser) replacement(v jsonl.Value) {
	if p.json.Kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{Value: v})
		return
	}
	for _, m := range p.json.Fields(v) {
		if string(m.Key) == "content" {
			p.content(session.KindNote, m.Val)
			continue
		}
		p.unknown = append(p.unknown, unknown{Value: m.Val})
	}
}
