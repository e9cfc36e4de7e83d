package mcp

import (
	"context"
	"fmt"
	"strings"

	"pigrep/internal/human"
	"pigrep/query/recap"
	"pigrep/query/sessions"
	"pigrep/ui/printer"
)

// RecapInput are the arguments of recap.
type RecapInput struct {
	Where `reach:"calls"`
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"lines a page, default 40"`
	Paging
}

const (
	recapLines    = 40 // of at most longestRecap bytes: 2,000 tokens
	longestRecap  = 150
	recapSessions = 8
)

type recapAnswer struct {
	Lines []recapLine `json:"lines"`
	Total int         `json:"total" jsonschema:"sessions"`
	footer
}

// recapLine is a session or a fact of it.
type recapLine struct {
	place
	What string `json:"what" jsonschema:"session, or a fact of the one before"`
	Text string `json:"text"`
}

func (l *recapLine) text() string { return fmt.Sprintf("%s %s: %s", l.place, l.What, l.Text) }

// recap tells of the latest sessions, the latest first, so that a page that ends early has these.
func (s *server) recap(ctx context.Context, q *question, _ *RecapInput) (*rowPage[recapLine], error) {
	res, err := recap.Run(ctx, q.Reader, s.Adapter, q.Source, recap.Request{Spec: q.request.Spec, Limit: recapSessions, Redact: q.request.Redact})
	if err != nil {
		return nil, err
	}
	p := &rowPage[recapLine]{footer: q.footer(&res.Index, res.Warnings), line: (*recapLine).text}
	for i := len(res.Sessions) - 1; i >= 0; i-- {
		x := &res.Sessions[i]
		facts := []string{minute(x.Modified), human.Plural(x.Prompts, "turn", "turns"), x.CWD}
		if x.Cost > 0 {
			facts = append(facts, fmt.Sprintf("$%.2f", x.Cost))
		}
		p.rows = append(p.rows, recapLine{place{Session: q.ids.session(x.SessionID, x.SessionPath)}, "session", beginning(x.Title, longestRecap/2) + " · " + strings.Join(facts, " · ")})
		for k := range x.Facts {
			f := &x.Facts[k]
			id, path := x.SessionID, x.SessionPath
			if f.SessionPath != "" {
				id, path = f.SessionID, f.SessionPath
			}
			text := printer.FactText(f, x.CWD, func(p *recap.Pass) string { return sessions.EntryName(p.EntryID, p.Offset) })
			p.rows = append(p.rows, recapLine{place{q.ids.session(id, path), sessions.EntryName(f.EntryID, f.Offset)}, string(f.What), beginning(text, longestRecap)})
		}
	}
	p.rows = p.rows[min(q.at.At, len(p.rows)):]
	p.render = func(rows []recapLine, f footer) (any, string) {
		head := human.Plural(res.Total, "session", "sessions")
		if len(res.Sessions) < res.Total {
			head += fmt.Sprintf("; the latest %d", len(res.Sessions))
		}
		return recapAnswer{rows, res.Total, f}, p.text(head+".", rows, f)
	}
	return p, nil
}
