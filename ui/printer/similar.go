package printer

import (
	"fmt"
	"io"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/query/similar"
)

// Similar is the answer of the similar command.
type Similar struct {
	SessionPath, SessionID, EntryID string // that others are compared with; no entry for the whole session
	Response                        *similar.Response
	ShortID                         func(id string) string
}

func (s *Similar) json(j *jsonWriter) error {
	r := s.Response
	return j.stream(&stream{
		command: "similar", name: "sessions",
		lead: struct {
			SessionPath string   `json:"sessionPath"`
			SessionID   string   `json:"sessionId,omitempty"`
			EntryID     string   `json:"entryId,omitempty"`
			Terms       []string `json:"terms"`
		}{s.SessionPath, s.SessionID, s.EntryID, list(r.Terms)},
		rows: func(visit func(any) error) error {
			for i := range r.Sessions {
				if err := visit(r.Sessions[i].Row()); err != nil {
					return err
				}
			}
			return nil
		},
		tail: func(int) any {
			return struct {
				Total        int               `json:"total"`
				TotalIsExact bool              `json:"totalIsExact"`
				Warnings     []string          `json:"warnings"`
				Index        search.IndexState `json:"index"`
			}{r.Total, r.TotalIsExact, list(r.Warnings), r.Index}
		},
	})
}

// sheet is that of a list of sessions, with what they share.
func (s *Similar) sheet(look Look) *sheet[sessions.Session] {
	type row = sessions.Session
	shares := make(map[string][]string, len(s.Response.Sessions))
	plain := &sessions.Response{}
	for i := range s.Response.Sessions {
		x := &s.Response.Sessions[i]
		shares[x.SessionPath] = x.Shares
		plain.Sessions = append(plain.Sessions, x.Session)
	}
	sheet := (&Sessions{List: plain, ShortID: s.ShortID}).sheet(look)
	sheet.columns = append(sheet.columns,
		sheetColumn[row]{column{Name: "similarity"}, func(x *row) cell { return textCell(fmt.Sprintf("%.3f", x.Score)) }},
		sheetColumn[row]{column{Name: "shares"}, func(x *row) cell { return textCell(strings.Join(shares[x.SessionPath], ", ")) }})
	sheet.finish = func(x *row, r *sheetRow) { r.below = []string{"shares: " + strings.Join(shares[x.SessionPath], ", ")} }
	return sheet
}

func (s *Similar) plain(p plain) error {
	_, err := p.table(s.sheet(Look{}))
	return err
}

func (s *Similar) text(t *text) error {
	n, err := t.table(s.sheet(t.Look))
	if err != nil || n == 0 {
		return err
	}
	line := human.Plural(s.Response.Total, "similar session", "similar sessions")
	if !s.Response.TotalIsExact {
		line = "at least " + line
	}
	if n < s.Response.Total {
		line += "; " + human.Number(n) + " shown (more: -n)"
	}
	_, err = io.WriteString(t.w, "\n"+t.dim(line)+"\n")
	return err
}
