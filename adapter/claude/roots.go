package claude

import (
	"bytes"
	_ "embed"
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

//go:embed stores.txt
var storesText string

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) []adapter.Store {
	return adapter.Stores(storesText, Name, homes(env)[0].Path, env)
}
