// Package codex says what Codex CLI writes: rollout files of all versions, directories and
// environment variables. It also knows how Codex resumes a session. No other package knows
// anything about it. The central type is Agent, an adapter.Agent. The package imports
// adapter, jsonl and internal/session.
package codex

import (
	"bytes"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
)

// Name identifies the session files of Codex.
const Name = "codex.rollout_jsonl.v1"

// Agent is Codex CLI, in every version since 0.20.
type Agent struct{ adapter.Identity }

// New returns the adapter for Codex.
func New() Agent { return Agent{adapter.NewIdentity(Name, "Codex", 1)} }

// Recognize implements adapter.Agent. Each line says what it is, but for the items of the
// oldest dialect, which follow a header.
func (Agent) Recognize(head []byte) adapter.Sort {
	var json jsonl.Scanner
	for line := range jsonl.Lines(head) {
		i := jsonl.SkipPadding(bytes.TrimPrefix(line.Data, jsonl.ByteOrderMark), 0)
		i += len(line.Data) - len(bytes.TrimPrefix(line.Data, jsonl.ByteOrderMark))
		json.Reset(line.Data)
		v, err := json.Check(i)
		switch {
		case err == nil:
			if sort := sortOf(&json, json.Fields(v)); sort != adapter.Foreign {
				return sort
			}
		case !line.Ended && isOwnCut(line.Data[i:]):
			return adapter.Transcript
		}
	}
	return adapter.Foreign
}

// sortOf says what a file with this line is.
func sortOf(json *jsonl.Scanner, all jsonl.Fields) adapter.Sort {
	switch {
	case isRollout(json, all), isFlatHeader(json, all):
		return adapter.Transcript
	case isText(json, all, "id", "thread_name", "updated_at") && len(all) == 3:
		return adapter.Notes
	}
	return adapter.Foreign
}

// isText reports whether members of an object are strings.
func isText(json *jsonl.Scanner, all jsonl.Fields, keys ...string) bool {
	for _, key := range keys {
		if json.Kind(all.Find(key)) != '"' {
			return false
		}
	}
	return true
}

// isRollout reports whether a line is one of Codex since 0.34: it has a type and a payload.
func isRollout(json *jsonl.Scanner, all jsonl.Fields) bool {
	if !isText(json, all, "timestamp", "type") || json.Kind(all.Find("payload")) != '{' {
		return false
	}
	payload := json.Fields(all.Find("payload"))
	switch json.Name(all.Find("type")) {
	case lineMeta:
		return isText(json, payload, "id", "timestamp")
	case lineItem, lineEvent:
		return isText(json, payload, "type")
	case lineContext:
		return isText(json, payload, "cwd", "model")
	case lineCompacted:
		return isText(json, payload, "message")
	case lineWorld, lineUsage:
		return true
	}
	return false
}

// isFlatHeader reports whether a line is the header of older versions, which has no type.
func isFlatHeader(json *jsonl.Scanner, all jsonl.Fields) bool {
	if !isText(json, all, "id", "timestamp") || all.Find("instructions").Empty() {
		return false
	}
	for _, m := range all {
		switch string(m.Key) {
		case "id", "timestamp", "instructions", "git":
		default:
			return false
		}
	}
	return true
}

// isOwnCut reports whether a line without its end is a header. Inside of a string, the quotes
// would be escaped.
func isOwnCut(line []byte) bool {
	return adapter.IsObjectWith(line, `"timestamp":"`, `"type":"session_meta"`, `"payload":{`, `"cli_version":"`)
}
