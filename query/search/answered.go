package search

import (
	"bytes"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query/engine/match"
	"pigrep/query/engine/rank"
)

// Answered is the last reply of the turn that a hit in a prompt begins.
type Answered struct {
	EntryID   string         `json:"entryId,omitempty"`
	Timestamp session.Time   `json:"timestamp,omitzero"`
	Line      int            `json:"line"`
	Offset    int64          `json:"offset"`
	Fragment  match.Fragment `json:"fragment"` // around the words of the query, else its beginning
}

// answered returns what answered a hit in a prompt; nil if nothing did.
func (s *responder) answered(w *rank.Worker, h *rank.Hit) (a *Answered) {
	s.found.Answer(w, h, func(e *record.Entry, p *session.Part, spans []match.Span) {
		text, spans := s.req.shown(p.Text, spans)
		if len(spans) == 0 {
			text = beginning(text)
		}
		a = &Answered{EntryID: e.ID, Timestamp: session.Time{Time: h.Outline.Record.TimeOf(&e.Node)}, Line: e.Line, Offset: e.Offset, Fragment: match.NewFragment(text, spans)}
	})
	return a
}

// leastWords is from how many words on a sentence is taken to say something: "Perfect!" and "You're
// right." do not.
const leastWords = 4

// beginning returns a reply from the first sentence on that says something.
func beginning(text []byte) []byte {
	for rest := text; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n#*_")
		end := bytes.IndexAny(rest, ".!?\n")
		switch {
		case len(rest) == 0:
			return text
		case end < 0 || end+1 == len(rest):
			return rest
		}
		if rest[end] == '\n' || rest[end+1] == ' ' || rest[end+1] == '\n' {
			if len(bytes.Fields(rest[:end])) >= leastWords {
				return rest
			}
		} else {
			return rest // 1.5 or a.go: no end of a sentence
		}
		rest = rest[end+1:]
	}
}
