// Package codex says what Codex CLI writes: rollout files of all versions, directories and
// environment variables. It also knows how Codex resumes a session. No other package knows
// anything about it. The central type is Agent, an adapter.Agent. The package imports
// adapter, jsonl and internal/session.
package codex

import (
	_ "embed"
	"path"
	"path/filepath"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
)

// Name identifies the session files of Codex.
const Name = "codex.rollout_jsonl.v1"

// Agent is Codex CLI, in every version since 0.20.
type Agent struct{ *adapter.Profile }

// New returns the adapter for Codex.
func New() Agent {
	return Agent{&adapter.Profile{
		ID: Name, Title: "Codex", Reading: 4, Homes: homes, Files: files, Kept: storesText,
		CurrentID: currentVariable, ClientNames: []string{"codex-mcp-client"}, Deleting: "codex delete ID",
		Resuming: adapter.Resuming{
			Program: "codex", Install: "npm install -g @openai/codex", Args: "resume ID -C DIR", ForkArgs: "fork ID -C DIR", Unpacks: true, Refuses: refuses,
			Restored: "Codex lists sessions from a database of its own: it may not list or resume this one (`codex doctor`)",
		},
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Codex's directory, in place of ~/.codex; its sessions/ and archived_sessions/ are searched", Path: true},
			{Name: currentVariable, Use: "the session of Codex that mcp runs in, which it leaves out"},
		},
	}}
}

// Recognize implements adapter.Agent. Each line says what it is, but for the items of the
// oldest dialect, which follow a header.
func (Agent) Recognize(head []byte) adapter.Sort {
	return adapter.SortOf(head, sortOf, `"timestamp":"`, `"type":"session_meta"`, `"payload":{`, `"cli_version":"`)
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

const (
	homeVariable    = "CODEX_HOME"
	homes           = "$" + homeVariable + " ~/.codex"
	currentVariable = "CODEX_THREAD_ID" // Codex sets it for the processes that it starts

	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
)

// files are those of Codex's own directory, in which nothing else is opened. A session may have several segments.
const files = `
	sessions/**/rollout-*.jsonl
	archived_sessions/**/rollout-*.jsonl
	session_index.jsonl notes
`

//go:embed stores.txt
var storesText string

// refuses says why Codex does not open a session.
func refuses(env adapter.Environment, s *session.Summary, q *adapter.ResumeRequest) (reason, hint string) {
	switch {
	case s.Version == versionFlat:
		return "a version before 0.34 wrote it, and later ones do not open its format", ""
	case isArchived(s.Path):
		return "it is archived", "codex unarchive " + s.ID
	case q == nil:
		return "", ""
	}
	own := adapter.Places(env, homes)[0].Path
	dir, ok := homeOf(s.Path)
	switch {
	case !ok:
		return "its file is not where Codex looks: in " + filepath.Join(own, sessionsDir), ""
	case dir != filepath.Clean(own):
		return "Codex looks for sessions in " + own, "set " + homeVariable + "=" + shellcmd.Here.Quote(dir)
	}
	return "", ""
}

// isArchived reports whether a file is among those of archived sessions.
func isArchived(file string) bool { return path.Base(path.Dir(session.Slashed(file))) == archivedDir }

// homeOf returns Codex's directory that a session file is in: four directories above it.
func homeOf(file string) (string, bool) {
	day := filepath.Dir(file)
	sessions := filepath.Dir(filepath.Dir(filepath.Dir(day)))
	return filepath.Dir(sessions), filepath.Base(sessions) == sessionsDir && strings.HasPrefix(filepath.Base(file), "rollout-")
}
