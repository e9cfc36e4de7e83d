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
// Events are only hints where to look. Like every update, a watch compares the files
// with the index to decide what has changed. An extra event costs little; a lost one
// causes a delay until the next rescan.

// WatchOptions are the options of Watch.
type WatchOptions struct {
	Options
	Tell func(WatchEvent) // called from one goroutine; may be nil

	// For tests.
	notify  func() (notifier, error) // nil: the system's
	times   watchTimes               // zero: usualTimes
	fault   func() error             // makes updates fail
	passing func(hints) error        // replaces pass
}

// watchTimes are the time limits of a watch.
type watchTimes struct {
	quiet    time.Duration // time without events before an update begins
	longest  time.Duration // longest time to wait for quiet
	rescan   time.Duration // between checks of all files
	poll     time.Duration // shortest time between them when polling
	release  time.Duration // time without an update before the writer is released
	locked   time.Duration // between retries while another process writes
	retry    time.Duration // after the first failure; doubled after each further one
	retryMax time.Duration
}

var usualTimes = watchTimes{
	quiet: 50 * time.Millisecond, longest: 250 * time.Millisecond, rescan: time.Minute, poll: time.Second,
	release: 500 * time.Millisecond, locked: 100 * time.Millisecond, retry: time.Second, retryMax: time.Minute,
}

// WatchKind is the kind of a WatchEvent.
type WatchKind uint8

// The kinds of events.
const (
	WatchReady   WatchKind = iota // the index is up to date for the first time
	WatchUpdated                  // something changed and is indexed
	WatchPolling                  // events are missing, in part or altogether: files are polled
	WatchWaiting                  // another process writes the index
	WatchFailed                   // an update failed and will be retried
)

var watchKindNames = [...]string{"ready", "update", "polling", "waiting", "failed"}

func (k WatchKind) String() string { return watchKindNames[k] }

// WatchEvent is an event reported by a watch.
type WatchEvent struct {
	Kind       WatchKind
	Time       time.Time
	Generation uint64
	Steps      []Step // of Updated: what changed; of Ready: what the first update did
	Changes    map[Change]int
	BytesRead  int64
	Entries    int
	Files      int           // number of session files
	Skipped    int           // malformed pieces of lines in all files
	Complete   bool          // every complete line of every file is indexed
	Dirs       int           // number of watched directories
	Errors     []FileError   // not reported before
	Rebuilt    string        // why the index was rebuilt; "" if it was not
	Every      time.Duration // of Polling: the interval
	Err        error         // of Polling, Waiting and Failed: the cause
}

// Watch keeps the index equal to the session files until the context ends, which is
// not an error. Everything read by then is published. It fails at once with
// ErrWatched if another process watches for the same index.
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
	if _, ok := n.(systemNotifier); ok {
		w.vouchStart()
	}
	defer w.voucher.close()
	return w.loop(ctx)
}

// watcher is one running watch. One goroutine owns all of it. Only progress is called
// by the workers of an update, one at a time, while that goroutine waits for them.
type watcher struct {
	WatchOptions
	presence presence
	notifier notifier
	keeper   keeper

	found   *Found
	at      map[string]int // index in found.Files by path
	dirs    map[string]bool
	agents  map[string]bool
	ready   bool
	polling bool
	every   time.Duration // between polls

	voucher voucher
	roots   []rootID // what is watched at the roots; nil if that is not known
	blind   bool     // changes may come without an event

	told    map[string]string    // the last reported error of each unreadable file or directory
	untold  map[string]time.Time // change times of files whose change a timer found before any event
	vain    map[string]int       // how often a path that is not a session file caused a check of all files
	failing string               // the last reported failure
	fails   int
	waiting time.Time // since when another process has been writing without a sign of life; zero if none is
	said    string    // what it announced last
}

// hints say where something may have changed.
type hints struct {
	files  map[string]bool // session files with new bytes or times
	moved  []string        // directories that may be gone
	all    bool            // check all files
	verify bool            // and compare them with the index
	told   bool            // caused by events, or by a possible loss of events
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
			} else if !w.vouch(e, &h) && w.note(e, &h) && !retry.on {
				quiet.set(w.times.quiet)
				if !longest.on {
					longest.set(w.times.longest)
				}
			}
		case err, ok := <-w.notifier.Errors():
			if ok && noDescriptors(err) {
				w.giveUp(limitText(err))
			}
			if ok && !retry.on {
				w.logger().Debug("events were lost", "error", err)
				h.all, h.told = true, true
				for _, r := range w.Roots { // directories may have been replaced
					h.moved = append(h.moved, r.Path)
				}
				quiet.set(w.times.quiet)
			}
		case q := <-w.voucher.asked:
			w.ask(q, &h)
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
			if w.removed() && !retry.on {
				h.all, h.verify = true, true
				pass()
			}
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

// C returns the channel of the timer, which receives nothing while it is off.
func (c *clock) C() <-chan time.Time {
	if c.Timer == nil {
		return nil
	}
	return c.Timer.C
}

// progress shows during a long update that the watcher is alive.
func (w *watcher) progress(p Progress) {
	if now := w.Now(); now.Sub(w.presence.state.Beat).Abs() >= beatEvery {
		w.beat()
	}
	if w.Progress != nil {
		w.Progress(p)
	}
}

// removed reports whether somebody removed the index that this watcher keeps.
func (w *watcher) removed() bool {
	if !w.ready || w.keeper.writer != nil {
		return false
	}
	n, err := index.Newest(w.Dir)
	return n == 0 && err == nil
}

func (w *watcher) beat() {
	// If the beat cannot be written, other processes index by themselves.
	if err := w.presence.beat(w.Now()); err != nil {
		w.logger().Debug("show that the watcher lives", "error", err)
	}
}

// failed reports a failed update, once, and returns when to try again.
func (w *watcher) failed(err error) time.Duration {
	if errors.Is(err, index.ErrLocked) {
		now := w.Now()
		if said := index.Announcement(w.Dir); w.waiting.IsZero() || said != w.said {
			w.waiting, w.said = now, said
			if at := Building(w.Dir); at != nil && w.Progress != nil {
				w.Progress(*at)
			}
		}
		// Commands that update the index are done in a moment.
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

// poll starts polling, because events are missing.
func (w *watcher) poll(why error) {
	if w.polling {
		return
	}
	w.polling = true
	w.every = max(w.every, w.times.poll)
	w.presence.state.Polling = why.Error()
	w.tell(WatchEvent{Kind: WatchPolling, Err: why, Every: w.every})
}

// giveUp polls because a directory cannot be watched. A notifier that has used up the
// descriptors of the process must return them: session files are read with them.
func (w *watcher) giveUp(why error) {
	if noDescriptors(why) {
		_ = w.notifier.Close()
		w.notifier = noEvents{}
	}
	w.poll(why)
}

func (w *watcher) tell(e WatchEvent) {
	e.Time = w.Now()
	w.Tell(e)
}

// noEvents is the notifier of a system without one.
type noEvents struct{}

func (noEvents) Add(string) error              { return nil }
func (noEvents) Remove(string) error           { return nil }
func (noEvents) WatchList() []string           { return nil }
func (noEvents) Events() <-chan fsnotify.Event { return nil }
func (noEvents) Errors() <-chan error          { return nil }
func (noEvents) Close() error                  { return nil }
