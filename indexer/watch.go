package indexer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fsnotify/fsnotify"

	"pigrep/index"
)

// A watch keeps an index equal to the session files:
//
//	directories ── events ──► hints ── settle ──► pass ──► generation
//	                            ▲                  │
//	     timers: rescan, poll, retry ◄─────────────┘
//
// Events are only hints where to look. What has changed is decided by comparing
// the files with the index, as every update does, so that an event too many
// costs little, and one that was lost costs time until the next rescan.

// WatchOptions say what to watch.
type WatchOptions struct {
	Options
	Tell func(WatchEvent) // called from one goroutine; may be nil

	// For tests.
	notify  func() (notifier, error) // nil: the system's
	times   watchTimes               // zero: usualTimes
	fault   func() error             // makes updates fail
	passing func(hints) error        // in place of looking at files
}

// watchTimes are the bounds of a watch.
type watchTimes struct {
	quiet    time.Duration // without events, after which an update begins
	longest  time.Duration // that an update waits for quiet
	rescan   time.Duration // between looks at all files
	poll     time.Duration // the same at least, without events
	release  time.Duration // without an update, after which the index is given to others
	locked   time.Duration // between tries while another process writes
	retry    time.Duration // after a failure, and doubled after each more
	retryMax time.Duration
}

var usualTimes = watchTimes{
	quiet: 50 * time.Millisecond, longest: 250 * time.Millisecond, rescan: time.Minute, poll: time.Second,
	release: 500 * time.Millisecond, locked: 100 * time.Millisecond, retry: time.Second, retryMax: time.Minute,
}

// WatchKind is what a WatchEvent tells.
type WatchKind uint8

// The kinds of events.
const (
	WatchReady   WatchKind = iota // the index is up to date for the first time
	WatchUpdated                  // something changed and is indexed
	WatchPolling                  // there are no events, or not all: files are looked at instead
	WatchWaiting                  // another process writes the index
	WatchFailed                   // an update failed and will be tried again
)

var watchKindNames = [...]string{"ready", "update", "polling", "waiting", "failed"}

func (k WatchKind) String() string { return watchKindNames[k] }

// WatchEvent is something that a watch tells.
type WatchEvent struct {
	Kind       WatchKind
	Time       time.Time
	Generation uint64
	Steps      []Step // of Updated: what changed; of Ready: what the first update did
	Changes    map[Change]int
	BytesRead  int64
	Entries    int
	Files      int           // there are
	Skipped    int           // malformed pieces of lines in all files
	Complete   bool          // every complete line of every file is indexed
	Dirs       int           // that are watched
	Errors     []FileError   // that were not told before
	Rebuilt    string        // why the index was built anew; "" when it was not
	Every      time.Duration // of Polling
	Err        error         // of Polling, Waiting and Failed: why
}

// Watch keeps the index equal to the session files until the context ends,
// which is no error. All that was read by then is published. It fails at once
// with ErrWatched when another process does the same.
func Watch(ctx context.Context, o WatchOptions) error {
	if o.Tell == nil {
		o.Tell = func(WatchEvent) {}
	}
	if o.times == (watchTimes{}) {
		o.times = usualTimes
	}
	if o.notify == nil {
		o.notify = newSystemNotifier
	}
	now := o.Now()
	w := &watcher{WatchOptions: o, told: make(map[string]string), vain: make(map[string]int), untold: make(map[string]time.Time)}
	w.presence = presence{dir: o.Dir, state: Watcher{PID: o.PID, Started: now}}
	if err := w.presence.appear(); err != nil {
		return err
	}
	defer w.presence.leave()
	if err := w.presence.beat(now); err != nil {
		return err
	}
	w.keeper = keeper{Options: o.Options}
	w.keeper.Progress = w.progress
	defer w.keeper.release()

	n, err := o.notify()
	if err != nil {
		w.poll(limitText(err))
		n = noEvents{}
	}
	defer n.Close()
	w.notifier = n
	return w.loop(ctx)
}

// watcher is one running watch. Everything in it belongs to one goroutine, but
// for progress, which the workers of an update call one at a time while that
// goroutine waits for them.
type watcher struct {
	WatchOptions
	presence presence
	notifier notifier
	keeper   keeper

	found   *Found
	at      map[string]int // place in found.Files by path
	dirs    map[string]bool
	agents  map[string]bool
	skipped int // malformed pieces of lines in all files
	ready   bool
	polling bool
	every   time.Duration // between polls

	told    map[string]string    // what was told of a file or directory that cannot be read
	untold  map[string]time.Time // when files changed that a look on a timer found changed before any event
	vain    map[string]int       // looks at everything because of a path that is none of ours
	failing string               // what was told of the last failure
	fails   int
	waiting time.Time // since when another process writes, zero when none does
}

// hints say where something may have changed.
type hints struct {
	files  map[string]bool // session files with new bytes or times
	moved  []string        // directories that may have gone
	all    bool            // look for all files
	verify bool            // and compare the index with them
	told   bool            // events asked for it, or may have been lost
}

