package codex

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

func (p *parser) readItem() {
	e, all := &p.Entry, p.payload
	e.Type = session.TypeMessage
	switch p.typ {
	case "message":
		p.readMessage()
	case "reasoning":
		e.Role = session.RoleAssistant
		p.readTexts(session.KindThinking, ofThought, all.Find("summary"))
		p.readTexts(session.KindThinking, ofThought, all.Find("content"))
		if len(e.Parts) == 0 { // it is encrypted
			e.Type, e.Role = p.typ, ""
			p.MissOthers(all, knownKeys)
			return
		}
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		p.readCall()
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		p.readOutput()
	case "agent_message":
		p.readAgentMessage()
	case "compaction", "compaction_summary", "context_compaction":
		e.Type = p.typ // encrypted
	case "ghost_snapshot":
		e.Type = p.typ
		p.leavesOf(session.KindData, all, nil)
		return
	default:
		p.Strange("item", p.typ)
		e.Type = p.typ
		p.leavesOf(session.KindOther, all, nil)
		return
	}
	p.MissOthers(all, knownKeys)
	p.grouped()
	if !p.Sparse {
		if len(p.said) > 0 {
			p.keys = append(p.keys, keyOf(p.whose(), p.said))
		}
		p.Memo.item(e, p.keys)
	}
}

func (p *parser) whose() byte {
	switch {
	case p.typ == "reasoning":
		return ofThought
	case p.Entry.Role == session.RoleToolResult:
		return ofResult
	case p.Entry.Role == session.RoleAssistant:
		return ofAgent
	}
	return ofUser
}

// grouped says which response of the model an item is a piece of: one response ends where
// something else comes.
func (p *parser) grouped() {
	e, m := &p.Entry, &p.Memo
	if e.Role != session.RoleAssistant {
		m.Group = -1
		return
	}
	if m.Group < 0 {
		m.Group = e.Offset
	}
	e.Message = p.group.at(m.Group)
}

// readMessage reads a message of a person, of Codex or of the model.
func (p *parser) readMessage() {
	e, content := &p.Entry, p.payload.Find("content")
	e.Role = p.JSON.Name(p.payload.Find("role"))
	switch e.Role {
	case session.RoleAssistant:
		p.readTexts(session.KindReply, ofAgent, content)
	case "developer", session.RoleSystem:
		e.Role = session.RoleSystem
		p.readTexts(session.KindSystem, 0, content)
	case session.RoleUser:
		p.readUser(content)
	default:
		p.Strange("role", e.Role)
		p.readTexts(session.KindOther, 0, content)
	}
}

// readTexts reads a text, or a list of blocks, each of which becomes a part.
func (p *parser) readTexts(kind session.Kind, whose byte, content jsonl.Value) {
	for item := range p.JSON.Elements(content) {
		v, ok := p.textOf(item)
		if !ok {
			continue
		}
		text := p.Part(kind, v)
		if whose != 0 {
			p.says(whose, text)
		}
	}
}

// textOf returns the text of a block. Images, and what is unknown, are recorded.
func (p *parser) textOf(v jsonl.Value) (jsonl.Value, bool) {
	if p.JSON.Kind(v) == '"' {
		return v, true
	}
	all := p.JSON.Fields(v)
	switch p.JSON.Name(all.Find("type")) {
	case "input_text", "output_text", "text", "Text", "summary_text", "reasoning_text":
		return all.Find("text"), true
	case "refusal":
		return all.Find("refusal"), true
	case "encrypted_content":
		return jsonl.Value{}, false
	case "input_image", "image":
		if address := all.Find("image_url"); p.JSON.Kind(address) == '"' {
			if !p.readImage(address) {
				p.Miss(address)
			}
			return jsonl.Value{}, false
		}
	}
	if typ := p.JSON.Name(all.Find("type")); typ != "input_image" && typ != "image" {
		p.Strange("block", typ)
	}
	p.Miss(v)
	return jsonl.Value{}, false
}

// readImage reads the address of an image, and reports whether it has the image itself.
func (p *parser) readImage(v jsonl.Value) bool {
	raw := p.JSON.JSON(v)
	head, _, ok := bytes.Cut(raw[:min(len(raw), 100)], []byte(";base64,"))
	mime, isData := bytes.CutPrefix(head, []byte("data:"))
	if !ok || !isData {
		return false
	}
	p.ShowImage(session.KindPrompt, adapter.Base64Image(string(mime), raw[len(head)+len(";base64,"):]))
	return true
}

// says remembers a text that an event may repeat.
func (p *parser) says(whose byte, text []byte) {
	if p.Sparse || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if len(p.keys) == 0 {
		p.first = text
	} else {
		if len(p.said) == 0 {
			p.said = append(p.said, p.first...)
		}
		p.said = append(p.said, text...)
	}
	p.keys = append(p.keys, keyOf(whose, text))
}

