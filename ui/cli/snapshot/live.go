package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pigrep/index"
	"pigrep/indexer"
	"pigrep/ui/cli/location"
)

// Live is an index that stays open, for a server or the TUI. A question gets a snapshot of the newest
// generation. First the session files are compared with it, as in every reading command,
// and new bytes are indexed by one goroutine for all waiting questions, in memory if
// they are few. A question waits at most until an update has run for Patience; then it
// is answered from the last generation, and the answer says what is missing.
//
// An open index blocks no writer. A Live is safe for concurrent use.
type Live struct {
	Patience time.Duration // how long a question waits for an update; set it before the first one
	Keep     time.Duration // how long the pages that it read stay mapped; 0: not at all; set it likewise

	location *location.Location
	options  indexer.Options
	context  context.Context // ends the running update when the index is closed
	stop     context.CancelFunc

	mu       sync.Mutex
	newest   *sharedReader  // nil also after a while without questions
	found    *indexer.Found // by the last question
	idle     *time.Timer
	kept     *time.Timer     // unmaps the pages of the newest
	pinned   []*sharedReader // older ones, the oldest first
	running  *liveUpdate     // nil when none runs
	failed   error           // of the last update; nil if it was complete
	damaged  index.ID        // the generation that a question found damaged; zero for none
	watcher  *indexer.Watcher
	inMemory uint64 // number of the last reader with something in memory; other processes start from another

	work  sync.WaitGroup // updates, and commits of what was in memory
	merge sync.Once      // of segments: a merge that fails is not tried again
}

type liveUpdate struct {
	done chan struct{} // closed when it has ended
	late chan struct{} // closed when it takes longer than questions wait
}

// sharedReader is a reader that several questions may use at the same time.
type sharedReader struct {
	*index.Reader
	number uint64      // the hash of the generation, or a number of its own if a part is in memory
	memory indexer.Lag // the part that is in memory
	uses   int         // questions, and one for being the newest or pinned
	expiry *time.Timer
}

const (
	usualPatience = 5 * time.Second  // how long a question waits for an update
	shortWait     = time.Second      // how long an update waits for the lock, which this process may hold
	pinFor        = 10 * time.Minute // how long an older snapshot stays open for further pages
	MaxPinned     = 4                // how many older snapshots stay open

	// idleFor is how long the newest generation stays open without questions. Open files
	// occupy disk space even after another process has deleted them.
	idleFor = 15 * time.Minute
)

// OpenLive returns the index of a location. The caller closes it.
func OpenLive(ctx context.Context, p *location.Location) *Live {
	opt := Options(p)
	opt.Yield, opt.Memory, opt.Await, opt.Stays, opt.Wait = true, true, true, true, shortWait
	x := &Live{location: p, options: opt, Patience: usualPatience, inMemory: 1<<62 | uint64(opt.Now().UnixNano())}
	x.context, x.stop = context.WithCancel(ctx)
	x.idle = time.AfterFunc(idleFor, x.rest)
	x.kept = time.AfterFunc(idleFor, x.unmap)
	return x
}

// rest closes the newest generation if no question uses it; the next question reopens
// it.
func (x *Live) rest() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.newest == nil:
	case x.newest.uses > 1 || x.running != nil:
		x.idle.Reset(idleFor)
	default:
		x.release(x.newest)
		x.newest = nil
	}
}

func (x *Live) unmap() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.newest != nil {
		x.newest.Reader.Keep(false)
	}
}

// Close ends the running update and closes all readers. All questions must have been
// answered.
func (x *Live) Close() error {
	x.stop()
	x.idle.Stop()
	x.kept.Stop()
	x.work.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.pinned {
		r.expiry.Stop()
		x.release(r)
	}
	x.pinned = nil
	if x.newest != nil {
		x.release(x.newest)
		x.newest = nil
	}
	return nil
}

