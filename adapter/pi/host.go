package pi

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"pigrep/adapter"
)

// Environment variables of pi.
const (
	agentDirVariable   = "PI_CODING_AGENT_DIR"
	sessionDirVariable = "PI_CODING_AGENT_SESSION_DIR"

	// Pi sets these for the processes that it starts.
	currentIDVariable   = "PI_SESSION_ID"
	currentPathVariable = "PI_SESSION_FILE"
)

// Variables implements adapter.Host.
func (Agent) Variables() []adapter.Variable {
	const current = "the session of pi that mcp runs in, which it leaves out"
	return []adapter.Variable{
		{Name: agentDirVariable, Use: "pi's agent directory, in place of ~/.pi/agent; its sessions/ is searched", Path: true},
		{Name: sessionDirVariable, Use: "one more directory with sessions, as pi reads it", Path: true},
		{Name: currentIDVariable, Use: current},
		{Name: currentPathVariable, Use: current},
	}
}

// Current implements adapter.Host.
func (Agent) Current(env adapter.Environment) (id, path string) {
	if path = env.Getenv(currentPathVariable); path != "" {
		path = adapter.Absolute(path, env)
	}
	return env.Getenv(currentIDVariable), path
}

// ClientNames implements adapter.Host.
func (Agent) ClientNames() []string { return []string{"pi"} }

// SkillDir implements adapter.Host.
func (Agent) SkillDir(env adapter.Environment) string { return filepath.Join(agentDir(env), "skills") }

// HasPackage implements adapter.Host. Settings that cannot be read list none.
func (Agent) HasPackage(env adapter.Environment, name string) bool {
	return slices.ContainsFunc(settingsFiles(env), func(path string) bool {
		data, err := env.ReadFile(path)
		if err != nil {
			return false
		}
		var settings struct {
			Packages   []json.RawMessage `json:"packages"`
			Extensions []string          `json:"extensions"`
		}
		if json.Unmarshal(data, &settings) != nil {
			return false
		}
		return slices.ContainsFunc(settings.Packages, func(p json.RawMessage) bool {
			return isPackage(env, source(p), filepath.Dir(path), name)
		}) || slices.ContainsFunc(settings.Extensions, func(e string) bool {
			return isPackage(env, e, filepath.Dir(path), name)
		})
	})
}

// source returns the source of a package setting, which is a string or an object with a
// source. It returns "" if the package is installed without its extensions.
func source(p json.RawMessage) string {
	var s string
	if json.Unmarshal(p, &s) == nil {
		return s
	}
	var filtered struct {
		Source     string    `json:"source"`
		Extensions *[]string `json:"extensions"`
	}
	if json.Unmarshal(p, &filtered) != nil || filtered.Extensions != nil && len(*filtered.Extensions) == 0 {
		return ""
	}
	return filtered.Source
}

// isPackage reports whether a source is the package of this name: from npm, or a
// directory, relative to that of the settings.
func isPackage(env adapter.Environment, source, dir, name string) bool {
	if spec, ok := strings.CutPrefix(source, "npm:"); ok {
		return spec == name || strings.HasPrefix(spec, name+"@")
	}
	if source == "" || strings.HasPrefix(source, "git:") || strings.Contains(source, "://") {
		return false
	}
	env.WorkDir = dir
	data, err := env.ReadFile(filepath.Join(adapter.Absolute(source, env), "package.json"))
	if err != nil {
		return false
	}
	var manifest struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(data, &manifest) == nil && manifest.Name == name
}
