package codex

import (
	"bytes"
	"path/filepath"

	"pigrep/adapter"
)

const (
	homeVariable    = "CODEX_HOME"
	currentVariable = "CODEX_THREAD_ID" // Codex sets it for the processes that it starts

	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
	notesFile   = "session_index.jsonl"
)

// home returns the directory in which Codex keeps its files.
func home(env adapter.Environment) string { return homes(env)[0].Path }

// homes are the directories in which Codex keeps, or kept, its files, the one in use first.
func homes(env adapter.Environment) (list []adapter.Root) {
	usual := filepath.Join(env.Home, ".codex")
	if dir := env.Getenv(homeVariable); dir != "" {
		if dir = adapter.Absolute(dir, env); dir != usual {
			list = append(list, adapter.Root{Path: dir, Origin: "$" + homeVariable, Layout: layout{}})
		}
	}
	return append(list, adapter.Root{Path: usual, Origin: "default", Usual: true, Layout: layout{}})
}

// Roots implements adapter.Agent. Sessions stay where they are when the variable changes, so
// both directories count.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) { return homes(env), nil }

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(sessionsDir+"/") || has(archivedDir+"/") {
		return layout{}
	}
	return nil
}

// layout is that of Codex's own directory, in which nothing else is opened:
//
//	sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl
//	sessions/YYYY/MM/DD/rollout-TIME-ID_SEGMENT.jsonl
//	archived_sessions/rollout-TIME-ID.jsonl
//	session_index.jsonl
type layout struct{}

// Enter implements adapter.Layout.
func (layout) Enter(dir []byte) bool {
	first, _, _ := bytes.Cut(dir, []byte("/"))
	return string(first) == sessionsDir || string(first) == archivedDir
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	name := path[bytes.LastIndexByte(path, '/')+1:]
	switch {
	case string(path) == notesFile:
		return adapter.Notes
	case len(name) < len(path) && l.Enter(path[:len(path)-len(name)-1]) && bytes.HasPrefix(name, []byte("rollout-")) && bytes.HasSuffix(name, []byte(".jsonl")):
		return adapter.Transcript
	}
	return adapter.Foreign
}

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) (list []adapter.Store) {
	for _, s := range stores {
		list = append(list, adapter.Store{
			Name: s.name, Role: s.role, Format: s.format, Path: filepath.Join(home(env), filepath.FromSlash(s.path)), Coverage: s.coverage,
		})
	}
	return list
}

var stores = []struct {
	name, role, format string
	path               string // below Codex's directory, with forward slashes
	coverage           adapter.Coverage
}{
	{"sessions", "conversations, one directory for each day, and those of subagents", Name, sessionsDir, adapter.Searched},
	{"archived sessions", "conversations that were archived", Name, archivedDir, adapter.Searched},
	{"session index", "names of sessions", "JSON lines", notesFile, adapter.Searched},
	{"settings", "settings, with the environment of MCP servers", "TOML", "config.toml", adapter.Private},
	{"auth", "keys and tokens of the account", "JSON", "auth.json", adapter.Private},
	{"credentials", "tokens of MCP servers", "JSON", ".credentials.json", adapter.Private},
	{"history", "prompts as typed, of all sessions; they also stand in the sessions", "JSON lines", "history.jsonl", adapter.Catalogued},
	{"state", "previews of sessions and settings, a cache", "SQLite", "state_5.sqlite", adapter.Private},
	{"thread history", "names and turns of sessions, a cache", "SQLite", "thread_history_1.sqlite", adapter.Private},
	{"queue", "messages that wait to be sent", "SQLite", "queue_1.sqlite", adapter.Private},
	{"logs", "what the program did", "SQLite", "logs_2.sqlite", adapter.Private},
	{"log files", "what the program did", "text", "log", adapter.Private},
	{"instructions", "instructions for every session", "Markdown", "AGENTS.md", adapter.Catalogued},
	{"prompts", "prompt templates", "Markdown files", "prompts", adapter.Catalogued},
	{"skills", "skills", "Markdown files", "skills", adapter.Catalogued},
	{"rules", "commands that may run without asking", "text files", "rules", adapter.Catalogued},
}
