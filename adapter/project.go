package adapter

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
	"pigrep/scope"
)

// The order of an entry's parts is fixed, whatever the order of its members, so
// that a part keeps its number: what the content holds, block by block; then the
// text of other known members; then details; then other.

// kindOfRole is scope.OfRole as a map.
var kindOfRole = func() map[string]session.Kind {
	kinds := make(map[string]session.Kind)
	for _, row := range scope.Kinds {
		for _, role := range row.Roles {
			kinds[role] = row.Kind
		}
	}
	return kinds
}()

func ofRole(role string) session.Kind {
	if kind, ok := kindOfRole[role]; ok {
		return kind
	}
	return session.KindOther
}

// maxPrompt bounds Entry.UserText, which is for showing.
const maxPrompt = 64 << 10

// madeUpID is the id of an entry that the file gives none.
func madeUpID(offset int64) string { return "@" + strconv.FormatInt(offset, 10) }

// project fills the entry from its members. The fourth format, of the agent
// library, says with kind what a line is.
func (p *piParser) project(all []member, kind string) {
	e := &p.entry
	for k := range all {
		v := all[k].val
		switch string(all[k].key) {
		case "id":
			e.ID = p.string(v)
		case "parentId":
			e.HasParent = true
			e.ParentID = p.string(v)
		}
	}
	switch {
	case kind == "fact" || kind == "value" || kind == "lane":
		p.fact(all, kind)
	case kind == "record" || kind == "list" || kind == "usage":
		p.rest(all, "kind", "seq", "lane")
	default:
		p.byType(all, kind)
	}
	p.other()
}

// byType projects an entry by its type.
func (p *piParser) byType(all []member, kind string) {
	e := &p.entry
	var details, system value
	for k := range all {
		v := all[k].val
		key := string(all[k].key)
		switch key {
		case "type", "id", "parentId", "timestamp":
			continue
		case "kind", "seq", "lane":
			if kind != "" {
				continue
			}
		}
		known := true
		switch e.Type {
		case "message":
			switch key {
			case "message":
				p.message(v, false)
			case "terminate":
			default:
				known = false
			}
		case "compaction":
			switch key {
			case "summary":
				p.part(session.KindSummary, v)
			case "details":
				details = v
			case "systemMessage":
				system = v
			case "firstKeptEntryId":
				e.FirstKeptID = p.string(v)
			case "firstKeptEntryIndex":
				if n, ok := p.integer(v); ok && n >= 0 && n < 1<<31 {
					e.FirstKeptIndex = int(n)
				}
			case "tokensBefore", "fromHook", "usage":
			default:
				known = false
			}
		case "branch_summary":
			switch key {
			case "summary":
				p.part(session.KindSummary, v)
			case "details":
				details = v
			case "fromId", "fromHook", "usage":
			default:
				known = false
			}
		case "custom":
			switch key {
			case "customType":
				e.CustomType = p.name(v)
			case "data":
			default:
				known = false
			}
		case "custom_message":
			switch key {
			case "customType":
				e.CustomType = p.name(v)
			case "content":
				p.content(session.KindNote, v)
			case "details":
				details = v
			case "display":
			default:
				known = false
			}
		case "context_edit":
			switch key {
			case "targetId":
				e.TargetID = p.string(v)
			case "replacement":
				p.replacement(v)
			default:
				known = false
			}
		case "label":
			switch key {
			case "targetId":
				e.TargetID = p.string(v)
			case "label":
				e.Label = p.string(v)
				p.part(session.KindLabel, v)
			default:
				known = false
			}
		case "session_info":
			switch key {
			case "name":
				e.Name = p.string(v)
				p.part(session.KindTitle, v)
			default:
				known = false
			}
		case "model_change", "thinking_level_change", "usage", "active_tools_change":
			switch key {
			case "provider", "modelId", "model", "thinkingLevel", "note", "activeToolNames":
			case "kind":
			case "usage":
			default:
				known = false
			}
		case "leaf":
			switch key {
			case "targetId":
				e.TargetID = p.string(v)
			default:
				known = false
			}
		default:
			known = false
		}
		if !known {
			p.unknown = append(p.unknown, unknown{value: v})
		}
	}
	switch e.Type {
	case "custom":
		p.strings(session.KindData, find(all, "data"))
	case "model_change", "thinking_level_change", "usage", "active_tools_change":
		p.meta(all)
	}
	p.details(details)
	if !system.empty() {
		p.message(system, true)
	}
}

