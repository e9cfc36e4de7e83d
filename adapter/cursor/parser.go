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
	p.Reset(state)
	return p
}

type parser struct {
	adapter.Builder
	state adapter.State

	blocks []block // of the current entry
}

// block is a part that the view shows in a form of its own.
type block struct {
	part      int // its number, -1 for an image
	id, tool  string
	input     jsonl.Value
	mimeType  jsonl.Value
	imageData jsonl.Value
}

// State implements adapter.Parser.
func (p *parser) State() adapter.State { return p.state }

// Reset implements adapter.Parser.
func (p *parser) Reset(state adapter.State) { p.state = state }

// Parse implements adapter.Parser.
func (p *parser) Parse(line adapter.Line, emit func(*session.Entry)) []adapter.ParseError {
	p.state.Lines, p.Line = line.Number, line
	p.JSON.Trusting, p.Sparse = line.Wanted != nil, line.Wanted != nil
	return adapter.Objects(&p.JSON, line, nil, func(v jsonl.Value) { p.object(v, emit) })
}

func (p *parser) object(v jsonl.Value, emit func(*session.Entry)) {
	e, all := p.Begin(p.Line, v), p.JSON.Fields(v)
	p.blocks = p.blocks[:0]
	if e.ID = p.JSON.String(all.Find("id")); e.ID == "" {
		e.ID = adapter.OffsetID(e.Offset)
	}
	e.Timestamp = p.state.Time(p.JSON.Time(all.Find("timestamp")))
	role, message := p.JSON.Name(all.Find("role")), p.JSON.Fields(all.Find("message"))
	if role == "user" || role == "assistant" {
		p.header()
		e.Type, e.Role = session.TypeMessage, role
		p.MissOthers(all, lineKeys)
		p.MissOthers(message, messageKeys)
		p.readMessage(message.Find("content"))
	} else {
		p.readOther(all)
	}
	p.SortUnknown()
	p.AddLeaves(session.KindOther, p.Unknown, nil)
	if e.Step = p.StepOf(nil); e.Type == turnEnded && !e.IsError {
		e.Step = session.StepEmpty
	}
	if p.state.Facts {
		e.Facts = p.FactsOf()
	}
	emit(e)
}

var (
	lineKeys    = adapter.NewKeys("id timestamp role message")
	messageKeys = adapter.NewKeys("role content")
	blockKeys   = adapter.NewKeys("type id text thinking signature name input tool_use_id content is_error source")
)

// header makes the header of the session from where the file is: no line says more.
func (p *parser) header() {
	h := &p.state.Header
	if h.Version != 0 {
		return
	}
	h.Version, h.Offset, h.ID = 1, p.Entry.Offset, session.BaseName(p.state.Path)
	h.Timestamp = p.Entry.Timestamp
	if before, _, ok := strings.Cut(session.Slashed(p.state.Path), "/subagents/"); ok {
		h.Relation, h.ParentSession = session.Spawned, session.BaseName(before)
	}
}

// readMessage reads a text, or a list of blocks.
func (p *parser) readMessage(content jsonl.Value) {
	e, kind := &p.Entry, session.KindReply
	asks := e.Role == session.RoleUser && bytes.Contains(p.JSON.Raw(content), []byte(queryTag))
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
	if p.JSON.Kind(content) == '"' {
		text(content)
		content = jsonl.Value{}
	}
	for item := range p.JSON.Elements(content) {
		all := p.JSON.Fields(item)
		switch typ := p.JSON.Name(all.Find("type")); typ {
		case "text":
			text(all.Find("text"))
		case "thinking":
			p.Part(session.KindThinking, all.Find("thinking"))
		case "redacted_thinking":
			continue
		case "tool_use":
			p.readCall(all)
		case "tool_result":
			p.readResult(all)
		case "image":
			p.readImage(p.JSON.Fields(all.Find("source")))
		default:
			p.Strange("block", typ)
			p.Unknown = append(p.Unknown, adapter.Unknown{Value: item, Block: true})
			continue
		}
		p.MissOthers(all, blockKeys)
	}
	if e.Role == session.RoleUser && p.Line.Wanted == nil {
		e.UserText = string(p.Prompt)
	}
	if e.Role == session.RoleToolResult {
		kind = session.KindResult
	}
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
		p.AddPrompt(typed)
		text = after
	}
	p.Add(session.KindPrompt, text)
	p.AddPrompt(text)
}

