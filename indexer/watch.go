package indexer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fsnotify/fsnotify"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/lists"
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

type WatchOptions struct {
	Options
	Tell func(WatchEvent) // called from one goroutine; may be nil

	// For tests.
	notify  func() (notifier, error) // nil: the system's
	times   watchTimes               // zero: usualTimes
	fault   func() error             // makes updates fail
	passing func(hints) error        // replaces pass
}

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

type WatchEvent struct {
	Kind       WatchKind
	Time       time.Time
	Generation index.ID
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
// ErrWatched if another process watches for the same index, and with index.ErrNewer if a
// newer version has taken the index.
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
	o.Stays = true
	now := o.Now()
	w := newWatcher(o)
	w.presence = presence{dir: o.Dir, state: Watcher{PID: o.PID, Started: now, IndexSchema: index.SchemaVersion}}
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

// watcher is one running watch. One goroutine owns all of it. Only progress is called
// by the workers of an update, one at a time, while that goroutine waits for them.
type watcher struct {
	WatchOptions
	presence presence
	notifier notifier
	keeper   keeper
	schedule schedule
	trust    trust
	trouble  trouble

	found    *Found
	at       map[string]int // index in found.Files by path
	dirs     map[string]bool
	homes    map[string]rootLayout // roots with a layout
	ready    bool
	reported map[string]string // the last reported error of each unreadable file or directory
	unkept   string            // the last reported error of keeping sessions
}

func newWatcher(o WatchOptions) *watcher {
	return &watcher{
		WatchOptions: o, reported: make(map[string]string),
		trust: trust{missed: make(map[string]time.Time), falseAlarms: make(map[string]int)},
	}
}

// trust says how far events show all changes.
type trust struct {
	polling     bool                 // events are missing: files are polled
	every       time.Duration        // between polls
	roots       []fileID             // what is watched at the roots
	missed      map[string]time.Time // change times of files whose change a timer found before any event
	falseAlarms map[string]int       // how often a path that is not a session file caused a check of all files
}

// trouble is why the last update failed; zero if it did not.
type trouble struct {
	reported string // the last reported failure
	failures int
	waiting  time.Time // since when another process has been writing without a sign of life; zero if none is
	said     string    // what it announced last
	ends     error     // the failure ends the watch
}

// hints say where something may have changed.
type hints struct {
	files      map[string]bool // session files with new bytes or times
	moved      []string        // directories that may be gone
	all        bool            // check all files
	verify     bool            // and compare them with the index
	fromEvents bool            // caused by events, or by a possible loss of events
}

// schedule has the hints since the last pass, and says when the next one is due.
type schedule struct {
	hints          hints
	quiet, longest clock         // until a pass for events
	pause          time.Duration // shortest time to wait for quiet
	rescan, poll   clock         // until a check of all files
	retry          clock         // until a pass after one that failed
	release, beat  clock
}

// loop waits for hints and acts on them.
func (w *watcher) loop(ctx context.Context) error {
	s := &w.schedule
	s.rescan.set(w.times.rescan)
	w.check(ctx, true)
	for ctx.Err() == nil && w.trouble.ends == nil {
		select {
		case <-ctx.Done():
		case e, ok := <-w.notifier.Events():
			w.event(e, ok)
		case err, ok := <-w.notifier.Errors():
			if ok {
				w.lost(err)
			}
		case <-s.rescan.C():
			w.check(ctx, true)
		case <-s.poll.C():
			w.check(ctx, false)
		case <-s.quiet.C():
			w.follow(ctx)
		case <-s.longest.C():
			w.follow(ctx)
		case <-s.retry.C():
			w.follow(ctx)
		case <-s.release.C():
			if err := w.keeper.release(); err != nil {
				w.logger().Debug("release the writer", "error", err)
			}
		case <-s.beat.C():
			w.tick(ctx)
		}
	}
	return cmp.Or(w.trouble.ends, w.keeper.release(), w.notifier.Close())
}

// check follows the hints, and checks all files.
func (w *watcher) check(ctx context.Context, verify bool) {
	w.schedule.hints.all = true
	w.schedule.hints.verify = w.schedule.hints.verify || verify
	w.follow(ctx)
}

// follow makes a pass, and schedules what comes after it.
func (w *watcher) follow(ctx context.Context) {
	s := &w.schedule
	s.quiet.stop()
	s.longest.stop()
	if s.hints.all {
		s.poll.stop()
	}
	start := w.Now()
	err := w.pass(ctx, s.hints)
	if ctx.Err() != nil {
		return
	}
	s.pause = min(pauseMax, pauseShare*w.Now().Sub(start))
	if err != nil {
		s.hints.all, s.hints.verify = true, true
		s.retry.set(w.failed(err))
	} else {
		if s.hints.all {
			s.rescan.set(w.times.rescan)
		}
		s.hints, w.trouble = hints{}, trouble{}
		s.retry.stop()
	}
	w.schedulePoll()
	s.release.set(w.times.release)
	s.beat.set(beatEvery)
	w.beat()
}

// event takes an event; without ok there will be no more.
func (w *watcher) event(e fsnotify.Event, ok bool) {
	s := &w.schedule
	switch {
	case !ok:
		w.notifier = noEvents{}
		w.poll(errors.New("the system has stopped telling of changes"))
		w.schedulePoll()
	case w.note(e) && !s.retry.on:
		s.quiet.set(max(s.pause, w.times.quiet))
		if !s.longest.on {
			s.longest.set(max(s.pause, w.times.longest))
		}
	}
}

// pauseShare says how many times as long as a pass took the watcher waits before the next one, because
// a pass hashes all of a file that has grown. pauseMax is less than the three seconds that commands
// wait for a watcher.
const (
	pauseShare = 4
	pauseMax   = 2 * time.Second
)

// lost takes an error of the notifier: events may be missing.
func (w *watcher) lost(err error) {
	if noDescriptors(err) {
		w.giveUp(limitText(err))
	}
	s := &w.schedule
	if s.retry.on {
		return
	}
	w.logger().Debug("events were lost", "error", err)
	s.hints.all, s.hints.fromEvents = true, true
	s.hints.moved = append(s.hints.moved, pathsOf(w.Roots)...) // directories may have been replaced
	s.quiet.set(w.times.quiet)
}

func pathsOf(roots []adapter.Root) []string {
	return lists.Map(roots, func(r adapter.Root) string { return r.Path })
}

// tick shows that the watcher lives, and looks for an index that was removed and for events
// that are overdue.
func (w *watcher) tick(ctx context.Context) {
	w.schedule.beat.set(beatEvery)
	w.beat()
	if w.removed() && !w.schedule.retry.on {
		w.check(ctx, true)
	}
	w.pollIfMissed(w.Now())
	w.schedulePoll()
}

func (w *watcher) schedulePoll() {
	if poll := &w.schedule.poll; w.trust.polling && !poll.on {
		poll.set(w.trust.every)
	}
}

// clock is a timer that may be off.
type clock struct {
	*time.Timer
	on bool
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

func (w *watcher) removed() bool {
	if !w.ready || w.keeper.writer != nil {
		return false
	}
	n, err := index.Newest(w.Dir)
	return n == (index.ID{}) && err == nil
}

func (w *watcher) beat() {
	// If the beat cannot be written, other processes index by themselves.
	if err := w.presence.beat(w.Now()); err != nil {
		w.logger().Debug("show that the watcher lives", "error", err)
	}
}

// failed reports a failed update, once, and returns when to try again.
func (w *watcher) failed(err error) time.Duration {
	t := &w.trouble
	if errors.Is(err, index.ErrNewer) {
		t.ends = err
		return 0
	}
	if errors.Is(err, index.ErrLocked) {
		now := w.Now()
		if said := index.Announcement(w.Dir); t.waiting.IsZero() || said != t.said {
			t.waiting, t.said = now, said
			if at := Building(w.Dir); at != nil && w.Progress != nil {
				w.Progress(*at)
			}
		}
		// Commands that update the index are done in a moment.
		if t.reported == "" && now.Sub(t.waiting).Abs() >= patience {
			t.reported = index.ErrLocked.Error()
			w.tell(WatchEvent{Kind: WatchWaiting, Err: err})
		}
		return w.times.locked
	}
	if t.reported != err.Error() {
		t.reported = err.Error()
		w.tell(WatchEvent{Kind: WatchFailed, Err: err})
	}
	wait := min(w.times.retryMax, w.times.retry<<min(t.failures, 16))
	t.failures++
	return wait
}

// poll starts polling, because events are missing.
func (w *watcher) poll(why error) {
	if w.trust.polling {
		return
	}
	w.trust.polling = true
	w.trust.every = max(w.trust.every, w.times.poll)
	w.presence.state.Polling = why.Error()
	w.tell(WatchEvent{Kind: WatchPolling, Err: why, Every: w.trust.every})
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