// Damaged reports that the generation of the snapshot turned out to be damaged. The index is rebuilt
// before the next question.
func (s *Snapshot) Damaged() {
	x, generation := s.live, s.Reader.ID()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.newest == nil || x.newest.ID() != generation {
		return // it has been replaced in the meantime
	}
	x.damaged = generation
	x.release(x.newest)
	x.newest = nil
}

// Snapshot returns the index as up to date as possible without a long wait. The caller
// closes it. If there is no generation, it returns the error of opening or building the
// index, or index.ErrLocked while the first one is built.
func (x *Live) Snapshot(ctx context.Context) (*Snapshot, error) {
	found := x.discover()
	late := x.location.NoUpdate
	patience := time.NewTimer(x.Patience)
	defer patience.Stop()
	var before indexer.Lag
	for round := 0; ; round++ {
		shared, openErr := x.take(found)
		var lag indexer.Lag
		if shared != nil {
			lag = indexer.Behind(found, shared.Table())
		}
		if lag.Files > 0 && (round > 0 || late) { // the index may be newer than the list
			lag = indexer.BehindBoth(found, x.discover(), shared.Table())
		}
		// A running update may have listed the files before the question came; the next one
		// has not. Rounds go on while they lead somewhere.
		done := late || round >= 2 && (lag.Files == 0 || lag == before) || x.context.Err() != nil
		switch {
		case shared != nil && (done || lag == (indexer.Lag{})):
			x.mu.Lock()
			defer x.mu.Unlock()
			x.found = found
			return x.snapshotOf(shared, found, lag), nil
		case shared != nil:
			x.give(shared)
		case done:
			return nil, x.why(openErr)
		}
		before = lag
		u := x.update()
		select {
		case <-u.done:
		case <-u.late:
			late = true
		case <-patience.C:
			late = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (x *Live) discover() *indexer.Found {
	return indexer.Discover(x.options.Adapter, x.options.Roots, x.options.Archive)
}

// why returns why there is no index to answer from.
func (x *Live) why(openErr error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.running != nil:
		return index.ErrLocked // the first index is being built, by this process or another
	case x.failed != nil:
		return x.failed
	}
	return openErr
}

// At returns the snapshot of this number if it is still open; nil if not. The caller
// closes it.
func (x *Live) At(number uint64) *Snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range append(x.pinned[:len(x.pinned):len(x.pinned)], x.newest) {
		if r == nil || r.number != number {
			continue
		}
		r.uses++
		if r.expiry != nil {
			r.expiry.Reset(pinFor)
		}
		found := x.discover()
		return x.snapshotOf(r, found, indexer.Behind(found, r.Table()))
	}
	return nil
}

// Newest returns the newest generation without updating it, or comparing the files with it.
func (x *Live) Newest() (*Snapshot, error) {
	shared, err := x.take(nil)
	if shared == nil {
		return nil, err
	}
	return &Snapshot{Location: x.location, Reader: shared.Reader, live: x, shared: shared}, nil
}

// take returns the newest reader, opening it if there is another generation than the open
// one; nil and an error if there is none. A reader that has all of the files found, nil for
// none, is not replaced by one that has not.
func (x *Live) take(found *indexer.Found) (*sharedReader, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	id, err := index.Newest(x.options.Dir)
	if err == nil && id != (index.ID{}) && id == x.damaged {
		return nil, fmt.Errorf("%w: generation %d", index.ErrDamaged, id.Number)
	}
	if x.newest == nil || err == nil && id != x.newest.ID() {
		reader, openErr := x.open()
		switch {
		case openErr != nil && x.newest == nil:
			return nil, openErr
		case openErr != nil:
		case x.newest != nil && found != nil && !behind(x.newest.Reader, found) && behind(reader, found):
			reader.Close()
		default:
			x.replace(reader, indexer.Lag{})
		}
	}
	x.newest.uses++
	x.idle.Reset(idleFor)
	if x.Keep > 0 {
		x.newest.Reader.Keep(true)
		x.kept.Reset(x.Keep)
	}
	return x.newest, nil
}

// open opens the newest generation, which shares segments with the open one.
func (x *Live) open() (*index.Reader, error) {
	if x.newest != nil && x.newest.ID() != (index.ID{}) { // else all of it is in memory
		return x.newest.Reopen()
	}
	return index.Open(x.options.Dir)
}

func behind(r *index.Reader, found *indexer.Found) bool {
	return indexer.Behind(found, r.Table()).Files > 0
}

func (x *Live) give(r *sharedReader) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.release(r)
}