func (p *parser) readCall(all jsonl.Fields) {
	b := block{part: len(p.Entry.Parts), id: p.JSON.String(all.Find("id")), tool: p.JSON.Name(all.Find("name")), input: all.Find("input")}
	text := p.Call(b.tool, b.id, b.input)
	if len(p.Entry.Parts) == b.part {
		return
	}
	p.blocks = append(p.blocks, b)
	does := toolOf(b.tool)
	c := session.EntryCall{Part: b.part, ID: b.id, Tool: b.tool, Deed: does.Deed, Dialect: does.Dialect, Text: adapter.ArgumentsIn(text, b.tool), Outcome: adapter.UnknownOutcome, Ended: b.id == ""}
	input := p.JSON.Fields(b.input)
	if v := input.Find(does.Command); does.Command != "" && p.JSON.Kind(v) == '"' {
		c.Command = p.JSON.Text(v)
	}
	if does.Deed.Writes() && adapter.IsPatch(p.patch(b.input)) {
		c.Files = adapter.PatchFiles(p.patch(b.input))
	}
	for _, key := range session.PathNames {
		if path := p.JSON.Name(input.Find(key)); does.File != "" && c.Files == nil && path != "" && len(path) <= adapter.MaxPath {
			c.Files = []session.FileUse{{Path: path, Deed: does.Use}}
		}
	}
	p.Facts.Calls = append(p.Facts.Calls, c)
}

// patch returns the text that a tool is given in place of arguments: a patch.
func (p *parser) patch(input jsonl.Value) []byte {
	if v := p.JSON.Fields(input).Find("patch"); !v.Empty() {
		input = v
	}
	if p.JSON.Kind(input) != '"' {
		return nil
	}
	return p.JSON.Text(input)
}

func (p *parser) readResult(all jsonl.Fields) {
	e, f := &p.Entry, &p.Facts
	id, before := p.JSON.String(all.Find("tool_use_id")), len(e.Parts)
	for item := range p.JSON.Elements(all.Find("content")) {
		fields := p.JSON.Fields(item)
		switch typ := p.JSON.Name(fields.Find("type")); {
		case p.JSON.Kind(item) == '"':
			p.Part(session.KindResult, item)
		case typ == "text":
			p.Part(session.KindResult, fields.Find("text"))
		case typ == "image":
			p.readImage(p.JSON.Fields(fields.Find("source")))
		default:
			p.Miss(item)
		}
	}
	for i := range e.Parts[before:] {
		e.Parts[before+i].ToolCallID = id
	}
	if e.Role == session.RoleToolResult && id != e.ToolCallID {
		return // an entry answers one call
	}
	e.Role, e.ToolCallID, e.IsError = session.RoleToolResult, id, p.JSON.IsTrue(all.Find("is_error"))
	f.IsResult, f.Failed = true, e.IsError
	for _, part := range e.Parts[before:] {
		f.Bytes += int64(len(part.Text))
	}
}

func (p *parser) readImage(source jsonl.Fields) {
	b := block{part: -1, mimeType: source.Find("media_type"), imageData: source.Find("data")}
	image := adapter.Image(&p.JSON, b.mimeType, b.imageData)
	p.Entry.Images = append(p.Entry.Images, session.Image{MimeType: image.MimeType, Size: image.Size})
	p.blocks = append(p.blocks, b)
}

// readOther reads a line that is no message: the end of a turn, or one of a later version.
func (p *parser) readOther(all jsonl.Fields) {
	e := &p.Entry
	if e.Type = p.JSON.Name(all.Find("type")); e.Type == "" {
		e.Type = p.JSON.Name(all.Find("event"))
	}
	kind := session.KindOther
	switch {
	case e.Type != turnEnded:
		p.Strange("line", e.Type)
	case !all.Find("error").Empty(), p.JSON.Name(all.Find("status")) == "error":
		kind, e.IsError = session.KindError, true
	default:
		kind = session.KindMeta
	}
	p.MissOthers(all, nil, "id", "timestamp", "type", "event")
	p.AddLeaves(kind, p.Unknown, nil)
	p.Unknown = p.Unknown[:0]
}

const turnEnded = "turn_ended"

// View implements adapter.Viewer.
func (p *parser) View(e *session.Entry) *session.View {
	view, kind := &session.View{}, session.KindPrompt
	if e.Role == session.RoleToolResult {
		kind = session.KindResult
	}
	calls := make(map[int]*session.Call)
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.part < 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: kind, Image: new(adapter.Image(&p.JSON, b.mimeType, b.imageData))})
			continue
		}
		calls[b.part] = p.viewCall(b)
	}
	for i := range e.Parts {
		if part := &e.Parts[i]; calls[i] != nil {
			view.Blocks = append(view.Blocks, session.Block{Kind: part.Kind, Call: calls[i]})
		} else if len(part.Text) > 0 {
			view.Blocks = append(view.Blocks, session.Block{Kind: part.Kind, Text: part.Text})
		}
	}
	return view
}

func (p *parser) viewCall(b *block) *session.Call {
	does := toolOf(b.tool)
	c := &session.Call{ID: b.id, Tool: b.tool, Deed: does.Deed, Raw: p.JSON.Raw(b.input), Arguments: adapter.Arguments(&p.JSON, b.input)}
	if text := p.patch(b.input); adapter.IsPatch(text) {
		c.Arguments, c.Diff = []session.Argument{{Name: "patch", Value: text, Text: true, Edits: true}}, text
	}
	for i := range c.Arguments {
		if a := &c.Arguments[i]; a.Text && a.Name == does.Command {
			c.Command = a.Value
		}
	}
	adapter.AddEdits(c)
	return c
}
