package printer

import (
	"cmp"
	"strings"

	"pigrep/internal/session"
)

// Secrets are the secrets that stand in sessions, the newest first. Their values are masked.
type Secrets []Secret

// Secret is a secret in a session, where it stands last.
type Secret struct {
	Kind string       `json:"kind"` // the rule that found it
	Time session.Time `json:"timestamp"`
	session.EntryPlace
	Part  string   `json:"part"` // the kind of text
	Text  string   `json:"text"` // what stands around it, masked
	Times int      `json:"times"`
	Sent  []string `json:"sent"` // the archives that a push has sent the entry to
}

func (s Secrets) JSON(j *JSON) {
	j.Object("secrets", j.inObject("secrets", linesOf(j, "secret", s)), map[string]int{"total": len(s)})
}

func (s Secrets) Sheet(layout Layout) table {
	place := func(s *Secret) string {
		return layout.Name(s.SessionID, s.SessionPath) + ":" + cmp.Or(s.ShortEntryID, s.EntryID)
	}
	return &sheet[Secret]{
		columns: []sheetColumn[Secret]{
			{column{Name: "place", Title: "PLACE"}, func(s *Secret) cell { return textCell(place(s)) }},
			{column{Name: "kind", Title: "SECRET"}, func(s *Secret) cell { return textCell(s.Kind) }},
			{column{Name: "part", Title: "IN"}, func(s *Secret) cell { return textCell(s.Part) }},
			{column{Name: "time", Field: "timestamp", Title: "WHEN"}, func(s *Secret) cell { return layout.timeCell(s.Time.Time) }},
			{column{Name: "times", Title: "TIMES", Right: true}, func(s *Secret) cell { return countCell(s.Times) }},
			{column{Name: "sent", Title: "SENT TO"}, func(s *Secret) cell { return textCell(strings.Join(s.Sent, ",")) }},
			{column{Name: "text", Title: "AROUND IT", Flex: true, Left: true}, func(s *Secret) cell { return textCell(s.Text) }},
			recordColumn("path", func(s *Secret) string { return s.SessionPath }),
		},
		rows: listed(s),
	}
}

func (s Secrets) Text(t *Text) { t.table(s.Sheet(t.Layout)) }
