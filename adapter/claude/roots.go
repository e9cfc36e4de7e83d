package claude

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
)

// projects is the directory with the sessions in the directory of Claude Code.
const projects = "projects"

// usual is the origin of the directories that Claude Code chooses itself.
const usual = "default"

// homes are the directories in which Claude Code keeps its files, the one in use first.
func homes(env adapter.Environment) (list []adapter.Root) {
	own := []string{filepath.Join(env.Home, ".claude"), filepath.Join(env.Home, ".config", "claude")}
	add := func(dir, origin string) {
		for _, h := range list {
			if h.Path == dir {
				return
			}
		}
		list = append(list, adapter.Root{Path: dir, Origin: origin, Usual: slices.Contains(own, dir)})
	}
	// Programs that read sessions take several directories from the variable.
	for dir := range strings.SplitSeq(env.Getenv(configDirVariable), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			add(adapter.Absolute(dir, env), "$"+configDirVariable)
		}
	}
	for _, dir := range own {
		add(dir, usual)
	}
	return list
}

// Roots implements adapter.Agent. Sessions stay where they are when the variable changes, so
// all of these directories count.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	list := homes(env)
	for i := range list {
		list[i].Path = filepath.Join(list[i].Path, projects)
		list[i].Layout = layout{}
	}
	return list, nil
}

// Home implements adapter.Homed.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(projects + "/") {
		return layout{home: true}
	}
	return nil
}

// layout is that of the directory with the sessions, or of the one above it:
//
//	PROJECT/SESSION.jsonl
//	PROJECT/agent-ID.jsonl                     a subagent, of versions around 2.0
//	PROJECT/SESSION/subagents/agent-ID.jsonl
//	PROJECT/SESSION/subagents/workflows/ID/agent-ID.jsonl
type layout struct{ home bool }

// below returns a path below the directory with the sessions.
func (l layout) below(path []byte) ([]byte, bool) {
	if !l.home {
		return path, true
	}
	if rest, ok := bytes.CutPrefix(path, []byte(projects)); ok && len(rest) > 0 && rest[0] == '/' {
		return rest[1:], true
	}
	return nil, string(path) == projects
}

// Enter implements adapter.Layout.
func (l layout) Enter(dir []byte) bool {
	dir, ok := l.below(dir)
	return ok && (len(dir) == 0 || enter(dir))
}

// enter is Enter for a directory below the one with the sessions.
func enter(dir []byte) bool {
	_, rest, _ := bytes.Cut(dir, []byte{'/'})
	name, rest, deeper := bytes.Cut(rest, []byte{'/'})
	switch {
	case len(name) == 0: // a project
		return true
	case !isUUID(name):
		return false
	}
	first, _, _ := bytes.Cut(rest, []byte{'/'})
	return !deeper || string(first) == "subagents"
}

// File implements adapter.Layout.
func (l layout) File(path []byte) adapter.Sort {
	path, ok := l.below(path)
	if !ok || !bytes.HasSuffix(path, []byte(".jsonl")) {
		return adapter.Foreign
	}
	slash := bytes.LastIndexByte(path, '/')
	if slash < 0 || !enter(path[:slash]) {
		return adapter.Foreign
	}
	name := path[slash+1:]
	switch depth := bytes.Count(path, []byte{'/'}); {
	case depth == 1, depth > 2 && bytes.HasPrefix(name, []byte("agent-")):
		return adapter.Transcript
	}
	return adapter.Foreign
}

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) (list []adapter.Store) {
	dir := homes(env)[0].Path
	for _, s := range stores {
		path := filepath.Join(dir, filepath.FromSlash(s.path))
		if strings.HasPrefix(s.path, "~/") {
			path = filepath.Join(env.Home, filepath.FromSlash(s.path[2:]))
		}
		list = append(list, adapter.Store{Name: s.name, Role: s.role, Format: s.format, Path: path, Coverage: s.coverage})
	}
	return list
}

var stores = []struct {
	name, role, format string
	path               string // below the directory of Claude Code, or below ~/; with forward slashes
	coverage           adapter.Coverage
}{
	{"sessions", "conversations, one directory for each working directory, and those of subagents", Name, projects, adapter.Searched},
	{"settings", "settings; projects have theirs in .claude/settings.json", "JSON", "settings.json", adapter.Catalogued},
	{"credentials", "tokens of the account", "JSON", ".credentials.json", adapter.Private},
	{"state", "account, projects and MCP servers, with their keys", "JSON", "~/.claude.json", adapter.Private},
	{"history", "prompts as typed, of all sessions; they also stand in the sessions", "JSON lines", "history.jsonl", adapter.Catalogued},
	{"file history", "copies of files before their edits", "directory", "file-history", adapter.Catalogued},
	{"todos", "lists of tasks", "JSON files", "todos", adapter.Catalogued},
	{"tasks", "lists of tasks of later versions", "JSON files", "tasks", adapter.Catalogued},
	{"plans", "plans", "Markdown files", "plans", adapter.Catalogued},
	{"running sessions", "which sessions are open", "directory", "sessions", adapter.Catalogued},
	{"paste cache", "texts that were pasted", "directory", "paste-cache", adapter.Catalogued},
	{"image cache", "images that were pasted", "directory", "image-cache", adapter.Catalogued},
	{"shell snapshots", "the environment of the shell", "directory", "shell-snapshots", adapter.Private},
	{"session environment", "environment variables of sessions", "directory", "session-env", adapter.Private},
	{"telemetry", "events that were not sent", "directory", "telemetry", adapter.Private},
	{"statistics", "cached statistics", "directory", "statsig", adapter.Private},
	{"debug logs", "what the program did", "text", "debug", adapter.Catalogued},
	{"skills", "skills", "Markdown files", "skills", adapter.Catalogued},
	{"agents", "subagents of one's own", "Markdown files", "agents", adapter.Catalogued},
	{"commands", "commands of one's own", "Markdown files", "commands", adapter.Catalogued},
	{"plugins", "plugins", "directory", "plugins", adapter.Catalogued},
	{"memory", "instructions for every session", "Markdown", "CLAUDE.md", adapter.Catalogued},
}
