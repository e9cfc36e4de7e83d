// Package pi says what pi writes: session files of all versions and dialects,
// directories, settings and environment variables. It also knows how pi resumes a
// session. No other package knows anything about pi. The central type is Agent, an
// adapter.Agent. The package imports adapter, jsonl, scope and internal/session.
package pi

import (
	"pigrep/adapter"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// Name identifies the session files of pi.
const Name = "pi.sessions_jsonl.v1"

// Agent is the pi coding agent, in every version since 0.7, and programs made with
// its agent library.
type Agent struct{}

// New returns the adapter for pi.
func New() Agent { return Agent{} }

// Name implements adapter.Agent.
func (Agent) Name() string { return Name }

// Label implements adapter.Agent.
func (Agent) Label() string { return "pi" }

// Revision implements adapter.Agent.
func (Agent) Revision() int { return 0 }

// Recognize implements adapter.Agent. A session has a header.
func (a Agent) Recognize(head []byte) adapter.Sort {
	parser := a.Parse(adapter.State{})
	for line := range jsonl.Lines(head) {
		if parser.Parse(line, func(*session.Entry) {}); parser.State().Header.Version != 0 {
			return adapter.Transcript
		}
	}
	return adapter.Foreign
}

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	return newParser(state)
}
