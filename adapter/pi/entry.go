package pi

import (
	"cmp"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// The order of an entry's parts does not depend on the order of its members, so that
// a part keeps its number: the content, block by block; then the text of other known
// members; then details; then other.

// Types of pi's that the rest of the program does not know.
const (
	typeModelChange       = "model_change"
	typeThinkingChange    = "thinking_level_change"
	typeUsage             = "usage"
	typeActiveToolsChange = "active_tools_change"
)

// readLine fills the entry from its fields. The kind is that of a line in the fourth
// format, "" in others.
func (p *parser) readLine(all jsonl.Fields, kind string) {
	e := &p.Entry
	e.ID = p.JSON.String(all.Find("id"))
	if parent := all.Find("parentId"); !parent.Empty() {
		e.HasParent = true
		e.ParentID = p.JSON.String(parent)
	}
	switch kind {
	case "fact", "value", "lane":
		p.fact(all, kind)
	case "record", "list", "usage":
		p.MissOthers(all, entryKeys, fourthNames...)
	default:
		own, known := keysOfType[e.Type]
		if !known {
			if p.readFamily(all) {
				break
			}
			own = entryKeys
			p.Strange("line", e.Type)
		}
		var more []string
		if kind != "" {
			more = fourthNames
		}
		p.MissOthers(all, own, more...)
		p.readType(all)
	}
	p.SortUnknown()
	p.leafPart(session.KindOther, p.Unknown, nil)
	p.Unknown = p.Unknown[:0]
}

// Keys that rules cover, in objects of every type and in those of one.
var (
	entryKeys   = adapter.NewKeys("type id parentId timestamp __openclaw")
	fourthNames = []string{"kind", "seq", "lane"} // of lines in the fourth format
	messageKeys = adapter.NewKeys("role id timestamp content details idempotencyKey __openclaw")
	blockKeys   = adapter.NewKeys("type id")

	nestedKeys     = adapter.NewKeys("id name arguments status durationMs argumentsBytes")
	attachmentKeys = adapter.NewKeys("id type fileName mimeType size content extractedText preview")

	mentionKeys = adapter.NewKeys("path content lineCount byteSize contentHash skippedReason image")

	metaKeys   = adapter.NewKeys("provider modelId model thinkingLevel note activeToolNames kind usage role resolvedModelIsFallback configured purpose", entryKeys)
	keysOfType = map[string]adapter.Keys{
		session.TypeMessage: adapter.NewKeys("message terminate", entryKeys),
		session.TypeCompaction: adapter.NewKeys("summary shortSummary details systemMessage firstKeptEntryId firstKeptEntryIndex tokensBefore fromHook usage "+
			"tokensAfter method providerReplayThroughEntryId preserveData fromExtension", entryKeys),
		session.TypeBranchSummary: adapter.NewKeys("summary details fromId fromHook usage", entryKeys),
		session.TypeCustom:        adapter.NewKeys("customType data", entryKeys),
		session.TypeCustomMessage: adapter.NewKeys("customType content details display attribution", entryKeys),
		session.TypeContextEdit:   adapter.NewKeys("targetId replacement", entryKeys),
		session.TypeLabel:         adapter.NewKeys("targetId label", entryKeys),
		session.TypeSessionInfo:   adapter.NewKeys("name", entryKeys),
		session.TypeLeaf:          adapter.NewKeys("targetId", entryKeys),
		typeModelChange:           metaKeys,
		typeThinkingChange:        metaKeys,
		typeUsage:                 metaKeys,
		typeModelUsage:            metaKeys,
		typeActiveToolsChange:     metaKeys,
	}

	customKeys  = adapter.NewKeys("customType display", messageKeys)
	summaryKeys = adapter.NewKeys("summary fromId tokensBefore", messageKeys)
	keysOfRole  = map[string]adapter.Keys{
		session.RoleUser: adapter.NewKeys("attachments attribution", messageKeys),
		session.RoleAssistant: adapter.NewKeys("provider model errorMessage api usage stopReason rawStopReason responseId "+
			"responseModel thinkingLevel providerThinkingLevel endTurn durationMs providerPayload errorCode errorType errorBody", messageKeys),
		session.RoleToolResult:        adapter.NewKeys("isError nestedCalls toolName toolCallId durationMs usage", messageKeys),
		session.RoleShell:             adapter.NewKeys("command code output exitCode cancelled truncated fullOutputPath excludeFromContext", messageKeys),
		roleMention:                   adapter.NewKeys("files", messageKeys),
		session.RoleCustom:            customKeys,
		session.RoleHook:              customKeys,
		session.RoleCompactionSummary: summaryKeys,
		session.RoleBranchSummary:     summaryKeys,
	}

	keysOfBlock = map[string]adapter.Keys{
		"text":     adapter.NewKeys("text textSignature", blockKeys),
		"thinking": adapter.NewKeys("thinking thinkingSignature redacted", blockKeys),
		"image":    adapter.NewKeys("mimeType", blockKeys), // and data, if it is a string

		"redactedThinking": adapter.NewKeys("data", blockKeys),
		"toolCall":         adapter.NewKeys("name arguments thoughtSignature partialJson partialArgs streamIndex intent", blockKeys),
	}
)

// steps lists the entries that are not conversation, by their type or the role of their message.
var steps = adapter.Named(map[session.Step]string{
	session.StepPrompt:   session.RoleSystem + " " + typeSessionInit,
	session.StepReminder: "hidden",
	session.StepSetting: strings.Join([]string{typeModelChange, typeThinkingChange, typeActiveToolsChange, session.TypeContextEdit, session.TypeLeaf,
		session.TypeLane, familyStates}, " "),
	session.StepTimer: typeUsage + " " + typeModelUsage,
})

// stepOf returns the step that an entry is; session.Talk for conversation. Messages of an extension say whether people
// see them.
func (p *parser) stepOf(all jsonl.Fields) session.Step {
	e, display := &p.Entry, all.Find("display")
	if len(p.message) > 0 {
		display = p.message.Find("display")
	}
	switch {
	case string(p.JSON.Raw(display)) == "false":
		return p.StepOf(steps, "hidden")
	case e.NameRank == slotRank:
		return session.StepSetting
	}
	return p.StepOf(steps, e.Role, e.Type)
}

// readType reads the members that depend on the type of the entry.
func (p *parser) readType(all jsonl.Fields) {
	e := &p.Entry
	switch e.Type {
	case session.TypeMessage:
		if v := all.Find("message"); !v.Empty() {
			p.readMessage(v)
		}
	case session.TypeCompaction:
		p.readCompaction(all)
	case session.TypeBranchSummary:
		p.Part(session.KindSummary, all.Find("summary"))
		p.details(all.Find("details"))
	case session.TypeCustom:
		if e.CustomType = p.JSON.Name(all.Find("customType")); e.CustomType != toolStart {
			p.leafPart(session.KindData, []adapter.Unknown{{Value: all.Find("data")}}, nil)
		}
	case session.TypeCustomMessage:
		e.CustomType = p.JSON.Name(all.Find("customType"))
		p.readContent(all.Find("content"), session.KindNote)
		for i := range e.Parts { // what a hook said repeats other sessions
			e.Parts[i].Search = e.CustomType == "pigrep"
		}
		p.details(all.Find("details"))
	case session.TypeContextEdit:
		e.TargetID = p.JSON.String(all.Find("targetId"))
		p.readReplacement(all.Find("replacement"))
	case session.TypeLabel:
		p.label(all.Find("targetId"), all.Find("label"))
	case session.TypeSessionInfo:
		p.title(all.Find("name"))
	case session.TypeLeaf:
		e.TargetID = p.JSON.String(all.Find("targetId"))
	case typeModelChange, typeThinkingChange, typeUsage, typeModelUsage, typeActiveToolsChange:
		p.readMeta(all)
	}
}

func (p *parser) readCompaction(all jsonl.Fields) {
	e := &p.Entry
	p.Part(session.KindSummary, all.Find("summary"))
	p.Part(session.KindSummary, all.Find("shortSummary"))
	e.FirstKeptID = p.JSON.String(all.Find("firstKeptEntryId"))
	if n, ok := p.JSON.Int(all.Find("firstKeptEntryIndex")); ok && n >= 0 && n < 1<<31 {
		e.FirstKeptIndex = int(n)
	}
	p.details(all.Find("details"))
	if v := all.Find("systemMessage"); !v.Empty() {
		p.readSystem(v)
	}
}

// readReplacement reads the replacement for an entry in an edit of the context.
func (p *parser) readReplacement(v jsonl.Value) {
	if p.JSON.Kind(v) != '{' {
		if !v.Empty() {
			p.Miss(v)
		}
		return
	}
	all := p.JSON.Fields(v)
	p.MissOthers(all, nil, "content")
	p.readContent(all.Find("content"), session.KindNote)
}

func (p *parser) label(target, label jsonl.Value) {
	p.Entry.TargetID = p.JSON.String(target)
	p.Entry.Label = p.JSON.String(label)
	p.Part(session.KindLabel, label)
}

func (p *parser) title(name jsonl.Value) {
	p.Entry.Name = p.JSON.String(name)
	p.Part(session.KindTitle, name)
}

// readMeta reads a change of model, thinking level or tools, or a use of tokens. The
// text has a line each for the kind of use, model, level, tools and note.
func (p *parser) readMeta(all jsonl.Fields) {
	e := &p.Entry
	e.Provider = p.JSON.Name(all.Find("provider"))
	if e.Model = p.JSON.Name(all.Find("modelId")); e.Model == "" {
		e.Model = p.JSON.Name(all.Find("model"))
		if e.Provider == "" {
			if provider, model, ok := strings.Cut(e.Model, "/"); ok { // as version 0.7 writes it
				e.Provider, e.Model = provider, model
			}
		}
	}
	var lines []string
	if e.Type == typeUsage {
		lines = append(lines, p.JSON.Name(all.Find("kind")))
	}
	lines = append(lines, cmp.Or(session.FullModel(e.Provider, e.Model), e.Provider), p.JSON.Name(all.Find("thinkingLevel")))
	for tool := range p.JSON.Elements(all.Find("activeToolNames")) {
		lines = append(lines, p.JSON.Name(tool))
	}
	lines = append(lines, p.JSON.String(all.Find("note")), p.JSON.String(all.Find("purpose")))
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	if len(lines) > 0 {
		e.Parts = append(e.Parts, session.Part{Kind: session.KindMeta, Text: []byte(strings.Join(lines, "\n"))})
	}
}

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
var stateTypes = adapter.NewKeys(familyStates)

const familyStates = "mode_change service_tier_change ttsr_injection credential_pin reset_boundary mcp_tool_selection reset"

// ownHeaderKeys are members of the header that only oh-my-pi writes.
var ownHeaderKeys = adapter.NewKeys("titleSource additionalDirectories previousSessionFiles providerPromptCacheKey")

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
		if p.Known.Header.Offset > 0 { // the slot has the title, and this is that or an older one
			kind = session.KindMeta
		}
		p.Part(kind, all.Find("title"))
		p.Part(session.KindMeta, all.Find("previousTitle"))
	case e.Type == typeSessionInit:
		p.Part(session.KindSystem, all.Find("systemPrompt"))
		p.leafPart(session.KindData, adapter.AppendOthers(nil, all, entryKeys, "systemPrompt"), nil)
	case stateTypes[e.Type]:
		p.leafPart(session.KindMeta, adapter.AppendOthers(nil, all, entryKeys), nil)
	default:
		return false
	}
	return true
}

