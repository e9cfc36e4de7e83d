package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/query"
)

// follower keeps an index open for a command that runs on. A question gets the
// newest generation: the session files are compared with it first, as every
// reading command does, and what is new is indexed by one goroutine for all
// questions that wait. No question waits for an update that takes longer than
// patience: it is answered from the last generation, and says what is not in it.
//
// What stays open is a generation, which blocks no writer. A follower is safe
// for concurrent use.
type follower struct {
	options  indexer.Options
	noUpdate bool
	patience time.Duration
	context  context.Context // ends the update that runs, with the follower
	stop     context.CancelFunc

	mu      sync.Mutex
	newest  *heldReader // nil also when nobody has asked for a while
	idle    *time.Timer
	pinned  []*heldReader // older ones, the oldest first
	running *updating     // nil when none runs
	failed  error         // of the last update; nil when it did all there was to do
	rebuilt string        // why the last update built the index anew; ""
	watcher *indexer.Watcher
}

// updating is an update that runs.
type updating struct {
	done chan struct{} // closed when it has ended
	late chan struct{} // closed when it takes longer than questions wait
}

// heldReader is a reader that several questions may use at the same time.
type heldReader struct {
	*index.Reader
	uses   int // questions, and one for being the newest or pinned
	expiry *time.Timer
}

// How long a question waits for the index, how long and how many older
// generations stay open for those who want to read on in their answers, and for
// how long the newest one stays open when nobody asks: files that are open take
// room on the disk after another process has replaced and deleted them.
const (
	followPatience = 5 * time.Second
	pinFor         = 10 * time.Minute
	maxPinned      = 4
	idleFor        = 15 * time.Minute
)

// follow returns a follower of the index of the place. The caller closes it.
func (o *sharedOptions) follow(ctx context.Context, a *App, p *place) *follower {
	opt := a.indexing(p)
	opt.Yield = true
	f := &follower{options: opt, noUpdate: o.noUpdate, patience: followPatience}
	f.context, f.stop = context.WithCancel(ctx)
	f.idle = time.AfterFunc(idleFor, f.rest)
	return f
}

// rest closes the newest generation, if no question has it; the next one opens it
// again.
func (f *follower) rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.newest == nil:
	case f.newest.uses > 1 || f.running != nil:
		f.idle.Reset(idleFor)
	default:
		f.release(f.newest)
		f.newest = nil
	}
}

