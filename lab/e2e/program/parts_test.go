package program

import (
	"encoding/json"
	"slices"
	"strings"
)

// part is a piece of text that must be found at its entry. Kind is "" where the
// documentation leaves open which kind such a piece has.
type part struct {
	kind, text string
}

// partsOf lists the texts of an entry that must be found, by the table of kinds.
func partsOf(o object) []part {
	p := &partList{}
	e := o.value
	switch kind, _ := e["kind"].(string); {
	case o.str("type") == "" && kind == "fact":
		p.add("title", e["name"])
		p.add("label", e["label"])
		return p.list
	case o.str("type") == "" && kind == "lane", kind == "record":
		return nil
	}
	known := []string{"type", "id", "parentId", "timestamp", "kind", "lane", "seq"}
	switch o.str("type") {
	case "message":
		if m, ok := e["message"].(map[string]any); ok {
			p.message(m)
		}
		known = append(known, "message", "terminate")
	case "model_change":
		p.add("meta", e["provider"])
		p.add("meta", e["modelId"])
		p.add("meta", e["model"])
		known = append(known, "provider", "modelId", "model")
	case "thinking_level_change":
		p.add("meta", e["thinkingLevel"])
		known = append(known, "thinkingLevel")
	case "usage":
		p.add("meta", e["provider"])
		p.add("meta", e["model"])
		p.add("meta", e["note"])
		known = append(known, "provider", "model", "note", "usage")
	case "compaction", "branch_summary":
		p.add("summary", e["summary"])
		if m, ok := e["systemMessage"].(map[string]any); ok {
			p.content("system", m["content"])
		} else {
			p.add("system", e["systemMessage"])
		}
		p.details(e["details"])
		known = append(known, "summary", "systemMessage", "details", "fromId", "firstKeptEntryId", "firstKeptEntryIndex",
			"tokensBefore", "fromHook", "usage", "retainedTail")
	case "custom":
		p.leaves("data", e["data"])
		known = append(known, "customType", "data")
	case "custom_message":
		p.content("note", e["content"])
		p.details(e["details"])
		known = append(known, "customType", "content", "details", "display")
	case "context_edit":
		if r, ok := e["replacement"].(map[string]any); ok {
			p.content("note", r["content"])
		}
		known = append(known, "targetId", "replacement")
	case "session_info":
		p.add("title", e["name"])
		known = append(known, "name")
	case "label":
		p.add("label", e["label"])
		known = append(known, "label", "targetId")
	case "active_tools_change":
		p.leaves("meta", e["activeToolNames"])
		known = append(known, "activeToolNames")
	case "leaf":
		known = append(known, "targetId")
	case "":
		p.leaves("", e)
		return p.list
	}
	p.unknown(e, known)
	return p.list
}

type partList struct{ list []part }

func (p *partList) add(kind string, v any) {
	if s, ok := v.(string); ok && s != "" {
		p.list = append(p.list, part{kind, s})
	}
}

func (p *partList) message(m map[string]any) {
	known := []string{"role", "content", "timestamp"}
	role, _ := m["role"].(string)
	switch role {
	case "user":
		p.content("prompt", m["content"])
		if list, ok := m["attachments"].([]any); ok {
			for _, a := range list {
				if a, ok := a.(map[string]any); ok {
					p.add("prompt", a["extractedText"])
					p.add("prompt", a["fileName"])
				}
			}
		}
		known = append(known, "attachments")
	case "assistant":
		p.content("reply", m["content"])
		if s, ok := m["errorMessage"].(string); ok && s != "" {
			p.add("error", s)
			p.add("error", m["stopReason"])
		}
		known = append(known, "api", "provider", "model", "usage", "stopReason", "errorMessage", "responseId", "responseModel",
			"thinkingLevel", "providerThinkingLevel", "rawStopReason", "endTurn", "durationMs", "diagnostics", "deferred")
	case "toolResult":
		p.content("result", m["content"])
		if nested, ok := m["nestedCalls"].(map[string]any); ok {
			if calls, ok := nested["calls"].([]any); ok {
				for _, c := range calls {
					if c, ok := c.(map[string]any); ok {
						p.call(c)
					}
				}
			}
		}
		p.details(m["details"])
		known = append(known, "toolCallId", "toolName", "details", "isError", "durationMs", "usage", "nestedCalls")
	case "bashExecution":
		p.add("shell", m["command"])
		p.add("shell", m["output"])
		known = append(known, "command", "output", "exitCode", "cancelled", "truncated", "fullOutputPath", "excludeFromContext")
	case "custom", "hookMessage":
		p.content("note", m["content"])
		p.details(m["details"])
		known = append(known, "customType", "display", "details")
	case "compactionSummary", "branchSummary":
		p.add("summary", m["summary"])
		known = append(known, "summary", "fromId", "tokensBefore")
	case "system":
		p.content("system", m["content"])
		known = append(known, "sections", "toolsAdded", "toolsRemoved")
	default:
		known = known[:1]
	}
	p.unknown(m, known)
}

