package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/remote"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/tui"
)

// backend answers the questions of clients that run for long: the TUI, pages and agents. Its errors
// are the errors of commands; each client shows them in its own way.
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
	b := &backend{Location: &at, index: snapshot.OpenLive(ctx, &at)}
	b.index.AnswerHere(&at)
	return b
}

// open returns the newest generation of the index. If other machines or archives are asked, it returns the
// way to ask them, or an index of the named sessions, made from what they send. The caller closes the result.
func (b *backend) open(ctx context.Context, named []string) (*snapshot.Snapshot, error) {
	switch {
	case b.Hosts == nil:
	case len(named) > 0:
		return snapshot.Open(ctx, b.Location, remote.Named{Names: named})
	default:
		x := snapshot.OfHosts(b.Location)
		x.Asking.Tell = true
		return x, nil
	}
	x, err := b.index.Newest()
	if err != nil {
		return nil, problem.OfIndex(err)
	}
	return x, nil
}

// current is open, for a search. If this process does not follow the session files, because
// another one does or is writing, it first compares them with the index.
func (b *backend) current(ctx context.Context, named []string) (*snapshot.Snapshot, error) {
	if b.behind.Load() {
		if x, err := b.index.Snapshot(ctx); err == nil {
			return x, nil
		}
	}
	return b.open(ctx, named)
}