// meta projects what says which model, level or tools are in force: one line
// each for what was done, the model, the level, the tools and the note.
func (p *piParser) meta(all []member) {
	e := &p.entry
	e.Provider = p.name(find(all, "provider"))
	if e.Model = p.name(find(all, "modelId")); e.Model == "" {
		e.Model = p.name(find(all, "model"))
		if e.Provider == "" {
			e.Provider, e.Model = splitModel(e.Model)
		}
	}
	var lines []string
	if e.Type == "usage" {
		lines = append(lines, p.name(find(all, "kind")))
	}
	model := e.Model
	if e.Provider != "" && e.Model != "" {
		model = e.Provider + "/" + e.Model
	} else if model == "" {
		model = e.Provider
	}
	lines = append(lines, model, p.name(find(all, "thinkingLevel")))
	for tools := p.obj.elementsOf(find(all, "activeToolNames")); tools.next(); {
		lines = append(lines, p.name(tools.val))
	}
	lines = append(lines, p.string(find(all, "note")))
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	if len(lines) > 0 {
		e.Parts = append(e.Parts, session.Part{Kind: session.KindMeta, Text: []byte(strings.Join(lines, "\n"))})
	}
}

// fact projects the lines of the fourth format that name the session, label an
// entry or move the leaf.
func (p *piParser) fact(all []member, kind string) {
	e := &p.entry
	switch {
	case kind == "lane":
		e.TargetID = p.string(find(all, "leafId"))
	case kind == "fact" && p.name(find(all, "fact")) == "name":
		e.Type = "session_info"
		e.Name = p.string(find(all, "name"))
		p.part(session.KindTitle, find(all, "name"))
	case kind == "fact" && p.name(find(all, "fact")) == "label":
		e.Type = "label"
		e.TargetID = p.string(find(all, "targetId"))
		e.Label = p.string(find(all, "label"))
		p.part(session.KindLabel, find(all, "label"))
	case kind == "value" && p.name(find(all, "namespace")) == "pi.session.name":
		e.Type = "session_info"
		e.Name = p.string(find(all, "value"))
		p.part(session.KindTitle, find(all, "value"))
	case kind == "value" && p.name(find(all, "namespace")) == "pi.entry.label":
		e.Type = "label"
		e.TargetID = p.string(find(all, "key"))
		e.Label = p.string(find(all, "value"))
		p.part(session.KindLabel, find(all, "value"))
	default:
		p.rest(all, "kind", "seq", "lane")
	}
}

// rest puts all members under other, except the keys of every entry and these.
func (p *piParser) rest(all []member, except ...string) {
	for k := range all {
		key := string(all[k].key)
		switch key {
		case "type", "id", "parentId", "timestamp":
			continue
		}
		if !slices.Contains(except, key) {
			p.unknown = append(p.unknown, unknown{value: all[k].val})
		}
	}
}

// message projects a message, or the system message that a compaction keeps.
func (p *piParser) message(v value, inCompaction bool) {
	if p.obj.kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{value: v})
		return
	}
	e := &p.entry
	base := len(p.members)
	all := p.collect(v)
	role := p.name(find(all, "role"))
	kind := ofRole(role)
	if inCompaction {
		role, kind = "system", session.KindSystem
	} else {
		e.Role = role
		if ms := p.when(find(all, "timestamp")); ms != 0 {
			e.MessageTime = time.UnixMilli(ms).UTC()
		}
	}
	if role == "toolResult" {
		e.Tool = p.name(find(all, "toolName"))
		e.ToolCallID = p.string(find(all, "toolCallId"))
	}
	p.content(kind, find(all, "content"))

	system := len(p.unknown)
	for k := range all {
		v := all[k].val
		known := true
		key := string(all[k].key)
		switch key {
		case "role", "timestamp", "content", "details":
			continue
		}
		switch role {
		case "user":
			switch key {
			case "attachments":
				p.attachments(v)
			default:
				known = false
			}
		case "assistant":
			switch key {
			case "provider":
				e.Provider = p.name(v)
			case "model":
				e.Model = p.name(v)
			case "errorMessage":
				p.failure(v, find(all, "stopReason"))
			case "api", "usage", "stopReason", "rawStopReason", "responseId", "responseModel",
				"thinkingLevel", "providerThinkingLevel", "endTurn", "durationMs":
			default:
				known = false
			}
		case "toolResult":
			switch key {
			case "isError":
				e.IsError = p.isTrue(v)
			case "nestedCalls":
				p.nested(v)
			case "toolName", "toolCallId", "durationMs", "usage":
			default:
				known = false
			}
		case "bashExecution":
			switch key {
			case "command", "output":
			case "exitCode":
				n, ok := p.integer(v)
				e.IsError = ok && n != 0
			case "cancelled", "truncated", "fullOutputPath", "excludeFromContext":
			default:
				known = false
			}
		case "custom", "hookMessage":
			switch key {
			case "customType":
				e.CustomType = p.name(v)
			case "display":
			default:
				known = false
			}
		case "compactionSummary", "branchSummary":
			switch key {
			case "summary":
				p.part(kind, v)
			case "fromId", "tokensBefore":
			default:
				known = false
			}
		default:
			known = false
		}
		if !known {
			p.unknown = append(p.unknown, unknown{value: v})
		}
	}
	switch role {
	case "bashExecution":
		p.shell(find(all, "command"), find(all, "output"))
	case "system":
		// Sections and tools repeat most of the content.
		p.leafPart(session.KindSystem, p.unknown[system:], e.Parts)
		p.unknown = p.unknown[:system]
	case "user":
		e.UserText = string(p.prompt)
	}
	p.details(find(all, "details"))
	p.members = p.members[:base]
}

