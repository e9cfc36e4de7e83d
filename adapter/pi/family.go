package pi

import (
	"slices"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Lines that programs of pi's family write, and pi does not. oh-my-pi begins a file with a
// title of fixed length, which it overwrites in place: the slot. It stands before the header.
const (
	typeTitle       = "title"
	typeTitleChange = "title_change"
	typeSessionInit = "session_init" // how a subagent was started
	typeModelUsage  = "model_usage"  // outside of the conversation

	toolStart = "tool_execution_start" // a custom type: the arguments of a call once more
)

// Ranks of names: session_info entries and the title in the header have 0.
const (
	changeRank = iota + 1
	slotRank
)

// stateTypes are lines that say what holds from there on. Their texts are data about the
// session.
var stateTypes = keys("mode_change service_tier_change ttsr_injection credential_pin reset_boundary mcp_tool_selection")

// ownHeaderKeys are members of the header that only oh-my-pi writes.
var ownHeaderKeys = keys("titleSource additionalDirectories previousSessionFiles providerPromptCacheKey")

// readFamily reads the members of a line that pi does not write, and reports whether it is one.
func (p *parser) readFamily(all jsonl.Fields) bool {
	e := &p.Entry
	switch {
	case e.Type == typeTitle && e.Offset == 0: // it stays the first entry, whatever its time
		e.Type, e.NameRank, e.Apart = session.TypeSessionInfo, slotRank, true
		p.title(all.Find("title"))
	case e.Type == typeTitle, e.Type == typeTitleChange:
		e.Type, e.NameRank = session.TypeSessionInfo, changeRank
		e.Apart = e.ID == ""
		e.Name = p.JSON.String(all.Find("title"))
		kind := session.KindTitle
		if p.state.Header.Offset > 0 { // the slot has the title, and this is that or an older one
			kind = session.KindMeta
		}
		p.Part(kind, all.Find("title"))
		p.Part(session.KindMeta, all.Find("previousTitle"))
	case e.Type == typeSessionInit:
		p.Part(session.KindSystem, all.Find("systemPrompt"))
		p.memberTexts(session.KindData, all, "systemPrompt")
	case stateTypes.has([]byte(e.Type)):
		p.memberTexts(session.KindMeta, all, "")
	default:
		return false
	}
	return true
}

// memberTexts adds the strings of the members that have no rule.
func (p *parser) memberTexts(kind session.Kind, all jsonl.Fields, except string) {
	var values []adapter.Unknown
	for _, m := range all {
		if !entryKeys.has(m.Key) && string(m.Key) != except {
			values = append(values, adapter.Unknown{Value: m.Val})
		}
	}
	p.leafPart(kind, values, nil)
}

// headerTitle emits the title in a header as an entry, if no slot before it says it.
func (p *parser) headerTitle(line adapter.Line, v jsonl.Value, all jsonl.Fields, emit func(*session.Entry)) {
	title := all.Find("title")
	if p.JSON.Kind(title) != '"' || p.state.Header.Offset > 0 {
		return
	}
	p.Sparse = line.Wanted != nil
	e := p.begin(line, v, session.TypeSessionInfo)
	e.ID, e.Apart = adapter.OffsetID(e.Offset), true
	if p.title(title); len(e.Parts) > 0 {
		emit(e)
	}
}

// readMentions reads the files that a person mentioned: the path of each and its text.
func (p *parser) readMentions(v jsonl.Value) {
	for files := p.JSON.Elements(v); files.Next(); {
		all := p.JSON.Fields(files.Val)
		image := p.JSON.Fields(all.Find("image"))
		p.addFile(p.JSON.Text(all.Find("path")), p.JSON.Text(all.Find("content")), image.Find("mimeType"), image.Find("data"))
		p.notKnown(all, mentionKeys.has)
	}
}

// wroteByOhMyPi reports whether a line is one that only oh-my-pi writes at the start of a file.
func wroteByOhMyPi(json *jsonl.Scanner, all jsonl.Fields) bool {
	if json.Name(all.Find("type")) == typeTitle {
		return json.Kind(all.Find("title")) == '"' && json.Kind(all.Find("pad")) == '"'
	}
	return slices.ContainsFunc(all, func(m jsonl.Field) bool { return ownHeaderKeys.has(m.Key) })
}