// content takes a string or a list of blocks.
func (p *partList) content(kind string, v any) {
	switch v := v.(type) {
	case string:
		p.add(kind, v)
	case []any:
		for _, b := range v {
			switch b := b.(type) {
			case map[string]any:
				p.block(kind, b)
			default:
				p.add("", b)
			}
		}
	case map[string]any:
		p.leaves("", v)
	}
}

func (p *partList) block(kind string, b map[string]any) {
	switch b["type"] {
	case "text":
		p.add(kind, b["text"])
		p.unknown(b, []string{"type", "text", "textSignature"})
	case "image":
		p.unknown(b, []string{"type", "data", "mimeType"})
	case "thinking":
		if b["redacted"] != true {
			p.add("thinking", b["thinking"])
		}
		p.unknown(b, []string{"type", "thinking", "thinkingSignature", "redacted"})
	case "toolCall":
		p.call(b)
		p.unknown(b, []string{"type", "id", "name", "arguments", "thoughtSignature", "namespace", "argumentsError", "partialJson", "partialArgs", "streamIndex"})
	default:
		p.leaves("other", b)
	}
}

func (p *partList) call(c map[string]any) {
	p.add("call", c["name"])
	p.arguments(c["arguments"])
}

func (p *partList) arguments(v any) {
	switch v := v.(type) {
	case string:
		p.add("call", v)
	case json.Number:
		p.add("call", v.String())
	case []any:
		for _, e := range v {
			p.arguments(e)
		}
	case map[string]any:
		for name, e := range v {
			if e != nil {
				p.add("call", name)
			}
			p.arguments(e)
		}
	}
}

// details are the string leaves that the content does not already hold.
func (p *partList) details(v any) {
	content := p.list
	values(v, "", func(_, s string) {
		for _, c := range content {
			if strings.Contains(c.text, s) {
				return
			}
		}
		p.add("details", s)
	})
}

func (p *partList) leaves(kind string, v any) {
	values(v, "", func(_, s string) { p.add(kind, s) })
}

// unknown takes the string leaves of keys that are not known.
func (p *partList) unknown(m map[string]any, known []string) {
	for key, v := range m {
		if !slices.Contains(known, key) {
			values(v, key, func(_, s string) { p.add("other", s) })
		}
	}
}

// values visits the string leaves of a value, but for ids, types, signatures
// and encoded data, which are not text.
func values(v any, key string, visit func(key, s string)) {
	switch v := v.(type) {
	case string:
		lower := strings.ToLower(key)
		if key != "type" && key != "role" && key != "timestamp" && key != "data" && lower != "id" && !strings.HasSuffix(key, "Id") &&
			!strings.HasSuffix(lower, "signature") && key != "partialJson" && key != "partialArgs" && key != "streamIndex" {
			visit(key, v)
		}
	case []any:
		for _, e := range v {
			values(e, key, visit)
		}
	case map[string]any:
		for k, e := range v {
			if _, mime := v["mimeType"]; mime && k != "mimeType" && k != "text" {
				continue
			}
			values(e, k, visit)
		}
	}
}
