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
		ID: Name, Title: "Codex", Reading: 4, Homes: homes, Files: files, Marks: marks, Kept: storesText,
		CurrentID: currentVariable, ClientNames: []string{"codex-mcp-client"}, Deleting: "codex delete ID",
		Resuming: adapter.Resuming{
			Program: "codex", Install: "npm install -g @openai/codex", Args: "resume ID -C DIR", ForkArgs: "fork ID -C DIR", Unpacks: true, Refuses: refuses,
			Restored: "Codex lists sessions from a database of its own: it may not list or resume this one (`codex doctor`)",
		},
		Servers: adapter.Servers{File: "~/.codex/config.toml, or .codex/config.toml of a project that is trusted", Own: "config.toml"},
		Hooks:   adapter.Hooks{File: "hooks.json", Failure: "PostToolUse", Note: "Codex asks whether it may run them when it is started"},
		Variables: []adapter.Variable{
			{Name: homeVariable, Use: "Codex's directory, in place of ~/.codex; its sessions/ and archived_sessions/ are searched", Path: true},
			{Name: currentVariable, Use: "the session of Codex that mcp runs in, which it leaves out"},
		},
	}}
}

// flat is the header of a version before 0.34, whose lines have no type.
const flat = `
	transcript id" timestamp" instructions only git
`

// marks are the lines of a session, each of which says what it is, and of the list of names.
const marks = flat + `
	transcript timestamp" type=session_meta payload.id" payload.timestamp"
	transcript timestamp" type=response_item|event_msg payload.type"
	transcript timestamp" type=turn_context payload.cwd" payload.model"
	transcript timestamp" type=compacted payload.message"
	transcript timestamp" type=world_state|token_usage_record payload{
	notes id" thread_name" updated_at" only
	cut "timestamp":" "type":"session_meta" "payload":{ "cli_version":"
`

var flatHeader = adapter.NewMarks(flat)

const (
	homeVariable    = "CODEX_HOME"
	homes           = "$" + homeVariable + " ~/.codex"
	currentVariable = "CODEX_THREAD_ID" // Codex sets it for the processes that it starts

	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
)

// files lists what is opened in Codex's own directory. A session may have several segments.
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
