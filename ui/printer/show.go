package printer

import (
	"bytes"
	"io"
	"iter"
	"time"

	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
)

// Show is a conversation or a part of one. Entries are read as they are printed, so a
// session can be of any size.
type Show struct {
	Session  SessionFacts
	Entries  iter.Seq2[*entry.Entry, error]
	Focus    map[int]bool     // the entries that were named, by their index in the file
	Marks    map[int][]string // texts to mark in entries, by their index in the file
	Gaps     map[int]bool     // entries that follow a gap
	Full     bool             // fold nothing
	Unfold   bool             // fold no text of the entries in Focus
	Open     map[int]bool     // true unfolds the whole entry; false folds it, even if it is in Focus
	FoldHint string           // how to unfold an entry; "" for --full
	Whole    bool             // the conversation, not the neighbourhood of an entry
	Branches bool             // mark abandoned entries, since several branches are shown
	Zone     *time.Location   // of an export; nil prints UTC as in pipes
}

// SessionFacts is what is printed above a conversation.
type SessionFacts struct {
	search.SessionHit
	Version   int        `json:"version,omitempty"`
	Entries   int        `json:"entries"`
	Abandoned int        `json:"abandoned,omitempty"` // entries that are not on the active branch
	Skipped   int        `json:"skippedLines,omitempty"`
	Parent    *Relative  `json:"parent,omitempty"`
	Children  []Relative `json:"forkedInto,omitempty"`
	Twins     []string   `json:"sameId,omitempty"` // other files with the same id
	Begun     time.Time  `json:"-"`                // the earlier of the header and the first entry, which a fork may have copied

	// These hide the fields of SessionHit, which have no meaning without a query.
	Score   float64 `json:"score,omitempty"`
	Hits    int     `json:"hits,omitempty"`
	HitsAny int     `json:"hitsAny,omitempty"`
}

// Relative is the parent or a fork of a session.
type Relative struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	Title       string       `json:"title,omitempty"`
	Created     session.Time `json:"created,omitzero"`
	State       string       `json:"state,omitempty"` // of a parent: "moved" or "missing"
	Shared      int          `json:"shared"`          // entries in both
	ShortID     string       `json:"-"`
}

func (s *Show) json(j *jsonWriter) {
	j.stream(&stream{
		command: "show", session: &s.Session, name: "entries",
		rows: rowsFrom(s.Entries, func(e *entry.Entry) any { return entryRow{e.Row(s.Focus[e.Index])} }),
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

// entryRow is the row of an entry of any length.
type entryRow struct{ entry.Row }

func (r entryRow) size() int { return r.Length }

func (r entryRow) write(j *jsonWriter) {
	parts := r.Parts
	r.Parts = []entry.PartRow{}
	j.filled(r, `"parts":[]`, func() {
		for i, p := range parts {
			if i > 0 {
				j.pass([]byte{','})
			}
			text := p.Text
			p.Text = ""
			j.filled(p, `"text":""`, func() { j.inside(text) })
		}
	})
}

// RawEntries writes entries as they are in the session file, one a line; escaped if
// they go to a terminal.
func RawEntries(w io.Writer, header []byte, entries iter.Seq2[*entry.Entry, error], terminal bool) error {
	out := newSink(w)
	write := func(raw []byte) {
		if terminal {
			raw = escapeHidden(bytes.ToValidUTF8(raw, []byte("\ufffd")))
		}
		_, _ = out.Write(raw) // end has the error
		out.print("\n")
	}
	if len(header) > 0 {
		write(header)
	}
	for e, err := range entries {
		if out.fail(err); out.err != nil {
			break
		}
		write(e.Raw)
	}
	return out.end()
}
