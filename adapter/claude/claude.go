// Package claude says what Claude Code writes: session files of all versions, the files of
// subagents beside them, directories and environment variables. It also knows how Claude
// Code resumes a session. No other package knows anything about it. The central type is
// Agent, an adapter.Agent. The package imports adapter, jsonl and internal/session.
package claude

import (
	"pigrep/adapter"
	"pigrep/internal/jsonl"
)

// Name identifies the session files of Claude Code.
const Name = "claude.projects_jsonl.v1"

// Agent is Claude Code, in every version since 1.0.
type Agent struct{ adapter.Identity }

// New returns the adapter for Claude Code.
func New() Agent { return Agent{adapter.NewIdentity(Name, "Claude Code", 2)} }

// Recognize implements adapter.Agent. The lines have no header, but each of them says what
// it is.
func (Agent) Recognize(head []byte) adapter.Sort {
	var json jsonl.Scanner
	for line := range jsonl.Lines(head) {
		i := jsonl.SkipPadding(line.Data, 0)
		json.Reset(line.Data)
		v, err := json.Check(i)
		switch {
		case err == nil && isOwn(&json, v), err != nil && !line.Ended && isOwnCut(line.Data[i:]):
			return adapter.Transcript
		}
	}
	return adapter.Foreign
}

// isOwn reports whether a line is one of Claude Code's.
func isOwn(json *jsonl.Scanner, v jsonl.Value) bool {
	all := json.Fields(v)
	is := func(kind byte, keys ...string) bool {
		for _, key := range keys {
			if json.Kind(all.Find(key)) != kind {
				return false
			}
		}
		return true
	}
	switch typ := json.Name(all.Find("type")); typ {
	case "user", "assistant":
		return is('{', "message") && is('"', "uuid", "sessionId") && !all.Find("parentUuid").Empty()
	case "system", "attachment", "progress":
		return is('"', "uuid", "sessionId") && !all.Find("parentUuid").Empty()
	case "summary":
		return is('"', "summary", "leafUuid")
	case "file-history-snapshot":
		return is('{', "snapshot") && is('"', "messageId")
	case "queue-operation":
		return is('"', "sessionId", "operation")
	default:
		_, ok := stateLines[typ]
		return ok && is('"', "sessionId")
	}
}

// isOwnCut reports whether a line without its end is one of Claude Code's. Inside of a
// string, the quotes would be escaped.
func isOwnCut(line []byte) bool {
	return adapter.IsObjectWith(line, `"parentUuid":`, `"isSidechain":`, `"sessionId":"`)
}