// loop waits for hints and acts on them.
func (w *watcher) loop(ctx context.Context) error {
	var quiet, longest, retry, release clock
	rescan, beat := newClock(w.times.rescan), newClock(beatEvery)
	poll := newClock(w.every)
	defer func() {
		for _, c := range []*clock{&quiet, &longest, &retry, &release, &rescan, &beat, &poll} {
			c.stop()
		}
	}()
	h := hints{all: true, verify: true}
	pass := func() {
		quiet.stop()
		longest.stop()
		if h.all {
			poll.stop()
		}
		err := w.pass(ctx, h)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.all, h.verify = true, true
			retry.set(w.failed(err))
		} else {
			if h.all {
				rescan.set(w.times.rescan)
			}
			h = hints{}
			retry.stop()
			w.succeeded()
		}
		if w.polling && !poll.on {
			poll.set(w.every)
		}
		release.set(w.times.release)
		beat.set(beatEvery)
		w.beat()
	}
	pass()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e, ok := <-w.notifier.Events():
			if !ok {
				w.notifier = noEvents{}
				w.poll(errors.New("the system has stopped telling of changes"))
				poll.set(w.every)
			} else if w.note(e, &h) && !retry.on {
				quiet.set(w.times.quiet)
				if !longest.on {
					longest.set(w.times.longest)
				}
			}
		case err, ok := <-w.notifier.Errors():
			if ok && !retry.on {
				w.logger().Debug("events were lost", "error", err)
				h.all, h.told = true, true
				quiet.set(w.times.quiet)
			}
		case <-rescan.C():
			h.all, h.verify = true, true
			pass()
		case <-poll.C():
			poll.on = false
			h.all = true
			pass()
		case <-quiet.C():
			pass()
		case <-longest.C():
			pass()
		case <-retry.C():
			retry.on = false
			pass()
		case <-release.C():
			release.on = false
			if err := w.keeper.release(); err != nil {
				w.logger().Debug("release the writer", "error", err)
			}
		case <-beat.C():
			beat.set(beatEvery)
			w.beat()
			w.pollIfUntold(w.Now())
			if w.polling && !poll.on {
				poll.set(w.every)
			}
		}
	}
	return cmp.Or(w.keeper.release(), w.notifier.Close())
}

// clock is a timer that may be off.
type clock struct {
	*time.Timer
	on bool
}

func newClock(d time.Duration) clock {
	var c clock
	if d > 0 {
		c.set(d)
	}
	return c
}

func (c *clock) set(d time.Duration) {
	if c.Timer == nil {
		c.Timer = time.NewTimer(d)
	} else {
		c.Reset(d)
	}
	c.on = true
}

func (c *clock) stop() {
	if c.Timer != nil {
		c.Timer.Stop()
	}
	c.on = false
}

// C returns the channel of the timer, which never has anything when it is off.
func (c *clock) C() <-chan time.Time {
	if c.Timer == nil {
		return nil
	}
	return c.Timer.C
}

// progress shows during a long update that the watcher moves.
func (w *watcher) progress(p Progress) {
	if now := w.Now(); now.Sub(w.presence.state.Beat).Abs() >= beatEvery {
		w.beat()
	}
	if w.Progress != nil {
		w.Progress(p)
	}
}

func (w *watcher) beat() {
	// A beat that cannot be written makes others do the work themselves.
	if err := w.presence.beat(w.Now()); err != nil {
		w.logger().Debug("show that the watcher lives", "error", err)
	}
}

// failed tells of a failed update, once, and returns when to try again.
func (w *watcher) failed(err error) time.Duration {
	if errors.Is(err, index.ErrLocked) {
		now := w.Now()
		if w.waiting.IsZero() {
			w.waiting = now
		}
		// Readers that index what they need are done in a moment.
		if w.failing == "" && now.Sub(w.waiting).Abs() >= patience {
			w.failing = index.ErrLocked.Error()
			w.tell(WatchEvent{Kind: WatchWaiting, Err: err})
		}
		return w.times.locked
	}
	if w.failing != err.Error() {
		w.failing = err.Error()
		w.tell(WatchEvent{Kind: WatchFailed, Err: err})
	}
	wait := min(w.times.retryMax, w.times.retry<<min(w.fails, 16))
	w.fails++
	return wait
}

func (w *watcher) succeeded() { w.failing, w.fails, w.waiting = "", 0, time.Time{} }

// poll begins to look at the files at intervals, for want of events.
func (w *watcher) poll(why error) {
	if w.polling {
		return
	}
	w.polling = true
	w.every = max(w.every, w.times.poll)
	w.presence.state.Polling = why.Error()
	w.tell(WatchEvent{Kind: WatchPolling, Err: why, Every: w.every})
}

func (w *watcher) tell(e WatchEvent) {
	e.Time = w.Now()
	w.Tell(e)
}

// noEvents stands for the notifier of a system that has none.
type noEvents struct{}

func (noEvents) Add(string) error              { return nil }
func (noEvents) Remove(string) error           { return nil }
func (noEvents) WatchList() []string           { return nil }
func (noEvents) Events() <-chan fsnotify.Event { return nil }
func (noEvents) Errors() <-chan error          { return nil }
func (noEvents) Close() error                  { return nil }
