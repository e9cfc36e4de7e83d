// Package decode reads session files for the lab in the way that the program does.
package decode

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// File visits the entries of a session file of pi, with their facts if asked for, and returns its
// header. An entry is valid only during the visit.
func File(path string, facts bool, visit func(*session.Entry)) (session.Header, error) {
	return With(pi.New(), adapter.State{Path: path, Facts: facts, Header: session.Header{Agent: pi.Name}}, visit)
}

// With is File for a file of any agent.
func With(a adapter.Adapter, state adapter.State, visit func(*session.Entry)) (session.Header, error) {
	path := state.Path
	f, err := os.Open(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	parser := a.Parse(state)
	for lines := jsonl.NewReader(f, 0, 0); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			head := parser.State().Header
			head.Agent = state.Header.Agent
			return head, nil
		}
		if err != nil {
			return session.Header{}, fmt.Errorf("read %s: %w", path, err)
		}
		parser.Parse(line, visit)
	}
}

// Parts visits the parts of the entries of a session file, which are valid only during the visit.
func Parts(path string, visit func(*session.Part)) error {
	_, err := File(path, false, func(e *session.Entry) {
		for i := range e.Parts {
			visit(&e.Parts[i])
		}
	})
	return err
}
