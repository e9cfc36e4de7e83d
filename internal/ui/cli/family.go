package cli

import (
	"context"

	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/sessions"
)

// facts returns the header of a conversation: the session and its relatives.
func (t *target) facts(ctx context.Context, a *App, x *snapshot) (f printer.SessionFacts, err error) {
	rec := t.Record
	if t.Redact {
		defer redact.Strings(&f)
	}
	f = printer.SessionFacts{
		SessionHit: query.Describe(&rec.Summary, x.agents.ResumeCommand),
		ShortID:    t.shortID(session.Handle(rec.ID, rec.Path)), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}
	if f.Begun = f.Created.Time; !rec.Oldest.IsZero() && rec.Oldest.Before(f.Begun) {
		f.Begun = rec.Oldest
	}
	for i := range rec.Nodes {
		if !t.Tree.Active(i) {
			f.Abandoned++
		}
	}
	if t.Redact {
		f.Redact()
	}
	if t.index < 0 {
		if rec.ParentSession != "" {
			f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(isFile(rec.ParentSession))}
		}
		return f, nil
	}
	relative := func(s *session.Summary) printer.Relative {
		r := printer.Relative{SessionPath: s.Path, SessionID: s.ID, Title: s.Title(), Created: session.Time{Time: s.Created()}, ShortID: t.shortID(session.Handle(s.ID, s.Path))}
		if t.Redact {
			r.Title = redact.Beginning(r.Title) // it may have been cut
		}
		return r
	}
	shared := func(fork, parent *session.Summary) (int, error) {
		records := [2]*session.Record{}
		for i, s := range []*session.Summary{fork, parent} {
			var err error
			if records[i], err = x.reader.Record(s.File); err != nil || records[i] == nil {
				return 0, err
			}
		}
		return sessions.Shared(records[0], records[1]), ctx.Err()
	}
	own := &x.reader.Summaries()[t.index]
	switch parent := t.lineage.Parent(t.index); {
	case parent != nil:
		r := relative(parent)
		var err error
		if r.Shared, err = shared(own, parent); err != nil {
			return f, err
		}
		if parent.Path != rec.ParentSession && !isFile(rec.ParentSession) {
			r.State = "moved"
		}
		f.Parent = &r
	case rec.ParentSession != "":
		f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(isFile(rec.ParentSession))}
	}
	forks := t.lineage.Forks(t.index)
	f.Forks = len(forks)
	for i, s := range forks {
		if i == maxForks {
			break
		}
		r := relative(s)
		var err error
		if r.Shared, err = shared(s, own); err != nil {
			return f, err
		}
		f.Children = append(f.Children, r)
	}
	for _, s := range t.lineage.Twins(t.index) {
		f.Twins = append(f.Twins, s.Path)
	}
	return f, nil
}

// maxForks is how many forks of a session are listed.
const maxForks = 20

func missingUnless(there bool) string {
	if there {
		return ""
	}
	return "missing"
}