// headerTitle reads the title in a header, if no slot before it says it, and reports whether there is one.
func (p *parser) headerTitle(all jsonl.Fields) bool {
	title := all.Find("title")
	if p.JSON.Kind(title) != '"' || p.Known.Header.Offset > 0 {
		return false
	}
	p.begin(session.TypeSessionInfo)
	p.Entry.Apart, p.At = true, -1
	p.title(title)
	return len(p.Entry.Parts) > 0
}

// readMentions reads the files that a person mentioned: the path of each and its text.
func (p *parser) readMentions(v jsonl.Value) {
	for file := range p.JSON.Elements(v) {
		all := p.JSON.Fields(file)
		image := p.JSON.Fields(all.Find("image"))
		p.addFile(p.JSON.Text(all.Find("path")), p.JSON.Text(all.Find("content")), image.Find("mimeType"), image.Find("data"))
		p.MissOthers(all, mentionKeys)
	}
}

// wroteByOhMyPi reports whether a line is one that only oh-my-pi writes at the start of a file.
func wroteByOhMyPi(json *jsonl.Scanner, all jsonl.Fields) bool {
	if json.Name(all.Find("type")) == typeTitle {
		return json.Kind(all.Find("title")) == '"' && json.Kind(all.Find("pad")) == '"'
	}
	return slices.ContainsFunc(all, func(m jsonl.Field) bool { return ownHeaderKeys.Has(m.Key) })
}

