package cursor

import (
	"bytes"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	p := &parser{}
	p.Read, p.Tools, p.Steps = p.read, tools(), map[string]session.Step{turnEnded: session.StepEmpty}
	p.Reset(state)
	return p
}

type parser struct{ adapter.LineParser[struct{}] }

var (
	lineKeys    = adapter.NewKeys("id timestamp role message")
	messageKeys = adapter.NewKeys("role content")
	blockKeys   = adapter.NewKeys("type id text thinking signature name input tool_use_id content is_error source")
)

const turnEnded = "turn_ended"

func (p *parser) read(jsonl.Value) {
	p.Identify(p.All.Find("id"))
	p.Entry.Copy, p.Entry.Once = 0, false // what the ids are is not known
	role, message := p.JSON.Name(p.All.Find("role")), p.JSON.Fields(p.All.Find("message"))
	if role != session.RoleUser && role != session.RoleAssistant {
		p.readOther()
		return
	}
	p.header()
	p.Message(role)
	p.MissOthers(p.All, lineKeys)
	p.MissOthers(message, messageKeys)
	p.readMessage(message.Find("content"))
}

// header makes the header of the session from where the file is: no line says more.
func (p *parser) header() {
	h := &p.Known.Header
	if h.Version != 0 {
		return
	}
	h.Version, h.Offset, h.ID, h.Timestamp = 1, p.Entry.Offset, session.BaseName(p.Known.Path), p.Entry.Timestamp
	if before, _, ok := strings.Cut(session.Slashed(p.Known.Path), "/subagents/"); ok {
		h.Relation, h.ParentSession = session.Spawned, session.BaseName(before)
	}
}

// readMessage reads a text, or a list of blocks.
func (p *parser) readMessage(content jsonl.Value) {
	e, kind := &p.Entry, session.KindReply
	asks := bytes.Contains(p.JSON.Raw(content), []byte(queryTag))
	if e.Role == session.RoleUser {
		kind = session.KindPrompt
	}
	text := func(v jsonl.Value) {
		if kind == session.KindReply {
			p.Part(kind, v)
		} else {
			p.readPrompt(p.JSON.Text(v), asks)
		}
	}
	for item := range p.JSON.Elements(content) {
		all := p.JSON.Fields(item)
		typ := p.JSON.Name(all.Find("type"))
		switch {
		case p.JSON.Kind(item) == '"':
			text(item)
			continue
		case typ == "text":
			text(all.Find("text"))
		case typ == "thinking":
			p.Part(session.KindThinking, all.Find("thinking"))
		case typ == "redacted_thinking":
			continue
		case typ == "tool_use":
			p.AddCall(p.JSON.Name(all.Find("name")), p.JSON.String(all.Find("id")), all.Find("input"))
		case typ == "tool_result":
			p.readResult(all)
		case typ == "image" && p.readImage(kind, all):
		default:
			p.Strange("block", typ)
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: item, Block: true})
			continue
		}
		p.MissOthers(all, blockKeys)
	}
	if e.Role == session.RoleToolResult {
		kind = session.KindResult
	}
	e.UserText = string(p.Prompt)
	p.Findable(session.Part{Kind: kind, ToolCallID: e.ToolCallID})
}

// Around what a person typed.
const queryTag, queryEnd = "<user_query>", "</user_query>"

// readPrompt reads a text of a user. If the message marks what the person typed, the rest of it is Cursor's.
func (p *parser) readPrompt(text []byte, asks bool) {
	for asks {
		before, rest, found := bytes.Cut(text, []byte(queryTag))
		p.Add(session.KindSystem, bytes.TrimSpace(before))
		if !found {
			return
		}
		typed, after, _ := bytes.Cut(rest, []byte(queryEnd))
		typed = bytes.TrimSpace(typed)
		p.Add(session.KindPrompt, typed)
		p.Builder.AddPrompt(typed)
		text = after
	}
	p.Add(session.KindPrompt, text)
	p.Builder.AddPrompt(text)
}

// readResult reads the result of a call. Of several, an entry answers the first.
func (p *parser) readResult(all jsonl.Fields) {
	e, first := &p.Entry, p.Entry.ToolCallID
	e.ToolCallID = p.JSON.String(all.Find("tool_use_id"))
	for item := range p.JSON.Elements(all.Find("content")) {
		fields := p.JSON.Fields(item)
		switch typ := p.JSON.Name(fields.Find("type")); {
		case typ == "text":
			p.AddResult(fields.Find("text"))
		case typ != "image" || !p.readImage(session.KindResult, fields):
			p.AddResult(item)
		}
	}
	if e.Role == session.RoleToolResult {
		e.ToolCallID = first
	} else {
		e.Role, e.IsError = session.RoleToolResult, p.JSON.IsTrue(all.Find("is_error"))
	}
}

func (p *parser) readImage(kind session.Kind, all jsonl.Fields) bool {
	source := p.JSON.Fields(all.Find("source"))
	return p.AddImage(kind, source.Find("media_type"), source.Find("data"))
}

// readOther reads a line that is no message: the end of a turn, or one of a later version.
func (p *parser) readOther() {
	e, kind := &p.Entry, session.KindOther
	if e.Type = p.Kind; e.Type == "" {
		e.Type = p.JSON.Name(p.All.Find("event"))
	}
	switch {
	case e.Type != turnEnded:
		p.Strange("line", e.Type)
	case !p.All.Find("error").Empty(), p.JSON.Name(p.All.Find("status")) == "error":
		kind, p.Kind, e.IsError = session.KindError, "", true
	default:
		kind, p.Kind = session.KindMeta, turnEnded
	}
	p.MissOthers(p.All, nil, "id", "timestamp", "type", "event")
	p.AddLeaves(kind, p.Unknown, nil)
	p.Unknown = p.Unknown[:0]
}
