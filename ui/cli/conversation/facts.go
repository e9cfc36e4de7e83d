package conversation

import (
	"context"

	"pigrep/index"
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
		Version:    rec.Version, Entries: len(rec.Nodes), Skipped: rec.Skipped,
	}
	f.ShortID = sessions.Names(x.Reader.Summaries())(rec.ID, rec.Path)
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
	err = t.addRelatives(ctx, x.Reader, &f)
	return f, err
}

// addRelatives adds the parent of the session, its forks and its twins.
func (t *Target) addRelatives(ctx context.Context, r *index.Reader, f *printer.SessionFacts) error {
	var own, parent *session.Summary
	if t.Index >= 0 {
		own, parent = &r.Summaries()[t.Index], t.Lineage.Parent(t.Index)
	}
	named := t.Record.ParentSession
	switch {
	case parent != nil:
		p := t.relative(parent)
		var err error
		if p.Shared, err = shared(ctx, r, own, parent); err != nil {
			return err
		}
		if parent.Path != named && !location.IsFile(named) {
			p.State = "moved"
		}
		f.Parent = &p
	case named != "":
		f.Parent = &printer.Relative{SessionPath: named}
		if !location.IsFile(named) {
			f.Parent.State = "missing"
		}
	}
	if own == nil {
		return nil
	}
	forks := t.Lineage.Forks(t.Index)
	f.Forks = len(forks)
	for _, s := range forks[:min(len(forks), maxForks)] {
		fork := t.relative(s)
		var err error
		if fork.Shared, err = shared(ctx, r, s, own); err != nil {
			return err
		}
		f.Children = append(f.Children, fork)
	}
	for _, s := range t.Lineage.Twins(t.Index) {
		f.Twins = append(f.Twins, s.Path)
	}
	return nil
}

// relative describes a session that is related to this one.
func (t *Target) relative(s *session.Summary) printer.Relative {
	r := printer.Relative{
		SessionPath: s.Path, SessionID: s.ID, ShortID: t.ShortID(session.Handle(s.ID, s.Path)),
		Title: s.Title(), Created: session.Time{Time: s.Created()},
	}
	if t.Redact {
		r.Title = redact.Beginning(r.Title) // it may have been cut
	}
	return r
}

// shared counts the entries that a fork shares with its parent.
func shared(ctx context.Context, r *index.Reader, fork, parent *session.Summary) (int, error) {
	records := [2]*session.Record{}
	for i, s := range []*session.Summary{fork, parent} {
		var err error
		if records[i], err = r.Record(s.File); err != nil || records[i] == nil {
			return 0, err
		}
	}
	return sessions.Shared(records[0], records[1]), ctx.Err()
}

// maxForks is how many forks of a session are listed.
const maxForks = 20
