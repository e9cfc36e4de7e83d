package pi

import (
	"path/filepath"

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

// SkillDir implements adapter.Host.
func (Agent) SkillDir(env adapter.Environment) string { return filepath.Join(agentDir(env), "skills") }
