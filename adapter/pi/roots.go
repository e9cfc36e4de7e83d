package pi

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pigrep/adapter"
	"pigrep/adapter/jsonl"
)

// Environment variables of pi.
const (
	agentDirVariable   = "PI_CODING_AGENT_DIR"
	sessionDirVariable = "PI_CODING_AGENT_SESSION_DIR"
)

// AgentDir returns the directory in which pi keeps its files.
func AgentDir(env adapter.Environment) string {
	if dir := env.Getenv(agentDirVariable); dir != "" {
		return adapter.Absolute(dir, env)
	}
	return filepath.Join(env.Home, ".pi", "agent")
}

// Roots implements Adapter. Pi itself uses one of these places at a time; a
// person who changed the setting has sessions in several, so all count.
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
	agentDir := AgentDir(env)
	origin := "default"
	if env.Getenv(agentDirVariable) != "" {
		origin = "$" + agentDirVariable
	}
	add(filepath.Join(agentDir, "sessions"), origin)
	if dir := env.Getenv(sessionDirVariable); dir != "" {
		add(adapter.Absolute(dir, env), "$"+sessionDirVariable)
	}
	var problems []error
	for _, path := range []string{
		filepath.Join(agentDir, "settings.json"),
		filepath.Join(env.WorkDir, ".pi", "settings.json"),
	} {
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
	p := &parser{obj: jsonl.Object{Data: data}}
	end, err := p.obj.Check(&p.scan, 0)
	if err == nil && jsonl.SkipPadding(data, end) != len(data) {
		err = jsonl.ErrSyntax
	}
	if err != nil {
		return "", fmt.Errorf("read settings %s: %w", path, err)
	}
	start := jsonl.SkipPadding(data, 0)
	return p.string(find(p.collect(jsonl.At(start, end)), "sessionDir")), nil
}
