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
func home(env adapter.Environment) string {
	if dir := env.Getenv(homeVariable); dir != "" {
		return adapter.Absolute(dir, env)
	}
	return filepath.Join(env.Home, ".codex")
}

// Roots implements adapter.Agent.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	origin := "default"
	if env.Getenv(homeVariable) != "" {
		origin = "$" + homeVariable
	}
	return []adapter.Root{{Path: home(env), Origin: origin, Agent: Name, Usual: true, Layout: layout{}}}, nil
}

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(sessionsDir) && (has("config.toml") || has("auth.json") || has(notesFile) || has(archivedDir) || has("version.json") || has("history.jsonl")) {
		return layout{}
	}
	return nil
}

// layout is that of Codex's own directory, in which nothing else is opened.
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
	case len(name) < len(path) && l.Enter(path) && bytes.HasPrefix(name, []byte("rollout-")) && bytes.HasSuffix(name, []byte(".jsonl")):
		return adapter.Transcript
	}
	return adapter.Foreign
}
