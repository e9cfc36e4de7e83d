package adapter

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"pigrep/adapter/jsonl"
)

// Environment variables of pi.
const (
	agentDirVariable   = "PI_CODING_AGENT_DIR"
	sessionDirVariable = "PI_CODING_AGENT_SESSION_DIR"
)

// AgentDir returns the directory in which pi keeps its files.
func AgentDir(env Environment) string {
	if dir := env.Getenv(agentDirVariable); dir != "" {
		return Absolute(dir, env)
	}
	return filepath.Join(env.Home, ".pi", "agent")
}

// Roots implements Adapter. Pi itself uses one of these places at a time; a
// person who changed the setting has sessions in several, so all count.
//
// A settings file that cannot be read or understood is an error; the roots
// returned with it are those that the other sources name.
func (pi) Roots(env Environment) ([]Root, error) {
	var roots []Root
	add := func(dir, origin string) {
		for _, r := range roots {
			if r.Path == dir {
				return
			}
		}
		roots = append(roots, Root{Path: dir, Origin: origin})
	}
	agentDir := AgentDir(env)
	origin := "default"
	if env.Getenv(agentDirVariable) != "" {
		origin = "$" + agentDirVariable
	}
	add(filepath.Join(agentDir, "sessions"), origin)
	if dir := env.Getenv(sessionDirVariable); dir != "" {
		add(Absolute(dir, env), "$"+sessionDirVariable)
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
			add(Absolute(dir, env), "sessionDir in "+path)
		}
	}
	return roots, errors.Join(problems...)
}

// sessionDir returns the setting of that name, "" when there is none.
func sessionDir(path string, env Environment) (string, error) {
	data, err := env.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read settings: %w", err)
	}
	data = []byte(strings.TrimPrefix(string(data), string(jsonl.ByteOrderMark)))
	p := &piParser{obj: jsonl.Object{Data: data}}
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

// Absolute expands a path as pi does: a leading ~ is the home directory, file:
// URLs are paths, and what is relative is so to the working directory.
func Absolute(path string, env Environment) string {
	switch {
	case path == "~":
		path = env.Home
	case strings.HasPrefix(path, "~/"), runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`):
		path = filepath.Join(env.Home, path[2:])
	case strings.HasPrefix(path, "file://"):
		if u, err := url.Parse(path); err == nil && (u.Host == "" || u.Host == "localhost") {
			path = u.Path
			if runtime.GOOS == "windows" {
				path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
			}
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(env.WorkDir, path)
	}
	return filepath.Clean(path)
}