// ask asks a question. If the index turns out to be damaged, it is rebuilt, and the question
// asked again.
func (b *backend) ask(ctx context.Context, named []string, question func(*snapshot.Snapshot) error) error {
	for again := b.NoUpdate || b.Elsewhere != nil; ; again = true {
		x, err := b.current(ctx, named)
		if err == nil {
			if err = question(x); errors.Is(err, index.ErrDamaged) {
				x.Damaged()
			}
			if b.Hosts != nil && len(named) == 0 {
				err = asking.Problem(ctx, err)
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

// asks returns what answers requests of a kind, with paths as the user writes them.
func asks[Req, Res any](b *backend, kind remote.Kind[Req, Res]) func(context.Context, Req) (*Res, error) {
	return func(ctx context.Context, req Req) (res *Res, err error) {
		switch req := any(&req).(type) {
		case *search.Request:
			req.Resume, req.Env.Expand = b.ResumeCommand, b.App.Absolute
		case *sessions.Request:
			req.Resume, req.Env.Expand = b.ResumeCommand, b.App.Absolute
		}
		err = b.ask(ctx, nil, func(x *snapshot.Snapshot) (err error) {
			res, err = kind.Ask(ctx, x.Answers(), req)
			return err
		})
		return res, err
	}
}

func (b *backend) values(ctx context.Context) ([]sessions.Facet, error) {
	list, err := asks(b, remote.Values)(ctx, struct{}{})
	if list == nil {
		return nil, err
	}
	return *list, err
}

// openSession is like open with the session at a path. The caller calls done.
func (b *backend) openSession(ctx context.Context, path string) (x *snapshot.Snapshot, t *conversation.Target, done func(), err error) {
	if x, err = b.open(ctx, []string{path}); err != nil {
		return nil, nil, nil, err
	}
	if t, err = conversation.Open(x, path, ""); err != nil {
		x.Close()
		return nil, nil, nil, err
	}
	return x, t, func() { t.Close(); x.Close() }, nil
}

const (
	pollEvery = time.Second            // between checks for generations of other processes
	tellEvery = 100 * time.Millisecond // between reports of progress
)

// follow keeps the index up to date, as `pigrep watch` does, and reports its state. With
// --no-update, or if there is a watcher, it only looks for generations of other
// processes.
func (b *backend) follow(ctx context.Context, report func(tui.State)) {
	if b.Elsewhere != nil {
		b.followArchives(ctx, report)
		return
	}
	var mu sync.Mutex
	var state tui.State
	change := func(with func(*tui.State)) {
		mu.Lock()
		defer mu.Unlock()
		before := state
		with(&state)
		if state != before {
			report(state)
		}
	}
	look := func() {
		n, lag, err := b.newest(ctx)
		if err != nil {
			return
		}
		change(func(s *tui.State) {
			s.Generation, s.Lag = n, lag
			if n == 0 { // the index was removed; the watcher rebuilds it
				s.Ready = false
			}
		})
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	look()
	if b.NoUpdate {
		change(func(s *tui.State) { s.Problem = "as it was indexed" })
	} else {
		watching.Go(func() { b.watch(ctx, change) })
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			look()
		}
	}
}

// lookAgain is how often an archive is asked when it was pushed to.
const lookAgain = time.Minute

// followArchives says which archives answer. They are asked anew with each question: what is pushed
// changes no answer that is shown.
func (b *backend) followArchives(ctx context.Context, report func(tui.State)) {
	state := tui.State{Generation: 1, Ready: true}
	if len(b.Hosts.Clients) == 0 {
		state.Archive = b.Elsewhere.Names()
	}
	report(state)
	if len(b.Elsewhere.Archives) != 1 {
		<-ctx.Done()
		return
	}
	for ctx.Err() == nil {
		if at, err := b.Elsewhere.Archives[0].LastPush(ctx); err == nil && !at.Equal(state.Pushed) {
			state.Pushed = at
			report(state)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
}

// newest identifies the generation or snapshot that a search would use, 0 for none, and says
// what it lacks as far as that is known.
func (b *backend) newest(ctx context.Context) (id uint64, lag string, err error) {
	if !b.behind.Load() {
		id, err := index.Newest(b.IndexDir)
		return id.Hash, "", err
	}
	x, err := b.index.Snapshot(ctx)
	if err != nil {
		return 0, "", err
	}
	defer x.Close()
	return x.Number, x.Lag(), nil
}

// watch keeps the index up to date until the context ends or an update fails.
func (b *backend) watch(ctx context.Context, change func(func(*tui.State))) {
	a := b.App
	opt := indexer.WatchOptions{Options: snapshot.Options(b.Location)}
	var told time.Time
	opt.Progress = func(at indexer.Progress) {
		now := a.Now()
		if now.Sub(told).Abs() < tellEvery {
			return
		}
		told = now
		change(func(s *tui.State) {
			if !s.Ready { // later updates are too short to show progress
				s.Indexing, s.First, s.Share, s.Left = true, at.First, at.Share(), at.Left.Round(time.Second)
			}
		})
	}
	opt.Tell = func(e indexer.WatchEvent) {
		change(func(s *tui.State) {
			switch e.Kind {
			case indexer.WatchReady, indexer.WatchUpdated:
				b.behind.Store(false)
				*s = tui.State{Generation: e.Generation.Hash, Ready: true}
				if !e.Complete {
					s.Problem, s.Hint = "not all files can be read", "pigrep status lists them"
				}
			case indexer.WatchWaiting:
				b.behind.Store(true)
				s.Indexing, s.Problem, s.Hint = false, "another process writes the index", ""
			case indexer.WatchFailed:
				b.behind.Store(true)
				s.Indexing = false
				s.Problem, s.Hint = b.updateProblem(e.Err)
			}
		})
	}
	err := func() (err error) {
		defer func() {
			if r := recover(); r != nil { // the TUI can still search
				err = fmt.Errorf("internal error: %v", r)
			}
		}()
		return indexer.Watch(ctx, opt)
	}()
	b.behind.Store(true)
	change(func(s *tui.State) {
		s.Indexing = false
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, indexer.ErrWatched):
			s.Ready, s.Problem, s.Hint = true, "", ""
		default:
			s.Problem, s.Hint = b.updateProblem(err)
		}
	})
}

func (b *backend) updateProblem(err error) (message, hint string) {
	where := human.Path(b.IndexDir, b.App.Home)
	return "cannot update the index in " + where + ": " + snapshot.Reason(err), problem.IndexHint(err)
}
