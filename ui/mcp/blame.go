package mcp

import (
	"context"
	"fmt"

	"pigrep/internal/human"
	"pigrep/query/blame"
	"pigrep/query/sessions"
)

// BlameInput are the arguments of blame.
type BlameInput struct {
	File string `json:"file" range:"1,4096" jsonschema:"FILE, FILE:LINE or FILE:LINE-LINE"`
	Where
	Limit int `json:"limit,omitempty" range:"1,1000" jsonschema:"blocks a page, default 20"`
	Paging
}

const blameBlocks = 20

type blameAnswer struct {
	Blocks  []blameRow `json:"blocks"`
	Lines   int        `json:"lines" jsonschema:"asked for"`
	Written int        `json:"written" jsonschema:"by sessions"`
	footer
}

// blameRow is adjacent lines of one call.
type blameRow struct {
	Lines string `json:"lines"`
	Match string `json:"match" jsonschema:"exact, space (but for white space), alike or none"`
	Why   string `json:"why,omitempty" jsonschema:"of none: other (sessions changed the file, none has this text), untouched (none changed it), before (it is older than all sessions), filtered or short"`
	place
	Agent  string `json:"agent,omitempty"`
	Time   string `json:"time,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Reply  string `json:"reply,omitempty"`
}

func (r *blameRow) text() string {
	return fmt.Sprintf("%s %s", r.Lines, joined(" · ", r.Match, r.Why, r.place.String(), r.Agent, r.Time, r.Prompt, r.Reply))
}

func (s *server) blame(ctx context.Context, q *question, in *BlameInput) (*rowPage[blameRow], error) {
	req, err := s.Lines(in.File)
	if err != nil {
		return nil, &Error{codeInput, err.Error(), "name a file as it is now, with lines or without: main.go:10-20"}
	}
	req.Spec, req.Env, req.Redact, req.Resume = q.request.Spec, q.request.Env, q.request.Redact, s.Resume
	res, err := blame.Run(ctx, q.Reader, s.Adapter, q.Source, *req)
	if err != nil {
		return nil, err
	}
	p := &rowPage[blameRow]{footer: q.footer(&res.Index, res.Warnings), line: (*blameRow).text}
	for i := range res.Blocks {
		b := &res.Blocks[i]
		if b.Blank() {
			continue
		}
		row := blameRow{Lines: fmt.Sprintf("%d-%d", b.From, b.To), Match: b.Match, Why: b.Why}
		if b.Origin != nil {
			row.place = place{q.ids.session(b.SessionID, b.SessionPath), sessions.EntryName(b.EntryID, b.Offset)}
			row.Agent, row.Time, row.Prompt, row.Reply = b.Agent, minute(b.Timestamp), beginning(b.Prompt.String(), 200), beginning(b.Reply.String(), 300)
		}
		p.rows = append(p.rows, row)
	}
	p.rows = p.rows[min(q.at.At, len(p.rows)):]
	p.render = func(rows []blameRow, f footer) (any, string) {
		head := fmt.Sprintf("%d of %s written by sessions.", res.Written, human.Plural(res.Total, "line", "lines"))
		return blameAnswer{rows, res.Total, res.Written, f}, p.text(head, rows, f)
	}
	return p, nil
}
