package printer

import (
	"fmt"

	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/blame"
	"pigrep/query/search"
)

// Commits is commits with the sessions that made them.
type Commits struct {
	Response *blame.CommitResponse
	Command  string // commit or log
}

func (c *Commits) JSON(j *JSON) {
	r := c.Response
	j.Stream(&Stream{
		Command: c.Command, Name: "commits", Rows: rowsIn(r.Rows, nil),
		Tail: func(int) any {
			return struct {
				Total int `json:"total"`
				Found int `json:"found"`
				search.About
			}{len(r.Rows), r.Found, about(r.About)}
		},
	})
}

// commitName is the short hash, or the pull request.
func commitName(r *blame.CommitRow) string {
	if r.Pull != "" {
		return "#" + r.Pull
	}
	return r.Hash[:min(len(r.Hash), 8)]
}

func (c *Commits) Sheet(layout Layout) table {
	type row = blame.CommitRow
	of := func(value func(*row) string) func(*row) string {
		return ofOrigin(func(r *row) *blame.Origin { return r.Origin }, value)
	}
	return &sheet[row]{rows: listed(c.Response.Rows), columns: []sheetColumn[row]{
		recordColumn("commit", commitName),
		recordColumn("match", func(r *row) string { return r.Match }),
		recordColumn("place", of(func(r *row) string { return layout.place(r.SessionID, r.SessionPath, r.EntryID, r.Offset) })),
		recordColumn("subject", func(r *row) string { return r.Subject }),
		recordColumn("committed (UTC)", func(r *row) string { return stampUTC(r.Committed.Time) }),
		recordColumn("agent", of(func(r *row) string { return r.Agent })),
		recordColumn("prompt", of(func(r *row) string { return r.Prompt.String() })),
		recordColumn("cost", of(func(r *row) string { return fmt.Sprintf("%.4f", r.Cost) })),
		recordColumn("session path", of(func(r *row) string { return r.SessionPath })),
		fieldColumn("hash", func(r *row) string { return r.Hash }),
		fieldColumn("id", of(func(r *row) string { return layout.name(r.SessionID, r.SessionPath) })),
		fieldColumn("sessionId", of(func(r *row) string { return r.SessionID })),
		fieldColumn("entryId", of(func(r *row) string { return r.EntryID })),
		fieldColumn("title", of(func(r *row) string { return r.Title })),
		fieldColumn("reply", of(func(r *row) string { return r.Reply.String() })),
		fieldColumn("cwd", of(func(r *row) string { return r.CWD })),
	}}
}

// Text writes a commit with its session below it.
func (c *Commits) Text(t *Text) {
	r := c.Response
	for i := range r.Rows {
		x := &r.Rows[i]
		if i > 0 && (x.Origin != nil || r.Rows[i-1].Origin != nil) {
			t.Print("\n")
		}
		name := commitName(x)
		rest := joinedBy(" · ", terminal.Clean(x.Subject), t.Ago(x.Committed.Time))
		if x.Pull != "" {
			rest = "pull request"
		}
		if x.Origin == nil {
			rest = t.Dim(terminal.Clip(joinedBy(" · ", rest, "no session"), max(t.Width-len(name)-2, 1)))
			t.Print(t.Style(TitleStyle, name), "  ", rest, "\n")
			continue
		}
		t.fit(name, rest)
		how := ""
		if x.Match == blame.ByText {
			how = fmt.Sprintf("wrote %.0f %% of its lines", 100*x.Share)
		}
		cost := ""
		if x.Cost > 0 {
			cost = human.DollarsUpTo(x.Cost).Text(x.Cost)
		}
		facts := joinedBy(" · ", terminal.Clean(t.place(x.SessionID, x.SessionPath, x.EntryID, x.Offset)), t.Badge("", x.Agent, x.Kept), cost, how, terminal.Clean(titleBeside(x.Origin)))
		t.Print(t.Dim("  "+terminal.Clip(facts, max(t.Width-2, 1))), "\n")
		t.said(session.KindPrompt, x.Prompt)
		if c.Command == "commit" {
			t.said(session.KindReply, x.Reply)
		}
	}
}