// The fourth format is that of the agent library. Each line has a kind, and lines
// written together form one array.

// fourthKind returns the kind of a line in the fourth format, or "" for lines of other
// formats, which may also have a member "kind".
func fourthKind(typ, kind string) string {
	switch kind {
	case "entry", "record":
		if typ != typeUsage {
			return kind
		}
	case "lane", "fact", "value", "list", "usage":
		if typ == "" {
			return kind
		}
	}
	return ""
}

// isTransaction reports whether v is an array of lines in the fourth format.
func (p *parser) isTransaction(v jsonl.Value) bool {
	lines := 0
	for line := range p.JSON.Elements(v) {
		if all := p.JSON.Fields(line); len(all) == 0 || string(all[0].Key) != "kind" {
			return false
		}
		lines++
	}
	return lines > 0 && p.JSON.Kind(v) == '['
}

// fact reads the lines that name the session, label an entry or move the leaf.
func (p *parser) fact(all jsonl.Fields, kind string) {
	e := &p.Entry
	fact, namespace := p.JSON.Name(all.Find("fact")), p.JSON.Name(all.Find("namespace"))
	switch {
	case kind == "lane":
		e.TargetID = p.JSON.String(all.Find("leafId"))
	case kind == "fact" && fact == "name":
		e.Type = session.TypeSessionInfo
		p.title(all.Find("name"))
	case kind == "fact" && fact == "label":
		e.Type = session.TypeLabel
		p.label(all.Find("targetId"), all.Find("label"))
	case kind == "value" && namespace == "pi.session.name":
		e.Type = session.TypeSessionInfo
		p.title(all.Find("value"))
	case kind == "value" && namespace == "pi.entry.label":
		e.Type = session.TypeLabel
		p.label(all.Find("key"), all.Find("value"))
	default:
		p.MissOthers(all, entryKeys, fourthNames...)
	}
}
