package snapshot

import (
	"context"
	"errors"
	"fmt"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/words"
	"pigrep/query/grep"
	"pigrep/query/search"
	"pigrep/remote"
	"pigrep/remote/ssh"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/remotes"
)

// OpenFor opens what archives have for a question, beside others that are asked at the same time.
func OpenFor(ctx context.Context, p *location.Location, of remote.Question) (*Snapshot, error) {
	at, asked := *p, *p.Elsewhere
	at.Elsewhere, asked.Question = &asked, of
	return openElsewhere(ctx, &at)
}

// openElsewhere opens an index in memory of what archives have for the question, with the
// sessions of this machine if they are asked for too.
func openElsewhere(ctx context.Context, p *location.Location) (*Snapshot, error) {
	base := &Snapshot{Location: p, Reader: index.Empty(), Found: &indexer.Found{}}
	base.State.Complete = true
	if p.Elsewhere.Here {
		here := *p
		here.Elsewhere = nil
		var err error
		if base, err = Open(ctx, &here); err != nil {
			return nil, err
		}
	}
	defer base.Close()
	start := p.App.Now()
	got, err := remote.Gather(ctx, p.Agents, base.Reader, p.Elsewhere.Host, p.Elsewhere.Sources, p.Elsewhere.Question)
	if err != nil {
		return nil, remotes.Problem(err)
	}
	p.App.Logger().Debug("asked archives", "took", p.App.Now().Sub(start).String(), "sessions", got.Known)
	x := *base
	x.Location, x.Reader, x.Asking = p, got.Reader, askHosts(p)
	x.State.Files = base.Reader.Table().Len() + got.Known
	whole, err := wholeOf(ctx, p, base.Reader, got)
	if err != nil {
		return nil, errors.Join(remotes.Problem(err), x.Close())
	}
	p.Elsewhere.Files = files{got, p.Disk(), whole}
	for _, m := range got.Missing {
		text, hint := lack(&m)
		x.State.Complete, x.Lacks = false, append(x.Lacks, text)
		p.App.Advise(hint, "%s", text)
	}
	return &x, nil
}

// lack says what an answer lacks, and what to do about it.
func lack(m *remote.Missing) (text, hint string) {
	some := human.Plural(m.Sessions, "session file of "+m.Source+" is", "session files of "+m.Source+" are")
	switch {
	case m.Err == nil:
		return some + " not in this answer: there is no room for more", "narrow it: --since, --project, --session, or more words"
	case errors.Is(m.Err, remote.ErrDamaged):
		return some + " not in this answer, or in part: something else than pigrep has written there", "`pigrep remote status " + m.Source + "` names what it can"
	}
	if h, ok := errors.AsType[*ssh.HostError](m.Err); ok {
		hint = h.Hint
	}
	return fmt.Sprintf("nothing from %s in this answer: %v", m.Source, m.Err), hint
}

// wholeOf returns the statistics of all that may be asked; nil for a question without words.
func wholeOf(ctx context.Context, p *location.Location, here *index.Reader, got *remote.Gathered) (*words.Statistics, error) {
	q := &p.Elsewhere.Question
	req := search.Request{Text: q.Text, Spec: q.Spec, Env: q.Env}
	sent, err := search.Statistics(ctx, got.Reader, req)
	if err != nil || q.Text == "" { // whoever asks is told what is wrong with the query
		return nil, nil
	}
	whole, err := got.Whole(ctx, sent)
	if err == nil && p.Elsewhere.Here {
		var own *words.Statistics
		if own, err = search.Statistics(ctx, here, req); err == nil {
			own.Compounds = nil // they are among those that were sent
			whole.Add(own)
		}
	}
	return whole, err
}

// everything is the files of an index that has all of each.
func (x *Snapshot) everything() []grep.File {
	list := x.Reader.Summaries()
	files := make([]grep.File, len(list))
	for i := range list {
		files[i] = grep.File{Path: list[i].Path, Time: list[i].Modified(), Known: &list[i], Indexed: grep.Whole}
	}
	return files
}

// files are session files of this machine and of others.
type files struct {
	elsewhere *remote.Gathered
	here      entry.Source
	whole     *words.Statistics
}

// Whole implements search.Excerpt.
func (f files) Whole() *words.Statistics { return f.whole }

// Open implements entry.Source.
func (f files) Open(path string) (entry.File, error) {
	if f.elsewhere.Has(path) {
		return f.elsewhere.Open(path)
	}
	return f.here.Open(path)
}