// release ends one use of a reader; x.mu must be locked.
func (x *Live) release(r *sharedReader) {
	if r.uses--; r.uses == 0 {
		r.Close()
	}
}

// replace makes a reader the newest one. memory is what it has in memory only. x.mu must
// be locked.
func (x *Live) replace(reader *index.Reader, memory indexer.Lag) {
	old := x.newest
	number := reader.ID().Hash
	if memory != (indexer.Lag{}) {
		x.inMemory++
		number = x.inMemory
	} else if old != nil && old.number == number {
		reader.Close()
		return
	}
	x.newest = &sharedReader{Reader: reader, number: number, memory: memory, uses: 1}
	if old == nil {
		return
	}
	if old.expiry == nil {
		x.release(old)
		return
	}
	x.pinned = append(x.pinned, old)
	if len(x.pinned) > MaxPinned {
		x.unpin(x.pinned[0])
	}
}

// Pin keeps the generation open for a while, for requests for further pages.
func (s *Snapshot) Pin() {
	x, r := s.live, s.shared
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.expiry != nil {
		r.expiry.Reset(pinFor)
		return
	}
	r.expiry = time.AfterFunc(pinFor, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.unpin(r)
	})
}

// unpin releases a pinned reader; x.mu must be locked.
func (x *Live) unpin(r *sharedReader) {
	r.expiry.Stop()
	r.expiry = nil
	if i := slices.Index(x.pinned, r); i >= 0 {
		x.pinned = slices.Delete(x.pinned, i, i+1)
		x.release(r)
	}
}

// snapshotOf makes a snapshot of a reader whose use has been counted; x.mu must be
// locked.
func (x *Live) snapshotOf(r *sharedReader, found *indexer.Found, lag indexer.Lag) *Snapshot {
	s := asIs(x.location, r.Reader, found, lag)
	s.Number, s.Memory, s.Updating, s.live, s.shared = r.number, r.memory, x.running != nil, x, r
	if lag.Files > 0 {
		s.Failed, s.Watcher = x.failed, x.watcher
	}
	return s.counted()
}

func (x *Live) update() *liveUpdate {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running != nil {
		return x.running
	}
	u := &liveUpdate{done: make(chan struct{}), late: make(chan struct{})}
	x.running = u
	opt := x.options
	opt.Rebuild = opt.Rebuild || x.damaged != (index.ID{})
	waited := time.AfterFunc(x.Patience, func() { close(u.late) })
	x.work.Go(func() {
		res, err := indexer.Update(x.context, opt)
		waited.Stop()
		x.updated(res, err)
		close(u.done)
		if err := res.Commit(x.context, opt); err != nil && opt.Logger != nil {
			opt.Logger.Debug("commit what is in memory", "error", err)
		}
		if res.Crowded {
			x.merge.Do(func() {
				if err := indexer.Merge(x.context, opt); err != nil && opt.Logger != nil {
					opt.Logger.Debug("merge segments", "error", err)
				}
			})
		}
	})
	return u
}

func (x *Live) updated(res *indexer.Result, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running, x.failed, x.watcher = nil, err, res.Watcher
	switch {
	case res.Reader == nil:
	case x.context.Err() != nil && errors.Is(err, context.Canceled) || x.damaged != (index.ID{}) && res.Reader.ID() == x.damaged:
		res.Reader.Close()
	default:
		x.damaged = index.ID{}
		x.replace(res.Reader, res.InMemory)
	}
}
