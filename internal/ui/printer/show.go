package printer

import (
	"bytes"
	"io"
	"iter"

	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
)

// Show is a conversation, or a piece of one. Its entries are read while they are
// printed, so that a session of any size can be shown.
type Show struct {
	Session  SessionFacts
	Entries  iter.Seq2[*entry.Entry, error]
	Focus    map[int]bool // entries that were asked for, by their number in the file
	Gaps     map[int]bool // entries before which others are left out
	Full     bool         // nothing is folded
	Unfold   bool         // nothing of the entries that were asked for is folded
	Whole    bool         // the conversation, not the neighbourhood of an entry
	Branches bool         // entries of several branches: say which are abandoned
}

// SessionFacts is what is above a conversation.
type SessionFacts struct {
	query.SessionHit
	ShortID   string     `json:"-"`
	Version   int        `json:"version,omitempty"`
	Entries   int        `json:"entries"`
	Abandoned int        `json:"abandoned,omitempty"` // entries that are not on the active branch
	Skipped   int        `json:"skippedLines,omitempty"`
	Parent    *Relative  `json:"parent,omitempty"`
	Children  []Relative `json:"forkedInto,omitempty"`
	Twins     []string   `json:"sameId,omitempty"` // other files with the same id

	// These mean nothing without a query; they hide those of the hit.
	Score   float64 `json:"score,omitempty"`
	Hits    int     `json:"hits,omitempty"`
	HitsAny int     `json:"hitsAny,omitempty"`
}

// Relative is a session that another was forked from, or the other way round.
type Relative struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	Title       string       `json:"title,omitempty"`
	Created     session.Time `json:"created,omitzero"`
	State       string       `json:"state,omitempty"` // of a parent: "moved" or "missing"
	Shared      int          `json:"shared"`          // entries that both have
	ShortID     string       `json:"-"`
}

func (s *Show) json(j *jsonWriter) error {
	return j.stream(&stream{
		command: "show", session: &s.Session, name: "entries",
		rows: rowsFrom(s.Entries, func(e *entry.Entry) any { return e.Row(s.Focus[e.Index]) }),
		tail: func(n int) any {
			if !j.lines {
				return nil
			}
			return struct {
				Entries int `json:"entries"`
			}{n}
		},
	})
}

// plain is the text without colours, widths and ages: whole lines, and times in
// UTC.
func (s *Show) plain(p plain) error { return s.text(&text{w: p.w}) }

// RawEntries writes entries as they stand in their files, one a line. What goes
// to a terminal is made harmless.
func RawEntries(w io.Writer, header []byte, entries iter.Seq2[*entry.Entry, error], terminal bool) error {
	write := func(raw []byte) error {
		if terminal {
			raw = escapeHidden(bytes.ToValidUTF8(raw, []byte("\ufffd")))
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		_, err := w.Write([]byte{'\n'})
		return err
	}
	if len(header) > 0 {
		if err := write(header); err != nil {
			return err
		}
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := write(e.Raw); err != nil {
			return err
		}
	}
	return nil
}
