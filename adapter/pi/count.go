package pi

import (
	"bytes"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// A message of which only lines are counted is read once, from its first byte to its last, if it
// has the usual shape. Anything else is left to the parser: escaped or repeated keys, members
// that are rarely there, and what depends on what comes later.

// textOfRole are the kinds of the texts of such messages.
var textOfRole = map[string]session.Kind{
	session.RoleUser: session.KindPrompt, session.RoleAssistant: session.KindReply, session.RoleToolResult: session.KindResult,
}

// textless are the members of such a message that have no text, if the role has them.
var textless = adapter.NewKeys("id timestamp provider model api usage stopReason responseId responseModel thinkingLevel isError toolName toolCallId durationMs")

// countMessage reads a message, and reports whether it could.
func (p *parser) countMessage(line adapter.Line, emit func(*session.Entry)) bool {
	p.JSON.Reset(line.Data)
	w := jsonl.Walk{Scanner: &p.JSON}
	p.Sparse = true
	e := p.Begin(line, jsonl.Value{})
	p.begin(session.TypeMessage)
	isMessage := false
	if !bytes.HasPrefix(line.Data, []byte("{")) || !w.Enter('{') {
		return false
	}
	for w.Next() {
		switch string(w.Key()) {
		case "type":
			isMessage = string(w.String()) == session.TypeMessage
		case "id":
			e.ID = string(w.String())
		case "parentId", "timestamp":
			w.Value()
		case "message":
			if e.Role != "" || !p.countBody(&w) {
				return false
			}
		default:
			return false
		}
	}
	e.Length = w.At
	if w.Failed || !isMessage || e.Role == "" || e.ID == "" || len(bytes.TrimSpace(line.Data[w.At:])) > 0 {
		return false
	}
	emit(e)
	return true
}

func (p *parser) countBody(w *jsonl.Walk) bool {
	e, kind, content, details := &p.Entry, session.Kind(""), false, jsonl.Value{}
	if !w.Enter('{') {
		return false
	}
	for w.Next() {
		key := w.Key()
		switch {
		case kind == "":
			e.Role = string(w.String())
			if kind = textOfRole[e.Role]; kind == "" || string(key) != "role" {
				return false
			}
		case string(key) == "content" && !content:
			if content = true; !p.countContent(w, kind) {
				return false
			}
		case string(key) == "details" && details.Empty():
			details = w.Value()
		case textless.Has(key) && keysOfRole[e.Role].Has(key):
			w.Value()
		default:
			return false
		}
	}
	if w.Failed || details.Empty() || !p.wants(details) {
		return !w.Failed
	}
	details, err := p.JSON.Check(details.Start) // notes where its parts are
	return err == nil && p.Counted(session.KindDetails, []adapter.Unknown{{Value: details}}, longest(e.Parts))
}

func (p *parser) countContent(w *jsonl.Walk, kind session.Kind) bool {
	if !w.Enter('[') {
		return p.countText(w, kind)
	}
	for w.Next() {
		if !w.Enter('{') || !p.countBlock(w, kind) {
			return false
		}
	}
	return true
}

func (p *parser) countText(w *jsonl.Walk, kind session.Kind) bool {
	json := w.String()
	if len(json) > 0 {
		p.Entry.Parts = append(p.Entry.Parts, session.Part{Kind: kind, JSON: json})
	}
	return !w.Failed
}

// countBlock reads a block, which begins with its type.
func (p *parser) countBlock(w *jsonl.Walk, kind session.Kind) bool {
	if !w.Next() || string(w.Key()) != "type" {
		return false
	}
	typ, read, call := string(w.String()), false, session.Part{Kind: session.KindCall}
	for w.Next() {
		switch key := string(w.Key()); {
		case typ == "text" && key == "text" && !read:
			read = p.countText(w, kind)
		case typ == "thinking" && key == "thinking" && !read:
			read = p.countText(w, session.KindThinking)
		case typ == "toolCall" && key == "arguments" && !read:
			call.Lines, read = p.CountArguments(w.Value())
		case typ == "toolCall" && key == "name":
			call.Tool = string(w.String())
		case typ == "image" && (key == "data" || key == "mimeType"):
			w.String()
			read = true
		case key == "textSignature" && typ == "text", key == "thinkingSignature" && typ == "thinking", key == "id" && typ == "toolCall":
			w.Value()
		default:
			return false
		}
	}
	if typ == "toolCall" {
		if call.Tool == "" || p.Line.Wanted([]byte(call.Tool)) {
			return false
		}
		p.Entry.Parts = append(p.Entry.Parts, call)
	}
	return read && !w.Failed
}
