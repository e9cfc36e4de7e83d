package cli

import (
	"context"
	"errors"
	"sync/atomic"

	"pigrep/index"
	"pigrep/query/facets"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
)

// backend answers the questions of clients that run for long: the TUI, pages and agents. Its
// errors are those of commands, which each client shows in its own way.
type backend struct {
	*location.Location // its App is quiet: a client shows warnings itself
	index              *snapshot.Live
	behind             atomic.Bool // this process does not follow the session files; see current
}

// newBackend returns the backend for an index. The caller closes the index.
func newBackend(ctx context.Context, p *location.Location) *backend {
	quiet := *p.App
	quiet.Quiet = true
	at := *p
	at.App = &quiet
	return &backend{Location: &at, index: snapshot.OpenLive(ctx, &at)}
}

// open returns the newest generation, which the caller closes.
func (b *backend) open() (*snapshot.Snapshot, error) {
	x, err := b.index.Newest()
	if err != nil {
		return nil, problem.OfIndex(err)
	}
	return x, nil
}

// current is open, for a search. If this process does not follow the session files, because
// another one does or is writing, it first compares them with the index.
func (b *backend) current(ctx context.Context) (*snapshot.Snapshot, error) {
	if b.behind.Load() {
		if x, err := b.index.Snapshot(ctx); err == nil {
			return x, nil
		}
	}
	return b.open()
}

// ask asks a question. If the index turns out to be damaged, it is rebuilt, and the question
// asked again.
func (b *backend) ask(ctx context.Context, question func(*index.Reader) error) error {
	for again := b.NoUpdate; ; again = true {
		x, err := b.current(ctx)
		if err == nil {
			if err = question(x.Reader); errors.Is(err, index.ErrDamaged) {
				x.Damaged()
			}
			x.Close()
		}
		if again || !errors.Is(err, index.ErrDamaged) {
			return err
		}
		rebuilt, err := b.index.Snapshot(ctx)
		if err != nil {
			return problem.OfIndex(err)
		}
		_ = rebuilt.Close()
	}
}

// search answers a request, with paths as the user writes them.
func (b *backend) search(ctx context.Context, req search.Request) (res *search.Response, err error) {
	req.Resume, req.Env.Expand = b.Agents.ResumeCommand, b.App.Absolute
	err = b.ask(ctx, func(r *index.Reader) (err error) {
		res, err = search.Run(ctx, r, b.Agents, location.Disk{}, req)
		return err
	})
	return res, err
}

// sessions lists sessions.
func (b *backend) sessions(ctx context.Context, req sessions.Request) (res *sessions.Response, err error) {
	req.Resume, req.Env.Expand = b.Agents.ResumeCommand, b.App.Absolute
	err = b.ask(ctx, func(r *index.Reader) (err error) {
		res, err = sessions.List(ctx, r, b.Agents, location.Disk{}, req)
		return err
	})
	return res, err
}

// facets counts the hits of a request by day and by the values of fields.
func (b *backend) facets(ctx context.Context, req search.Request) (res *facets.Response, err error) {
	req.Env.Expand = b.App.Absolute
	err = b.ask(ctx, func(r *index.Reader) (err error) {
		res, err = facets.Of(ctx, r, b.Agents, location.Disk{}, req)
		return err
	})
	return res, err
}

// values lists the values that filters can have.
func (b *backend) values(context.Context) ([]sessions.Facet, error) {
	x, err := b.open()
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return sessions.Facets(x.Reader)
}

// count counts the hits of a request.
func (b *backend) count(ctx context.Context, req search.Request) (n search.Counts, err error) {
	x, err := b.open()
	if err != nil {
		return n, err
	}
	defer x.Close()
	return search.Count(ctx, x.Reader, b.Agents, location.Disk{}, req)
}

// openSession is open with a session that choose finds in it. The caller calls done.
func (b *backend) openSession(choose func(*snapshot.Snapshot) (path string, err error)) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	if x, err = b.open(); err != nil {
		return nil, nil, nil, err
	}
	path, err := choose(x)
	if err == nil {
		t, err = conversation.Open(x, path, "")
	}
	if err != nil {
		x.Close()
		return nil, nil, nil, err
	}
	return x, t, func() { t.Close(); x.Close() }, nil
}
