package pi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
	"pigrep/scope"
)

// The order of an entry's parts is fixed, whatever the order of its members, so
// that a part keeps its number: what the content holds, block by block; then the
// text of other known members; then details; then other.

// maxPrompt bounds Entry.UserText, which is for showing.
const maxPrompt = 64 << 10

// madeUpID is the id of an entry that the file gives none.
func madeUpID(offset int64) string { return "@" + strconv.FormatInt(offset, 10) }

// project fills the entry from its members. The fourth format, of the agent
// library, says with kind what a line is.
func (p *parser) project(all jsonl.Fields, kind string) {
	e := &p.entry
	for k := range all {
		v := all[k].Val
		switch string(all[k].Key) {
		case "id":
			e.ID = p.json.String(v)
		case "parentId":
			e.HasParent = true
			e.ParentID = p.json.String(v)
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
func (p *parser) byType(all jsonl.Fields, kind string) {
	e := &p.entry
	var details, system jsonl.Value
	for k := range all {
		v := all[k].Val
		key := string(all[k].Key)
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
				e.FirstKeptID = p.json.String(v)
			case "firstKeptEntryIndex":
				if n, ok := p.json.Int(v); ok && n >= 0 && n < 1<<31 {
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
				e.CustomType = p.json.Name(v)
			case "data":
			default:
				known = false
			}
		case "custom_message":
			switch key {
			case "customType":
				e.CustomType = p.json.Name(v)
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
				e.TargetID = p.json.String(v)
			case "replacement":
				p.replacement(v)
			default:
				known = false
			}
		case "label":
			switch key {
			case "targetId":
				e.TargetID = p.json.String(v)
			case "label":
				e.Label = p.json.String(v)
				p.part(session.KindLabel, v)
			default:
				known = false
			}
		case "session_info":
			switch key {
			case "name":
				e.Name = p.json.String(v)
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
				e.TargetID = p.json.String(v)
			default:
				known = false
			}
		default:
			known = false
		}
		if !known {
			p.unknown = append(p.unknown, unknown{Value: v})
		}
	}
	switch e.Type {
	case "custom":
		p.strings(session.KindData, all.Find("data"))
	case "model_change", "thinking_level_change", "usage", "active_tools_change":
		p.meta(all)
	}
	p.details(details)
	if !system.Empty() {
		p.message(system, true)
	}
}

// meta projects what says which model, level or tools are in force: one line
// each for what was done, the model, the level, the tools and the note.
func (p *parser) meta(all jsonl.Fields) {
	e := &p.entry
	e.Provider = p.json.Name(all.Find("provider"))
	if e.Model = p.json.Name(all.Find("modelId")); e.Model == "" {
		e.Model = p.json.Name(all.Find("model"))
		if e.Provider == "" {
			e.Provider, e.Model = splitModel(e.Model)
		}
	}
	var lines []string
	if e.Type == "usage" {
		lines = append(lines, p.json.Name(all.Find("kind")))
	}
	model := e.Model
	if e.Provider != "" && e.Model != "" {
		model = e.Provider + "/" + e.Model
	} else if model == "" {
		model = e.Provider
	}
	lines = append(lines, model, p.json.Name(all.Find("thinkingLevel")))
	for tools := p.json.Elements(all.Find("activeToolNames")); tools.Next(); {
		lines = append(lines, p.json.Name(tools.Val))
	}
	lines = append(lines, p.json.String(all.Find("note")))
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	if len(lines) > 0 {
		e.Parts = append(e.Parts, session.Part{Kind: session.KindMeta, Text: []byte(strings.Join(lines, "\n"))})
	}
}

// fact projects the lines of the fourth format that name the session, label an
// entry or move the leaf.
func (p *parser) fact(all jsonl.Fields, kind string) {
	e := &p.entry
	switch {
	case kind == "lane":
		e.TargetID = p.json.String(all.Find("leafId"))
	case kind == "fact" && p.json.Name(all.Find("fact")) == "name":
		e.Type = "session_info"
		e.Name = p.json.String(all.Find("name"))
		p.part(session.KindTitle, all.Find("name"))
	case kind == "fact" && p.json.Name(all.Find("fact")) == "label":
		e.Type = "label"
		e.TargetID = p.json.String(all.Find("targetId"))
		e.Label = p.json.String(all.Find("label"))
		p.part(session.KindLabel, all.Find("label"))
	case kind == "value" && p.json.Name(all.Find("namespace")) == "pi.session.name":
		e.Type = "session_info"
		e.Name = p.json.String(all.Find("value"))
		p.part(session.KindTitle, all.Find("value"))
	case kind == "value" && p.json.Name(all.Find("namespace")) == "pi.entry.label":
		e.Type = "label"
		e.TargetID = p.json.String(all.Find("key"))
		e.Label = p.json.String(all.Find("value"))
		p.part(session.KindLabel, all.Find("value"))
	default:
		p.rest(all, "kind", "seq", "lane")
	}
}

// rest puts all members under other, except the keys of every entry and these.
func (p *parser) rest(all jsonl.Fields, except ...string) {
	for k := range all {
		key := string(all[k].Key)
		switch key {
		case "type", "id", "parentId", "timestamp":
			continue
		}
		if !slices.Contains(except, key) {
			p.unknown = append(p.unknown, unknown{Value: all[k].Val})
		}
	}
}

// message projects a message, or the system message that a compaction keeps.
func (p *parser) message(v jsonl.Value, inCompaction bool) {
	if p.json.Kind(v) != '{' {
		p.unknown = append(p.unknown, unknown{Value: v})
		return
	}
	e := &p.entry
	all := p.json.Fields(v)
	role := p.json.Name(all.Find("role"))
	kind := scope.OfRole(role)
	if inCompaction {
		role, kind = "system", session.KindSystem
	} else {
		e.Role = role
		if ms := p.json.Time(all.Find("timestamp")); ms != 0 {
			e.MessageTime = time.UnixMilli(ms).UTC()
		}
	}
	if role == "toolResult" {
		e.Tool = p.json.Name(all.Find("toolName"))
		e.ToolCallID = p.json.String(all.Find("toolCallId"))
	}
	p.content(kind, all.Find("content"))

	system := len(p.unknown)
	for k := range all {
		v := all[k].Val
		known := true
		key := string(all[k].Key)
		switch key {
		case "role", "id", "timestamp", "content", "details":
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
				e.Provider = p.json.Name(v)
			case "model":
				e.Model = p.json.Name(v)
			case "errorMessage":
				p.failure(v, all.Find("stopReason"))
			case "api", "usage", "stopReason", "rawStopReason", "responseId", "responseModel",
				"thinkingLevel", "providerThinkingLevel", "endTurn", "durationMs":
			default:
				known = false
			}
		case "toolResult":
			switch key {
			case "isError":
				e.IsError = p.json.IsTrue(v)
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
				n, ok := p.json.Int(v)
				e.IsError = ok && n != 0
			case "cancelled", "truncated", "fullOutputPath", "excludeFromContext":
			default:
				known = false
			}
		case "custom", "hookMessage":
			switch key {
			case "customType":
				e.CustomType = p.json.Name(v)
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
			p.unknown = append(p.unknown, unknown{Value: v})
		}
	}
	switch role {
	case "bashExecution":
		p.shell(all.Find("command"), all.Find("output"))
	case "system":
		// Sections and tools repeat most of the content.
		p.leafPart(session.KindSystem, p.unknown[system:], e.Parts)
		p.unknown = p.unknown[:system]
	case "user":
		e.UserText = string(p.prompt)
	}
	p.details(all.Find("details"))
}
