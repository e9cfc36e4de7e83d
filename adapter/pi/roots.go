package pi

import (
	"bytes"
	_ "embed"
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

//go:embed stores.txt
var storesText string

// Stores implements adapter.Keeper.
func (Agent) Stores(env adapter.Environment) []adapter.Store {
	return adapter.Stores(storesText, Name, agentDir(env), env)
}
