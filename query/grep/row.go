package grep

import (
	"pigrep/internal/redact"
	"pigrep/internal/session"
)

// Location says in JSON where a match is, with the names that hits have.
type Location struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	Agent       string       `json:"agent,omitempty"` // as of session.ShortAgent
	Kept        bool         `json:"kept,omitempty"`  // its file is gone, and this is a copy
	Host        string       `json:"host,omitempty"`  // that has it, if not this one
	ShortID     string       `json:"-"`               // as of SessionFacts, if another machine has it
	CWD         string       `json:"cwd,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	Kind        session.Kind `json:"kind"`
	Role        string       `json:"role,omitempty"`
	Timestamp   session.Time `json:"timestamp,omitzero"`
	session.At
	session.Origin

	Title string `json:"-"` // of the session, if another machine has found it
}

// Row is a line of a match in JSON.
type Row struct {
	Type string `json:"type"` // "match" or "context"
	Location
	Number int      `json:"lineNumber"`
	At     int      `json:"lineOffset"`
	Text   string   `json:"text"`
	Spans  [][2]int `json:"spans,omitempty"`
	Cut
}

// Cut says in JSON which part of a line a text is, if it is not all of it.
type Cut struct {
	TextOffset int `json:"textOffset,omitempty"`
	TextLength int `json:"textLength,omitempty"` // of the whole line
}

// Cut returns which part of the line its text is.
func (l *Line) Cut() Cut { return Cut{l.From, l.Whole} }

func (m *Match) Rows() []Row {
	rows := make([]Row, len(m.Lines))
	for i, l := range m.Lines {
		rows[i] = Row{"context", m.Location, l.Number, l.Offset, l.Text, l.Spans, l.Cut()}
		if l.Match {
			rows[i].Type = "match"
		}
	}
	return rows
}

// A text is searched for secrets as a whole, once for all its lines that are shown, up to
// these bytes in all and for each line. In a longer text the neighbourhood of each line
// is searched.
const (
	wholeText    = 64 << 10
	wholeForLine = 8 << 10
)

// redactLines masks the secrets of a text in the lines that are shown of it.
func redactLines(text []byte, lines []Line) {
	var all []redact.Span
	whole := len(text) <= min(wholeText, wholeForLine*len(lines))
	if whole {
		all = redact.Find(string(text))
	}
	for i := range lines {
		l := &lines[i]
		start, end := l.Offset, l.Offset+len(l.Text)
		spans := all
		if !whole {
			spans = redact.Around(text, start, end)
		}
		var inside []redact.Span
		for _, s := range spans {
			if s.Start < end && s.End > start {
				inside = append(inside, redact.Span{Start: max(0, s.Start-start), End: min(len(l.Text), s.End-start), Rule: s.Rule})
			}
		}
		l.Text, l.Spans = redact.Moved(l.Text, inside, l.Spans)
	}
}