// content projects the content of a message: a text, or a list of blocks.
func (p *piParser) content(kind session.Kind, v value) {
	for blocks := p.obj.elementsOf(v); blocks.next(); {
		switch p.obj.kind(blocks.val) {
		case '"':
			p.block(kind, blocks.val)
		case '{':
			p.structured(kind, blocks.val)
		case '[':
			p.unknown = append(p.unknown, unknown{value: blocks.val})
		}
	}
}

// block projects the text of a text block.
func (p *piParser) block(kind session.Kind, v value) {
	if kind == session.KindOther {
		p.unknown = append(p.unknown, unknown{value: v})
		return
	}
	before := len(p.entry.Parts)
	p.part(kind, v)
	if kind == session.KindPrompt && p.obj.kind(v) == '"' {
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
func (p *piParser) structured(kind session.Kind, v value) {
	base := len(p.members)
	all := p.collect(v)
	typ := p.name(find(all, "type"))
	switch typ {
	case "text", "thinking", "image", "toolCall":
	default:
		p.unknown = append(p.unknown, unknown{value: v, block: true})
		p.members = p.members[:base]
		return
	}
	for k := range all {
		v := all[k].val
		known := true
		key := string(all[k].key)
		switch typ {
		case "text":
			switch key {
			case "text":
				p.block(kind, v)
			case "type", "textSignature":
			default:
				known = false
			}
		case "thinking":
			switch key {
			case "thinking":
				if !p.isTrue(find(all, "redacted")) {
					p.part(session.KindThinking, v)
				}
			case "type", "thinkingSignature", "redacted":
			default:
				known = false
			}
		case "image":
			switch key {
			case "mimeType":
				p.image(v)
			case "type":
			case "data":
				known = p.obj.kind(v) == '"'
			default:
				known = false
			}
		case "toolCall":
			switch key {
			case "name":
			case "arguments":
			case "type", "id", "thoughtSignature", "partialJson":
			default:
				known = false
			}
		}
		if !known {
			p.unknown = append(p.unknown, unknown{value: v})
		}
	}
	if typ == "toolCall" {
		p.call(all)
	}
	p.members = p.members[:base]
}

// image notes the type of an image.
func (p *piParser) image(mimeType value) {
	if s := p.name(mimeType); s != "" {
		p.entry.MimeTypes = append(p.entry.MimeTypes, s)
	}
}

// call projects a tool call, or one that a tool made.
func (p *piParser) call(all []member) {
	name, arguments := find(all, "name"), find(all, "arguments")
	tool := p.name(name)
	id := p.string(find(all, "id"))
	room := p.arena.room(len(tool) + arguments.end - arguments.start + 64)
	p.leaves.begin(&p.obj, append(room, tool...), true, nil)
	if !arguments.empty() && p.obj.kind(arguments) != 'n' {
		p.leaves.add(arguments, false)
	}
	if text := p.arena.keep(p.leaves.end()); len(text) > 0 {
		p.entry.Parts = append(p.entry.Parts, session.Part{Kind: session.KindCall, Text: text, Tool: tool, ToolCallID: id})
	}
}

// nested projects the calls that a tool made itself.
func (p *piParser) nested(v value) {
	base := len(p.members)
	for _, m := range p.collect(v) {
		switch string(m.key) {
		case "calls":
			p.nestedCalls(m.val)
		default:
			p.unknown = append(p.unknown, unknown{value: m.val})
		}
	}
	if p.obj.kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{value: v})
	}
	p.members = p.members[:base]
}

