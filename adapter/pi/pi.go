// Package pi says what pi and its relatives write: session files of all versions and dialects,
// directories, settings and environment variables. It also knows how they resume a
// session. No other package knows anything about them. The central types are Agent, an
// adapter.Agent for pi, and Relative, one for oh-my-pi or Prime Agent. The package imports adapter, jsonl, scope and internal/session.
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
type Agent struct{ adapter.Identity }

// New returns the adapter for pi.
func New() Agent { return Agent{adapter.NewIdentity(Name, "pi", 0)} }

// Recognize implements adapter.Agent. A session has a header, and nothing before or in it that
// only oh-my-pi writes.
func (a Agent) Recognize(head []byte) adapter.Sort {
	if ok, omp := writerOf(head); ok && !omp {
		return adapter.Transcript
	}
	return adapter.Foreign
}

// writerOf reports whether a program of pi's family wrote a file, and whether that was oh-my-pi.
func writerOf(head []byte) (ok, omp bool) {
	parser := newParser(adapter.State{})
	for line := range jsonl.Lines(head) {
		parser.Parse(line, func(*session.Entry) {})
		if v, err := parser.JSON.Check(jsonl.SkipPadding(line.Data, 0)); err == nil {
			omp = omp || wroteByOhMyPi(&parser.JSON, parser.JSON.Fields(v))
		}
		if parser.state.Header.Version != 0 {
			return true, omp
		}
	}
	return omp, omp
}

// Parse implements adapter.Adapter.
func (Agent) Parse(state adapter.State) adapter.Parser {
	return newParser(state)
}
