package pi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/internal/jsonl"
)

// agentDir returns the directory in which pi keeps its files.
func agentDir(env adapter.Environment) string {
	if dir := env.Getenv(agentDirVariable); dir != "" {
		return adapter.Absolute(dir, env)
	}
	return filepath.Join(env.Home, ".pi", "agent")
}

// sessionDirs are the directories with session files in an agent directory. Pi writes to
// the first; some extensions keep the sessions of subagents in the second.
var sessionDirs = []string{"sessions", "subagent-sessions"}

// sessionsIn returns the directory where pi keeps sessions by default.
func sessionsIn(agentDir string) string { return filepath.Join(agentDir, sessionDirs[0]) }

// Home implements adapter.Homed. Loose sessions in the agent directory are those of old
// versions, which pi moves when it starts.
func (Agent) Home(has func(name string) bool) adapter.Layout {
	if has(sessionDirs[0] + "/") {
		return home{}
	}
	return nil
}

// home is the layout of the agent directory.
type home struct{}

func (home) Enter(dir []byte) bool {
	top, _, _ := bytes.Cut(dir, []byte("/"))
	return slices.Contains(sessionDirs, string(top))
}

func (home) File(path []byte) adapter.Sort {
	switch {
	case !bytes.HasSuffix(path, []byte(".jsonl")):
		return adapter.Foreign
	case bytes.IndexByte(path, '/') < 0:
		return adapter.Loose
	}
	return adapter.Transcript
}

// Roots implements adapter.Agent. Pi uses one of these directories at a time. All of
// them count, because sessions stay in the old one when the setting changes.
//
// A settings file that cannot be read or understood is an error; the roots
// returned with it are those that the other sources name.
func (Agent) Roots(env adapter.Environment) ([]adapter.Root, error) {
	var roots []adapter.Root
	add := func(dir, origin string) {
		for _, r := range roots {
			if r.Path == dir {
				return
			}
		}
		roots = append(roots, adapter.Root{Path: dir, Origin: origin})
	}
	dir := agentDir(env)
	origin := "default"
	if env.Getenv(agentDirVariable) != "" {
		origin = "$" + agentDirVariable
	}
	add(sessionsIn(dir), origin)
	roots[0].Usual = true
	if dir := env.Getenv(sessionDirVariable); dir != "" {
		add(adapter.Absolute(dir, env), "$"+sessionDirVariable)
	}
	var problems []error
	for _, path := range settingsFiles(env) {
		dir, err := sessionDir(path, env)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if dir != "" {
			add(adapter.Absolute(dir, env), "sessionDir in "+path)
		}
	}
	return roots, errors.Join(problems...)
}

// settingsFiles are the user's settings and those of the project.
func settingsFiles(env adapter.Environment) []string {
	return []string{filepath.Join(agentDir(env), "settings.json"), filepath.Join(env.WorkDir, ".pi", "settings.json")}
}

// sessionDir returns the setting of that name, "" when there is none.
func sessionDir(path string, env adapter.Environment) (string, error) {
	data, err := env.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	data = []byte(strings.TrimPrefix(string(data), string(jsonl.ByteOrderMark)))
	var json jsonl.Scanner
	json.Reset(data)
	v, err := json.Check(0)
	if err == nil && jsonl.SkipPadding(data, v.End) != len(data) {
		err = jsonl.ErrSyntax
	}
	if err != nil {
		return "", fmt.Errorf("read settings %s: %w", path, err)
	}
	return json.String(json.Fields(v).Find("sessionDir")), nil
}

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) []adapter.Store {
	return storesIn(agentDir(env), Name, stores)
}

// storesIn returns the stores in a directory. format is that of the sessions.
func storesIn(dir, format string, stores []store) []adapter.Store {
	list := make([]adapter.Store, 0, len(stores))
	for _, s := range stores {
		list = append(list, adapter.Store{
			Name: s.name, Role: s.role, Format: cmp.Or(s.format, format), Path: filepath.Join(dir, filepath.FromSlash(s.path)), Coverage: s.coverage,
		})
	}
	return list
}

type store struct {
	name, role string
	format     string // "" for sessions
	path       string // below the agent directory, with forward slashes
	coverage   adapter.Coverage
}

var stores = []store{
	{"sessions", "conversations, one directory for each working directory", "", "sessions", adapter.Searched},
	{"subagent sessions", "conversations of subagents, written by some extensions", "", "subagent-sessions", adapter.Searched},
	{"settings", "settings; projects have theirs in .pi/settings.json", "JSON", "settings.json", adapter.Catalogued},
	{"auth", "keys and tokens of model providers", "JSON", "auth.json", adapter.Private},
	{"mcp auth", "tokens of MCP servers", "JSON", "mcp-auth.json", adapter.Private},
	{"models", "models and providers of one's own", "JSON", "models.json", adapter.Catalogued},
	{"themes", "colour themes", "JSON files", "themes", adapter.Catalogued},
	{"tools", "tools of one's own, and the place of helper programs in old versions", "directory", "tools", adapter.Catalogued},
	{"bin", "helper programs that pi downloads: fd, rg", "programs", "bin", adapter.Catalogued},
	{"prompts", "prompt templates", "Markdown files", "prompts", adapter.Catalogued},
	{"skills", "skills", "Markdown files", "skills", adapter.Catalogued},
	{"extensions", "extensions of one's own", "TypeScript", "extensions", adapter.Catalogued},
	{"npm", "packages installed from npm", "node_modules", "npm", adapter.Catalogued},
	{"git", "packages installed from git", "working trees", "git", adapter.Catalogued},
	{"keybindings", "key bindings", "JSON", "keybindings.json", adapter.Catalogued},
	{"mcp", "MCP servers", "JSON", "mcp.json", adapter.Catalogued},
	{"crashes", "crashes of pi, with the session file of each", "JSON", "crashes.json", adapter.Catalogued},
	{"debug log", "what the model was last sent, written on request", "text", "pi-debug.log", adapter.Catalogued},
}
