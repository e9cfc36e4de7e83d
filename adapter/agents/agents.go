// Package agents lists the agents whose sessions pigrep finds. It is the only package
// that imports the packages of agents.
package agents

import (
	"pigrep/adapter"
	"pigrep/adapter/claude"
	"pigrep/adapter/codex"
	"pigrep/adapter/copilot"
	"pigrep/adapter/cursor"
	"pigrep/adapter/gemini"
	"pigrep/adapter/opencode"
	"pigrep/adapter/pi"
	"pigrep/adapter/qwen"
)

// All returns the agents in the order in which they are listed. The first gets the
// files that no root assigns to another.
func All() []adapter.Agent {
	return []adapter.Agent{pi.New(), claude.New(), codex.New(), copilot.New(), cursor.New(), gemini.New(), qwen.New(), pi.NewOhMyPi(), pi.NewPrime(), pi.NewOpenClaw(), opencode.New()}
}
