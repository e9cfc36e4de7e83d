package conversation

import (
	"context"

	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// Facts returns the header of a conversation: the session and its relatives.
func (t *Target) Facts(ctx context.Context, x *snapshot.Snapshot) (f printer.SessionFacts, err error) {
	rec := t.Record
	if t.Redact {
		defer redact.Strings(&f)
	}
	f = printer.SessionFacts{
		SessionHit: search.Describe(&rec.Summary, x.Agents.ResumeCommand),
		ShortID:    t.ShortID(session.Handle(rec.ID, rec.Path)), Version: rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
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
	if t.Index < 0 {
		if rec.ParentSession != "" {
			f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(location.IsFile(rec.ParentSession))}
		}
		return f, nil
	}
	relative := func(s *session.Summary) printer.Relative {
		r := printer.Relative{SessionPath: s.Path, SessionID: s.ID, Title: s.Title(), Created: session.Time{Time: s.Created()}, ShortID: t.ShortID(session.Handle(s.ID, s.Path))}
		if t.Redact {
			r.Title = redact.Beginning(r.Title) // it may have been cut
		}
		return r
	}
	shared := func(fork, parent *session.Summary) (int, error) {
		records := [2]*session.Record{}
		for i, s := range []*session.Summary{fork, parent} {
			var err error
			if records[i], err = x.Reader.Record(s.File); err != nil || records[i] == nil {
				return 0, err
			}
		}
		return sessions.Shared(records[0], records[1]), ctx.Err()
	}
	own := &x.Reader.Summaries()[t.Index]
	switch parent := t.Lineage.Parent(t.Index); {
	case parent != nil:
		r := relative(parent)
		var err error
		if r.Shared, err = shared(own, parent); err != nil {
			return f, err
		}
		if parent.Path != rec.ParentSession && !location.IsFile(rec.ParentSession) {
			r.State = "moved"
		}
		f.Parent = &r
	case rec.ParentSession != "":
		f.Parent = &printer.Relative{SessionPath: rec.ParentSession, State: missingUnless(location.IsFile(rec.ParentSession))}
	}
	forks := t.Lineage.Forks(t.Index)
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
	for _, s := range t.Lineage.Twins(t.Index) {
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
