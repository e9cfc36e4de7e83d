package codex

import (
	"bytes"
	_ "embed"
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

//go:embed stores.txt
var storesText string

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) []adapter.Store {
	return adapter.Stores(storesText, Name, home(env), env)
}