// readUser reads a message of a user: what a person typed, and what Codex put there.
func (p *parser) readUser(content jsonl.Value) {
	e := &p.Entry
	kinds := p.JSON.Fields(p.payload.Find("internal_chat_message_metadata_passthrough")).Find("content_item_kinds")
	said := slices.Collect(p.JSON.Elements(kinds))
	for item := range p.JSON.Elements(content) {
		kind := ""
		if len(said) > 0 {
			kind, said = p.JSON.Name(said[0]), said[1:]
		}
		v, ok := p.textOf(item)
		if !ok {
			continue
		}
		if p.JSON.Kind(v) != '"' {
			p.Part(session.KindPrompt, v)
			continue
		}
		text := p.JSON.Text(v)
		p.says(ofUser, text)
		p.readTyped(text, kind)
	}
	e.Role = session.RoleUser
	if !p.hasPrompt() && len(e.Parts) > 0 && len(e.Images) == 0 {
		e.Role = roleOf[e.Parts[0].Kind]
	}
	p.finishUser()
}

// roleOf are the roles of messages of a user without a prompt.
var roleOf = map[session.Kind]string{
	session.KindSystem: session.RoleSystem, session.KindShell: session.RoleShell,
	session.KindNote: session.RoleCustom, session.KindOther: session.RoleUser,
}

func (p *parser) hasPrompt() bool {
	return slices.ContainsFunc(p.Entry.Parts, func(part session.Part) bool { return part.Kind == session.KindPrompt })
}

// readTyped reads a text in a message of a user. New versions say what it is: user.text,
// or where Codex has it from.
func (p *parser) readTyped(text []byte, said string) {
	if strings.HasPrefix(said, "user.") {
		p.addPrompt(text)
		return
	}
	for body := bytes.TrimSpace(text); len(body) > 0; {
		kind, end := injection(body)
		switch {
		case kind == "" && said != "" && said != "unknown":
			p.Add(session.KindSystem, text)
			return
		case kind == "":
			p.addPrompt(text)
			return
		case kind == session.KindShell:
			p.readShell(body[:end])
		default:
			p.Add(kind, body[:end])
			p.readShellName(body[:end])
		}
		if bytes.HasPrefix(body, []byte("<turn_aborted>")) {
			p.Memo.Aborted = true
		}
		body = bytes.TrimSpace(body[end:])
		text = body
	}
}

func (p *parser) addPrompt(text []byte) {
	p.Add(session.KindPrompt, text)
	p.Builder.AddPrompt(typedIn(text))
}

// finishUser says whether a prompt was sent again after a turn that was aborted, and
// remembers where its turn begins.
func (p *parser) finishUser() {
	e, m := &p.Entry, &p.Memo
	p.Findable(session.Part{Kind: session.KindPrompt})
	if e.Role != session.RoleUser || p.Sparse {
		return
	}
	e.UserText = strings.TrimSpace(string(p.Prompt))
	key := uint64(0)
	for _, k := range p.keys {
		key = mix(key, k)
	}
	if m.Aborted && key != 0 && key == m.Prompt {
		e.Repeats = true
	}
	m.Turns = adapter.Remember(m.Turns, m.Tip, mostTurns)
	m.Prompt, m.Aborted = key, false
}

// readShellName reads which shell the environment has.
func (p *parser) readShellName(text []byte) {
	if _, after, ok := bytes.Cut(text, []byte("<shell>")); ok {
		if name, _, ok := bytes.Cut(after, []byte("</shell>")); ok {
			p.Memo.Dialect, p.Memo.HasDialect = dialectOf(string(name))
		}
	}
}

// readAgentMessage reads a message from one agent to another. In the session of a subagent,
// one from above is its prompt. Encrypted ones have no text.
func (p *parser) readAgentMessage() {
	e, all := &p.Entry, p.payload
	e.Type, e.Role = session.TypeMessage, session.RoleCustom
	author, recipient := p.JSON.Name(all.Find("author")), p.JSON.Name(all.Find("recipient"))
	kind := session.KindNote
	if p.Known.Header.Relation == session.Spawned && !p.isBeforeHeader() && author != recipient && strings.HasPrefix(recipient, strings.TrimSuffix(author, "/")+"/") {
		e.Role, kind = session.RoleUser, session.KindPrompt
	}
	for item := range p.JSON.Elements(all.Find("content")) {
		v, ok := p.textOf(item)
		text := p.JSON.Text(v)
		switch {
		case !ok || encrypted().Match(bytes.TrimSpace(text)):
		case kind == session.KindPrompt:
			p.addPrompt(text)
		default:
			p.Add(kind, text)
		}
	}
	switch {
	case kind != session.KindPrompt:
	case len(e.Parts) > 0:
		e.UserText = strings.TrimSpace(string(p.Prompt))
	default: // it is encrypted
		e.Type, e.Role, e.Name = session.TypeSessionInfo, "", recipient[strings.LastIndexByte(recipient, '/')+1:]
		p.Add(session.KindTitle, []byte(e.Name))
	}
}

// encrypted matches a text that is nothing but encrypted data.
var encrypted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gAAAA[\w=-]*$`) })