func (p *piParser) nestedCalls(v value) {
	for calls := p.obj.elementsOf(v); calls.next(); {
		if p.obj.kind(calls.val) != '{' {
			p.unknown = append(p.unknown, unknown{value: calls.val})
			continue
		}
		base := len(p.members)
		all := p.collect(calls.val)
		p.call(all)
		for _, m := range all {
			switch string(m.key) {
			case "id", "name", "arguments", "status", "durationMs", "argumentsBytes":
			default:
				p.unknown = append(p.unknown, unknown{value: m.val})
			}
		}
		p.members = p.members[:base]
	}
}

// attachments projects what a user of the first format attached: the name of
// each file and the text found in it, never the file itself.
func (p *piParser) attachments(v value) {
	for files := p.obj.elementsOf(v); files.next(); {
		base := len(p.members)
		all := p.collect(files.val)
		if strings.HasPrefix(p.name(find(all, "mimeType")), "image/") {
			p.image(find(all, "mimeType"))
		}
		name := p.obj.text(find(all, "fileName"), &p.arena)
		text := p.obj.text(find(all, "extractedText"), &p.arena)
		if len(name) > 0 && len(text) > 0 {
			text = p.join(name, text)
		} else if len(text) == 0 {
			text = name
		}
		p.add(session.KindPrompt, text)
		for _, m := range all {
			switch string(m.key) {
			case "id", "type", "fileName", "mimeType", "size", "content", "extractedText", "preview":
			default:
				p.unknown = append(p.unknown, unknown{value: m.val})
			}
		}
		p.members = p.members[:base]
	}
}

// join puts two texts on lines of one.
func (p *piParser) join(a, b []byte) []byte {
	text := append(p.arena.room(len(a)+1+len(b)), a...)
	text = append(text, '\n')
	return p.arena.keep(append(text, b...))
}

// shell projects what the person ran.
func (p *piParser) shell(command, output value) {
	for _, v := range []value{command, output} {
		if c := p.obj.kind(v); c != '"' && c != 0 {
			p.unknown = append(p.unknown, unknown{value: v})
		}
	}
	a, b := p.obj.text(command, &p.arena), p.obj.text(output, &p.arena)
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
func (p *piParser) failure(message, reason value) {
	text := p.obj.text(message, &p.arena)
	if len(text) == 0 {
		if c := p.obj.kind(message); c == '{' || c == '[' {
			p.unknown = append(p.unknown, unknown{value: message})
		}
		return
	}
	p.entry.IsError = true
	if why := p.obj.text(reason, &p.arena); len(why) > 0 {
		joined := append(p.arena.room(len(why)+2+len(text)), why...)
		joined = append(joined, ": "...)
		text = p.arena.keep(append(joined, text...))
	}
	p.add(session.KindError, text)
}

// replacement projects what an edit of the context puts in place of an entry.
func (p *piParser) replacement(v value) {
	if p.obj.kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{value: v})
		return
	}
	base := len(p.members)
	for _, m := range p.collect(v) {
		if string(m.key) == "content" {
			p.content(session.KindNote, m.val)
			continue
		}
		p.unknown = append(p.unknown, unknown{value: m.val})
	}
	p.members = p.members[:base]
}

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

// copyHash returns what an entry has in common with its copies: all of it but
// what a copy may change.
func (p *piParser) copyHash(all []member) uint64 {
	h := p.hash
	h.Reset()
	for _, m := range all {
		switch string(m.key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h.Write(m.key)
		h.WriteString(":")
		p.hashCompact(h, p.obj.raw(m.val))
		h.WriteString(",")
	}
	return max(h.Sum64(), 1)
}

// hashCompact hashes JSON without the white space outside its strings.
func (p *piParser) hashCompact(h *xxhash.Digest, raw []byte) {
	if !p.scan.spaced {
		h.Write(raw)
		return
	}
	from := 0
	for i := 0; i < len(raw); {
		switch {
		case raw[i] == '"':
			i = skipString(raw, i)
		case isSpace(raw[i]):
			h.Write(raw[from:i])
			for i < len(raw) && isSpace(raw[i]) {
				i++
			}
			from = i
		default:
			i++
		}
	}
	h.Write(raw[from:])
}