// Close ends the update that runs and closes what is open; the questions have
// been answered by then.
func (f *follower) Close() error {
	f.stop()
	f.idle.Stop()
	f.mu.Lock()
	running := f.running
	f.mu.Unlock()
	if running != nil {
		<-running.done
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.pinned {
		h.expiry.Stop()
		f.release(h)
	}
	f.pinned = nil
	if f.newest != nil {
		f.release(f.newest)
		f.newest = nil
	}
	return nil
}

// lease is an index that is open for one question.
type lease struct {
	answerer
	found *indexer.Found // the session files as they were when it was asked
	// updating says that what the answer lacks is being indexed.
	updating bool
	// failed is why the index could not be brought up to date; nil when it could.
	failed  error
	watcher *indexer.Watcher // that the update is left to; nil: none

	follower *follower
	held     *heldReader
}

// Close gives the reader back.
func (l *lease) Close() error {
	l.follower.mu.Lock()
	defer l.follower.mu.Unlock()
	l.follower.release(l.held)
	return nil
}

// open returns the index, as far up to date as it can be without waiting long.
// The caller closes the lease. Without any generation the error is that of
// opening or of building the index.
func (f *follower) open(ctx context.Context) (*lease, error) {
	found := indexer.Discover(f.options.Adapter, f.options.Roots)
	late := false
	// Of an update that ran already, what it found may be older than the
	// question; the one after it has all.
	for round := 0; ; round++ {
		held, openErr := f.take()
		if held != nil {
			lag := indexer.Behind(found, held.Summaries())
			if lag == (indexer.Lag{}) || f.noUpdate || late || round == 2 {
				return f.lease(held, found, lag), nil
			}
			f.give(held)
		} else if f.noUpdate || late || round == 2 || f.context.Err() != nil {
			return nil, f.why(openErr)
		}
		u := f.update()
		select {
		case <-u.done:
		case <-u.late:
			late = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// why says why there is no index to answer from.
func (f *follower) why(openErr error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.running != nil:
		return index.ErrLocked // by this process: the first index is being built
	case f.failed != nil:
		return f.failed
	}
	return openErr
}

// at returns the generation of this number if it is still open; nil if not.
func (f *follower) at(generation uint64) *lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range append(f.pinned[:len(f.pinned):len(f.pinned)], f.newest) {
		if h == nil || h.Generation() != generation {
			continue
		}
		h.uses++
		if h.expiry != nil {
			h.expiry.Reset(pinFor)
		}
		found := indexer.Discover(f.options.Adapter, f.options.Roots)
		l := f.leaseOf(h, found, indexer.Behind(found, h.Summaries()))
		return l
	}
	return nil
}

// take returns the newest reader, opened when there is a newer generation than
// the one that is open; nil and why when there is none.
func (f *follower) take() (*heldReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	number, err := index.Newest(f.options.Dir)
	if f.newest == nil || err == nil && number != f.newest.Generation() {
		var reader *index.Reader
		if reader, err = index.Open(f.options.Dir); err == nil {
			f.replace(reader)
		}
	}
	if f.newest == nil {
		return nil, err
	}
	f.newest.uses++
	f.idle.Reset(idleFor)
	return f.newest, nil
}

func (f *follower) give(h *heldReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release(h)
}

// release ends one use of a reader; f.mu is held.
func (f *follower) release(h *heldReader) {
	if h.uses--; h.uses == 0 {
		h.Close()
	}
}

// replace makes a reader the newest one; f.mu is held.
func (f *follower) replace(reader *index.Reader) {
	old := f.newest
	if old != nil && old.Generation() == reader.Generation() {
		reader.Close()
		return
	}
	f.newest = &heldReader{Reader: reader, uses: 1}
	if old == nil {
		return
	}
	if old.expiry == nil {
		f.release(old)
		return
	}
	f.pinned = append(f.pinned, old)
	if len(f.pinned) > maxPinned {
		f.unpin(f.pinned[0])
	}
}

// pin keeps the generation of a lease open for a while, for those who come back
// to it.
func (l *lease) pin() {
	f, h := l.follower, l.held
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.expiry != nil {
		h.expiry.Reset(pinFor)
		return
	}
	h.expiry = time.AfterFunc(pinFor, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.unpin(h)
	})
}

// unpin gives a pinned reader up; f.mu is held.
func (f *follower) unpin(h *heldReader) {
	h.expiry.Stop()
	h.expiry = nil
	for i, p := range f.pinned {
		if p == h {
			f.pinned = append(f.pinned[:i:i], f.pinned[i+1:]...)
			f.release(h)
			return
		}
	}
}

func (f *follower) lease(h *heldReader, found *indexer.Found, lag indexer.Lag) *lease {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaseOf(h, found, lag)
}

// leaseOf makes a lease of a reader that has been counted; f.mu is held.
func (f *follower) leaseOf(h *heldReader, found *indexer.Found, lag indexer.Lag) *lease {
	l := &lease{follower: f, held: h, found: found, updating: f.running != nil}
	l.reader = h.Reader
	if lag.Files > 0 {
		l.failed, l.watcher = f.failed, f.watcher
	}
	l.rebuilt = f.rebuilt
	l.errors = unusable(found)
	l.state = query.IndexState{PendingFiles: lag.Files, PendingBytes: lag.Bytes, Complete: lag.Files == 0 && len(l.errors) == 0}
	return l
}

// update starts bringing the index up to date, if nothing does yet.
func (f *follower) update() *updating {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running != nil {
		return f.running
	}
	u := &updating{done: make(chan struct{}), late: make(chan struct{})}
	f.running = u
	waited := time.AfterFunc(f.patience, func() { close(u.late) })
	go func() {
		defer close(u.done)
		res, err := indexer.Update(f.context, f.options)
		f.mu.Lock()
		defer f.mu.Unlock()
		waited.Stop()
		f.running, f.failed, f.rebuilt = nil, err, ""
		if res == nil {
			return
		}
		f.watcher, f.rebuilt = res.Watcher, res.Rebuilt
		if res.Reader == nil {
			return
		}
		if f.context.Err() != nil && errors.Is(err, context.Canceled) {
			res.Reader.Close()
			return
		}
		f.replace(res.Reader)
	}()
	return u
}
