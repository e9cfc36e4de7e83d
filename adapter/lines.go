package adapter

import (
	"fmt"
	"io"

	"pigrep/internal/human"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// DefaultMaxLine is the length in bytes of the longest line that is read. The longest
// known lines of agents, which contain images, have a tenth of this length.
const DefaultMaxLine = 256e6

// MaxLine returns the length of the longest line that is read; 0 means no limit.
func MaxLine(a Adapter) int64 {
	if r, ok := a.(*Registry); ok {
		return r.maxLine
	}
	return DefaultMaxLine
}

// Lines returns a reader for the lines of a session file. r starts at the given offset of
// the file, after the given number of complete lines. Every reader of session files must
// skip the same lines as too long.
func Lines(a Adapter, r io.Reader, offset int64, lines int) *jsonl.Reader {
	reader := jsonl.NewReader(r, offset, lines)
	reader.Limit = MaxLine(a)
	return reader
}

// TooLong is the reason of a problem with a line that is too long.
const TooLong = "longer than max-line"

// Parse is Parser.Parse, but returns a problem for a line that is too long.
func Parse(p Parser, line Line, emit func(*session.Entry)) []ParseError {
	if line.TooLong {
		return []ParseError{{Line: line.Number, Offset: line.Offset, Reason: TooLong}}
	}
	return p.Parse(line, emit)
}

// A TooLongError reports that lines of a file were skipped because they are too long.
type TooLongError struct {
	Line   int   // the first of them, from 1
	Offset int64 // of that line
	Lines  int   // how many
	Limit  int64
}

func (e *TooLongError) Error() string {
	more := ""
	if e.Lines > 1 {
		more = fmt.Sprintf(" and %d more", e.Lines-1)
	}
	return fmt.Sprintf("line %d (offset %d)%s: longer than %s", e.Line, e.Offset, more, human.Bytes(e.Limit))
}

// Add counts a line that is too long. The error may be nil; the result is not.
func (e *TooLongError) Add(line int, offset, limit int64) *TooLongError {
	if e == nil {
		return &TooLongError{line, offset, 1, limit}
	}
	e.Lines++
	return e
}
