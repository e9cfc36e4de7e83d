package claude

import (
	"path/filepath"

	"pigrep/adapter"
)

// Environment variables of Claude Code.
const (
	configDirVariable = "CLAUDE_CONFIG_DIR"
	currentVariable   = "CLAUDE_CODE_SESSION_ID" // set for the processes that it starts
)

// Variables implements adapter.Host.
func (Agent) Variables() []adapter.Variable {
	return []adapter.Variable{
		{Name: configDirVariable, Use: "Claude Code's directory, in place of ~/.claude; its projects/ is searched", Path: true},
		{Name: currentVariable, Use: "the session of Claude Code that mcp runs in, which it leaves out"},
	}
}

// Current implements adapter.Host.
func (Agent) Current(env adapter.Environment) (id, path string) {
	return env.Getenv(currentVariable), ""
}

// ClientNames implements adapter.Host.
func (Agent) ClientNames() []string { return []string{"claude-code"} }

// SkillDir implements adapter.Host.
func (Agent) SkillDir(env adapter.Environment) string {
	return filepath.Join(homes(env)[0].Path, "skills")
}

// HasPackage implements adapter.Host. There are no packages of this program for Claude Code.
func (Agent) HasPackage(adapter.Environment, string) bool { return false }
