// Package adapter says what a session file is to the rest of the program: an
// Adapter makes a Parser, which turns the lines of a session file into entries and
// searchable parts; an Agent has one such format, and knows where its files are;
// the Registry finds the agent of a file. Agents see bytes, never the file system,
// the environment or the clock. The package imports jsonl and the nouns, and knows
// no agent: each is a package below it.
package adapter

import (
	"fmt"

	"pigrep/adapter/jsonl"
	"pigrep/internal/session"
)

// Adapter reads session files: those of one agent, or those of all of them, as the
// Registry does.
type Adapter interface {
	// Parse returns a parser for one session file that reads on at the state.
	// A State with only a path starts at the beginning of the file.
	Parse(state State) Parser
}

// State is what a parser must know of the lines before, to read on mid-file.
type State struct {
	Path     string         // of the file, absolute
	Header   session.Header // Version 0: no header seen yet
	Lines    int            // physical lines before the next one
	LastTime int64          // Unix milliseconds of the entry before, 0 when none
	Facts    bool           // entries come with their facts
}

// Line is one physical line of a session file.
type Line = jsonl.Line

// Parser turns the lines of one file, in order, into entries.
type Parser interface {
	// Parse hands every entry on the line to emit, in order. Headers are
	// consumed into the state. Each piece of the line that is no entry is
	// returned as a problem; blank lines are none. The entries are valid only
	// during emit. An unterminated last line that is not complete JSON gives
	// one problem with Torn set and no entry.
	Parse(line Line, emit func(*session.Entry)) []ParseError
	// State returns the state after the lines parsed so far.
	State() State
	// Reset makes the parser read on at another state, maybe of another file,
	// as a new one would, with the memory that it has.
	Reset(state State)
}

// ParseError says which piece of a line was left out, and why.
type ParseError struct {
	Line   int
	Offset int64
	Reason string
	Torn   bool // the piece ends with the file: not broken, not yet written
}

func (e ParseError) Error() string {
	return fmt.Sprintf("line %d, offset %d: %s", e.Line, e.Offset, e.Reason)
}

// Viewer is an Adapter that can lay entries out for a person.
type Viewer interface {
	// View parses a line as the Parser of the state does, and hands each entry
	// over with its view; both are valid only during emit.
	View(state State, line Line, emit func(*session.Entry, *session.View)) []ParseError
}

// View lays out the entries of a line. Those of an adapter that is no Viewer are
// shown part by part.
func View(a Adapter, state State, line Line, emit func(*session.Entry, *session.View)) []ParseError {
	if v, ok := a.(Viewer); ok {
		return v.View(state, line, emit)
	}
	return a.Parse(state).Parse(line, func(e *session.Entry) {
		view := &session.View{}
		for i := range e.Parts {
			view.Blocks = append(view.Blocks, session.Block{Kind: e.Parts[i].Kind, Text: e.Parts[i].Text})
		}
		emit(e, view)
	})
}
