package entry

import (
	"errors"
	"io"

	"pigrep/adapter"
	"pigrep/internal/session"
)

// Problems reads a whole session file and calls emit for every piece that cannot be
// read. An incomplete last line without a newline is not a problem: it is still being
// written.
func Problems(a adapter.Adapter, path string, r io.Reader, emit func(session.Problem)) error {
	lines := adapter.Lines(a, r, 0, 0)
	parser := a.Parse(adapter.State{Path: path})
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range adapter.Parse(parser, line, func(*session.Entry) {}) {
			if !p.Torn {
				emit(session.Problem{Line: p.Line, Offset: p.Offset, Reason: p.Reason})
			}
		}
	}
}
