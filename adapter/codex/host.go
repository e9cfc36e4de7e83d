package codex

import (
	"path/filepath"

	"pigrep/adapter"
)

// Variables implements adapter.Host.
func (Agent) Variables() []adapter.Variable {
	return []adapter.Variable{
		{Name: homeVariable, Use: "Codex's directory, in place of ~/.codex; its sessions/ and archived_sessions/ are searched", Path: true},
		{Name: currentVariable, Use: "the session of Codex that mcp runs in, which it leaves out"},
	}
}

// Current implements adapter.Host.
func (Agent) Current(env adapter.Environment) (id, path string) {
	return env.Getenv(currentVariable), ""
}

// ClientNames implements adapter.Host.
func (Agent) ClientNames() []string { return []string{"codex-mcp-client"} }

// SkillDir implements adapter.Host.
func (Agent) SkillDir(env adapter.Environment) string { return filepath.Join(home(env), "skills") }

// HasPackage implements adapter.Host. There are no packages of this program for Codex.
func (Agent) HasPackage(adapter.Environment, string) bool { return false }
