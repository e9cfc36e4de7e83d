package indexer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
)

// fakeNotifier reports the events that a test sends.
type fakeNotifier struct {
	events chan fsnotify.Event
	errors chan error

	mu     sync.Mutex
	dirs   map[string]bool
	closed bool
	add    func(dir string) error // nil: all succeed
}

func newFakeNotifier() *fakeNotifier {
	return &fakeNotifier{events: make(chan fsnotify.Event), errors: make(chan error), dirs: make(map[string]bool)}
}

func (n *fakeNotifier) Events() <-chan fsnotify.Event { return n.events }
func (n *fakeNotifier) Errors() <-chan error          { return n.errors }

func (n *fakeNotifier) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return nil
}

func (n *fakeNotifier) Add(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.add != nil {
		if err := n.add(dir); err != nil {
			return err
		}
	}
	n.dirs[dir] = true
	return nil
}

func (n *fakeNotifier) Remove(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.dirs, dir)
	return nil
}

func (n *fakeNotifier) WatchList() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for d := range n.dirs {
		list = append(list, d)
	}
	return list
}

func testOptions(t *testing.T, root string) WatchOptions {
	return WatchOptions{Options: Options{
		Dir: filepath.Join(t.TempDir(), "index"), Adapter: pi.New(), Roots: []adapter.Root{{Path: root}}, Now: time.Now, PID: 1,
	}}
}

// timeline runs a watch with a fake pass, and returns when it passed, with which
// hints.
func timeline(t *testing.T, outcome func(pass int) error, drive func(n *fakeNotifier, root string)) []string {
	t.Helper()
	root := t.TempDir()
	o := testOptions(t, root)
	n := newFakeNotifier()
	o.notify = func() (notifier, error) { return n, nil }
	var list []string
	start := time.Now()
	o.passing = func(h hints) error {
		what := fmt.Sprint(len(h.files), " files")
		switch {
		case h.verify:
			what = "verify"
		case h.all:
			what = "all"
		}
		list = append(list, fmt.Sprint(time.Since(start), " ", what))
		if outcome != nil {
			return outcome(len(list))
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Watch(ctx, o) }()
	synctest.Wait()
	drive(n, root)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("watch: %v", err)
	}
	return list
}

// Events settle for 50 ms, at most 250 ms. All files are checked every minute and
// after lost events. The clock is synctest's: sleeping takes no time.
func TestWatchTimes(t *testing.T) {
	structure := func(root string) fsnotify.Event {
		return fsnotify.Event{Name: root, Op: fsnotify.Create} // a root that reappeared
	}
	for _, test := range []struct {
		name    string
		outcome func(pass int) error
		drive   func(n *fakeNotifier, root string)
		want    []string
	}{
		{"one event", nil, func(n *fakeNotifier, root string) {
			time.Sleep(time.Second)
			n.events <- structure(root)
			time.Sleep(time.Second)
		}, []string{"0s verify", "1.05s all"}},
		{"a burst", nil, func(n *fakeNotifier, root string) {
			for range 5 {
				n.events <- structure(root)
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(time.Second)
		}, []string{"0s verify", "90ms all"}},
		{"a stream", nil, func(n *fakeNotifier, root string) {
			for range 20 {
				n.events <- structure(root)
				time.Sleep(30 * time.Millisecond)
			}
			time.Sleep(time.Second)
		}, []string{"0s verify", "250ms all", "520ms all", "620ms all"}},
		{"events that say nothing", nil, func(n *fakeNotifier, root string) {
			for _, name := range []string{"", filepath.Join(filepath.Dir(root), "neighbour"), filepath.Join(filepath.Dir(root), "x.jsonl")} {
				n.events <- fsnotify.Event{Name: name, Op: fsnotify.Create}
			}
			time.Sleep(time.Second)
		}, []string{"0s verify"}},
		{"overflow", nil, func(n *fakeNotifier, root string) {
			n.errors <- fsnotify.ErrEventOverflow
			time.Sleep(time.Second)
		}, []string{"0s verify", "50ms all"}},
		{"every minute", nil, func(*fakeNotifier, string) { time.Sleep(150 * time.Second) },
			[]string{"0s verify", "1m0s verify", "2m0s verify"}},
		{"failures", func(pass int) error {
			if pass < 5 {
				return errors.New("no")
			}
			return nil
		}, func(n *fakeNotifier, root string) {
			n.events <- structure(root) // does not cause an earlier retry
			time.Sleep(30 * time.Second)
		}, []string{"0s verify", "1s verify", "3s verify", "7s verify", "15s verify"}},
		{"another writer", func(pass int) error {
			if pass < 4 {
				return index.ErrLocked
			}
			return nil
		}, func(*fakeNotifier, string) { time.Sleep(10 * time.Second) },
			[]string{"0s verify", "100ms verify", "200ms verify", "300ms verify"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := timeline(t, test.outcome, test.drive)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("looks at files (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// running is a watch in the background.
type running struct {
	t      *testing.T
	o      WatchOptions
	cancel context.CancelFunc
	done   chan error

	mu     sync.Mutex
	events []WatchEvent
}

func startWatch(t *testing.T, o WatchOptions) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, o: o, cancel: cancel, done: make(chan error, 1)}
	o.Tell = func(e WatchEvent) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	go func() { r.done <- Watch(ctx, o) }()
	t.Cleanup(r.stop)
	return r
}

func (r *running) stop() {
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Errorf("watch: %v", err)
	}
	r.done <- nil
}

// told returns the events of a kind so far.
func (r *running) told(k WatchKind) []WatchEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []WatchEvent
	for _, e := range r.events {
		if e.Kind == k {
			list = append(list, e)
		}
	}
	return list
}

// wait polls for a condition that events of the watcher bring about, which the system delivers when it likes.
func (r *running) wait(what string, condition func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("waited in vain: %s; told %+v", what, r.events)
		}
	}
}

func (r *running) waitTold(k WatchKind, n int) []WatchEvent {
	r.t.Helper()
	r.wait(fmt.Sprintf("%d times %v", n, k), func() bool { return len(r.told(k)) >= n })
	return r.told(k)
}

// current waits until the index is up to date.
func (r *running) current() {
	r.t.Helper()
	r.wait("the index has all", func() bool {
		reader, err := index.Open(r.o.Dir)
		if err != nil {
			return false
		}
		defer reader.Close()
		return Behind(Discover(r.o.Adapter, r.o.Roots, nil), reader.Table()).Files == 0
	})
}

func write(t *testing.T, path string, lines int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/p"}` + "\n")
	for i := range lines {
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-02T03:05:00.000Z","message":{"role":"user","content":"word%d"}}`+"\n", i, i)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Without watches left, or without a notifier, files are polled, which is reported
// once.
func TestWatchWithoutEvents(t *testing.T) {
	for _, test := range []struct {
		name, why string
		notify    func() (notifier, error)
	}{
		{"no watches left", "max_user_watches", func() (notifier, error) {
			n := newFakeNotifier()
			n.add = func(dir string) error {
				if len(n.dirs) >= 2 {
					return syscall.ENOSPC
				}
				return nil
			}
			return n, nil
		}},
		{"no files left", "too many open files", func() (notifier, error) {
			n := newFakeNotifier()
			n.add = func(string) error { return syscall.EMFILE }
			return n, nil
		}},
		{"no notifier", "too many open files", func() (notifier, error) { return nil, syscall.EMFILE }},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for i := range 5 {
				write(t, filepath.Join(root, fmt.Sprint("d", i), "a.jsonl"), 2)
			}
			o := testOptions(t, root)
			o.notify = test.notify
			o.times = usualTimes
			o.times.poll = 20 * time.Millisecond
			o.times.rescan = 70 * time.Millisecond
			r := startWatch(t, o)
			r.waitTold(WatchReady, 1)
			write(t, filepath.Join(root, "d3", "b.jsonl"), 3)
			r.waitTold(WatchUpdated, 1)
			write(t, filepath.Join(root, "d9", "c.jsonl"), 3)
			r.waitTold(WatchUpdated, 2)
			r.current()
			polling := r.told(WatchPolling)
			if len(polling) != 1 || !strings.Contains(polling[0].Err.Error(), test.why) {
				t.Errorf("polling was told %d times: %v", len(polling), polling)
			}
			if w, err := WatcherOf(o.Dir, time.Now()); err != nil || w == nil || w.Polling == "" {
				t.Errorf("others see %+v, %v", w, err)
			}
		})
	}
}

// A file system without events is detected at a rescan.
func TestWatchWhereNothingIsTold(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	o.notify = func() (notifier, error) { return newFakeNotifier(), nil }
	o.times = usualTimes
	o.times.rescan, o.times.poll = 100*time.Millisecond, 50*time.Millisecond
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	write(t, filepath.Join(root, "b.jsonl"), 2)
	r.waitTold(WatchUpdated, 1)
	if n := len(r.told(WatchPolling)); n != 0 {
		t.Errorf("a change that may yet be told of makes for polling: %v", r.told(WatchPolling))
	}
	// By this clock, the file was written long ago without an event.
	r.stop()

	o.Now = func() time.Time { return time.Now().Add(time.Minute) }
	r = startWatch(t, o)
	r.waitTold(WatchReady, 1)
	write(t, filepath.Join(root, "c.jsonl"), 2)
	r.waitTold(WatchPolling, 1)
	r.current()
	r.waitTold(WatchUpdated, 1)
	write(t, filepath.Join(root, "d.jsonl"), 2)
	r.waitTold(WatchUpdated, 2)
	if n := len(r.told(WatchPolling)); n != 1 {
		t.Errorf("polling was told %d times", n)
	}
}

// A file that is written continuously is never old; its missing events are detected
// too.
func TestWatchWhereNothingIsToldOfABusyFile(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	busy := filepath.Join(root, "b.jsonl")
	w := newWatcher(WatchOptions{Options: Options{Now: time.Now}, Tell: func(WatchEvent) {}})
	before := Discover(pi.New(), []adapter.Root{{Path: root}}, nil)
	write(t, busy, 2)
	w.found = Discover(pi.New(), []adapter.Root{{Path: root}}, nil)
	now := time.Now()
	w.noteMissed(before, now)
	w.pollIfMissed(now.Add(time.Second))
	if w.trust.polling {
		t.Error("a change that may yet be told of makes for polling")
	}
	told := *w
	told.trust.missed = map[string]time.Time{busy: w.trust.missed[busy]}
	told.trust.eventFor(root)
	told.pollIfMissed(now.Add(time.Minute))
	if told.trust.polling {
		t.Error("a change that was told of makes for polling")
	}
	w.pollIfMissed(now.Add(3 * time.Second))
	if !w.trust.polling {
		t.Error("a change that nobody told of does not make for polling")
	}
}

// A failure such as a full disk is reported once. The watch continues and catches up.
func TestWatchWhileUpdatesFail(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	o.times = usualTimes
	o.times.retry, o.times.retryMax = 10*time.Millisecond, 20*time.Millisecond
	var full struct {
		sync.Mutex
		on    bool
		tries int
	}
	o.fault = func() error {
		full.Lock()
		defer full.Unlock()
		if full.on {
			full.tries++
			return index.ErrFull
		}
		return nil
	}
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	full.Lock()
	full.on = true
	full.Unlock()
	write(t, filepath.Join(root, "b.jsonl"), 2)
	r.wait("three tries", func() bool {
		full.Lock()
		defer full.Unlock()
		return full.tries >= 3
	})
	if failed := r.told(WatchFailed); len(failed) != 1 || !errors.Is(failed[0].Err, index.ErrFull) {
		t.Errorf("failures told: %v", failed)
	}
	set := func(on bool) {
		full.Lock()
		defer full.Unlock()
		full.on = on
	}
	set(false)
	r.waitTold(WatchUpdated, 1)
	r.current()
	// A new failure is reported again.
	set(true)
	write(t, filepath.Join(root, "c.jsonl"), 2)
	r.waitTold(WatchFailed, 2)
	set(false)
	r.waitTold(WatchUpdated, 2)
	r.current()
}

// A file created in a directory after it was read and before it is watched is found.
func TestWatchOfADirectoryThatFillsMeanwhile(t *testing.T) {
	root := t.TempDir()
	o := testOptions(t, root)
	n := newFakeNotifier()
	n.add = func(dir string) error {
		if strings.HasPrefix(filepath.Base(dir), "p") {
			write(t, filepath.Join(dir, "late.jsonl"), 2)
		}
		return nil
	}
	if err := os.Mkdir(filepath.Join(root, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWatcher(o)
	w.notifier = n
	w.look(hints{all: true})
	if _, ok := w.at[filepath.Join(root, "p", "late.jsonl")]; !ok {
		t.Errorf("found only %v", w.found.Files)
	}
}

// A clock that is set back does not disturb the watch, and others see that the
// watcher is alive.
func TestWatchWithClockSetBack(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	var clock struct {
		sync.Mutex
		offset time.Duration
	}
	o.Now = func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return time.Now().Add(clock.offset)
	}
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	clock.Lock()
	clock.offset = -6 * time.Hour
	clock.Unlock()
	write(t, filepath.Join(root, "b.jsonl"), 2)
	r.waitTold(WatchUpdated, 1)
	r.current()
	r.wait("a beat of the new time", func() bool {
		w, err := WatcherOf(o.Dir, o.Now())
		return err == nil && w != nil && !w.Stuck(o.Now())
	})
}

// Other processes see a live watcher and leave recent changes to it. They index by
// themselves what it leaves pending, and if it is stuck or dead.
func TestWhatIsLeftToAWatcher(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "a.jsonl")
	write(t, file, 2)
	o := testOptions(t, root)
	res, err := Update(t.Context(), o.Options)
	if err != nil {
		t.Fatal(err)
	}
	res.Reader.Close()
	p := presence{dir: o.Dir, state: Watcher{PID: 4711, IndexSchema: index.SchemaVersion}}
	if err := p.appear(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := p.beat(start); err != nil {
		t.Fatal(err)
	}
	write(t, file, 3)
	update := func(at time.Time) *Result {
		t.Helper()
		o := o.Options
		o.Yield, o.Now = true, func() time.Time { return at }
		res, err := Update(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Reader.Close() })
		return res
	}
	if res := update(time.Now()); res.Watcher == nil || res.Watcher.PID != 4711 || res.Lag.Files != 1 || res.BytesRead != 0 || res.Complete() {
		t.Errorf("with a watcher: left to %+v, lag %+v, %d bytes read", res.Watcher, res.Lag, res.BytesRead)
	}
	// It is alive, but left the file pending.
	later := time.Now().Add(time.Minute)
	if err := p.beat(later); err != nil {
		t.Fatal(err)
	}
	if res := update(later); res.Watcher != nil || !res.Complete() || res.BytesRead == 0 {
		t.Errorf("with a watcher that leaves files lying: left to %+v, complete %v, %d bytes read", res.Watcher, res.Complete(), res.BytesRead)
	}
	// It is stuck.
	write(t, file, 4)
	if err := p.beat(time.Now().Add(-patience - time.Second)); err != nil {
		t.Fatal(err)
	}
	if res := update(time.Now()); res.Watcher != nil || !res.Complete() {
		t.Errorf("with a watcher that is stuck: left to %+v, complete %v", res.Watcher, res.Complete())
	}
	// It died without cleaning up.
	write(t, file, 5)
	if err := p.beat(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := p.release(); err != nil {
		t.Fatal(err)
	}
	if res := update(time.Now()); res.Watcher != nil || !res.Complete() {
		t.Errorf("with a watcher that is dead: left to %+v, complete %v", res.Watcher, res.Complete())
	}
	if w, err := WatcherOf(o.Dir, time.Now()); w != nil || err != nil {
		t.Errorf("a dead watcher is seen: %+v, %v", w, err)
	}
}

// One watcher runs per index. The error of a second one names the first.
func TestOneWatcher(t *testing.T) {
	root := t.TempDir()
	o := testOptions(t, root)
	o.PID = 4711
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	err := Watch(t.Context(), o)
	if !errors.Is(err, ErrWatched) || !strings.Contains(err.Error(), "4711") {
		t.Errorf("a second watch ends with %v", err)
	}
	r.stop()
	if w, err := WatcherOf(o.Dir, time.Now()); w != nil || err != nil {
		t.Errorf("after the end of the watch: %+v, %v", w, err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, watchStateName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state of the watch is left behind: %v", err)
	}
}

// An index that is removed under a watcher is rebuilt before the next check of all files, and
// still has one watcher.
func TestWatchOfAnIndexThatIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		// The promise is about removing an index in use, which Windows refuses.
		t.Skip("on Windows an index that is open cannot be removed")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	o.times = usualTimes
	o.times.rescan, o.times.release = time.Hour, 10*time.Millisecond
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	// The watcher may be writing to it.
	r.wait("the index is gone", func() bool { return os.RemoveAll(o.Dir) == nil })
	r.current()
	r.wait("the lock is back", func() bool {
		w, err := WatcherOf(o.Dir, time.Now())
		return err == nil && w != nil && w.PID == 1
	})
}

// Where watching a directory opens its files, the watcher gives up watching when files
// run out, and polls with what it gets back.
func TestWatchWithoutDescriptors(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	n := newFakeNotifier()
	o := testOptions(t, root)
	o.notify = func() (notifier, error) { return n, nil }
	o.times = usualTimes
	o.times.poll = 20 * time.Millisecond
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	n.errors <- &os.PathError{Op: "open", Path: "b.jsonl", Err: syscall.EMFILE}
	told := r.waitTold(WatchPolling, 1)
	if !strings.Contains(told[0].Err.Error(), "too many open files") {
		t.Errorf("why it polls: %v", told[0].Err)
	}
	n.mu.Lock()
	if !n.closed {
		t.Error("the notifier keeps its files")
	}
	n.mu.Unlock()
	write(t, filepath.Join(root, "b.jsonl"), 3)
	r.waitTold(WatchUpdated, 1)
	r.current()
}

// In the agent directory only sessions matter, whatever is written there.
func TestWatchOfAnAgentDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sessions", "p", "a.jsonl"), 2)
	o := testOptions(t, dir)
	w := newWatcher(o)
	w.notifier = newFakeNotifier()
	w.look(hints{verify: true})
	for _, test := range []struct {
		name string
		op   fsnotify.Op
		want bool
	}{
		{"auth.json", fsnotify.Write, false},
		{"auth.json", fsnotify.Create, false},
		{"auth.json.lock", fsnotify.Create, false},
		{"sessions", fsnotify.Rename, true},
		{"subagent-sessions", fsnotify.Create, true},
		{"old.jsonl", fsnotify.Create, true},
		{"sessions/p/a.jsonl", fsnotify.Write, true},
		{"sessions/p/b.jsonl", fsnotify.Create, true},
		{"sessions/p/note.txt", fsnotify.Write, false},
		{"sessions/q", fsnotify.Create, true},
		{"sessions/p", fsnotify.Chmod, true},
	} {
		w.schedule.hints = hints{}
		got := w.note(fsnotify.Event{Name: filepath.Join(dir, filepath.FromSlash(test.name)), Op: test.op})
		h := w.schedule.hints
		if got != test.want || got != (h.all || len(h.files) > 0) {
			t.Errorf("note(%s %s) = %v, want %v; hints %+v", test.op, test.name, got, test.want, h)
		}
	}
	// Another program keeps writing a file that is not a session.
	path := filepath.Join(dir, "log.jsonl")
	looks := 0
	for range 100 {
		if w.note(fsnotify.Event{Name: path, Op: fsnotify.Write}) {
			looks++
		}
	}
	if looks != maxFalseAlarms {
		t.Errorf("writing to a file that is no session makes for %d looks, want %d", looks, maxFalseAlarms)
	}
}

// A watcher that an update has left behind does not rebuild the index of the newer version:
// it ends. Nor does any process that lives on; a command does, as its user may have gone
// back to this version.
func TestIndexOfANewerVersion(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "a.jsonl")
	write(t, file, 2)
	o := testOptions(t, root)
	o.times = usualTimes
	o.times.rescan, o.times.release = time.Hour, 10*time.Millisecond
	ended := make(chan error, 1)
	ready := make(chan struct{}, 1)
	o.Tell = func(e WatchEvent) {
		if e.Kind == WatchReady {
			ready <- struct{}{}
		}
	}
	go func() { ended <- Watch(t.Context(), o) }()
	<-ready

	manifest := newestManifest(t, o.Dir)
	newer := fmt.Appendf(nil, "pigrep index %d\nwhatever it says then\n", index.SchemaVersion+1)
	if err := os.WriteFile(manifest, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, file, 3)
	if err := <-ended; !errors.Is(err, index.ErrNewer) {
		t.Errorf("watch ended with %v, want ErrNewer", err)
	}
	if w, err := WatcherOf(o.Dir, time.Now()); w != nil || err != nil {
		t.Errorf("the watcher left %+v, %v", w, err)
	}

	stays := o.Options
	stays.Stays, stays.Memory = true, true
	if res, err := Update(t.Context(), stays); !errors.Is(err, index.ErrNewer) || res.Reader != nil {
		t.Errorf("a process that lives on updates with error %v, want ErrNewer", err)
	}
	if left, err := os.ReadFile(manifest); err != nil || !bytes.Equal(left, newer) {
		t.Errorf("the newer index was changed: %q, %v", left, err)
	}

	res, err := Update(t.Context(), o.Options)
	if err != nil || !res.Complete() || res.Rebuilt == "" {
		t.Fatalf("a command: %v, complete %t, rebuilt because %q", err, res.Complete(), res.Rebuilt)
	}
	res.Reader.Close()
}

// newestManifest returns the path of the manifest of the newest generation.
func newestManifest(t *testing.T, dir string) string {
	t.Helper()
	id, err := index.Newest(dir)
	if err != nil || id.Number == 0 {
		t.Fatalf("newest generation %d, %v", id.Number, err)
	}
	return filepath.Join(dir, fmt.Sprintf("gen-%06d", id.Number), "manifest")
}

// What changes is not left to a watcher of another version, which could not write it.
func TestWatcherOfAnotherVersion(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for schema, does := range map[uint64]bool{0: false, index.SchemaVersion - 1: false, index.SchemaVersion: true, index.SchemaVersion + 1: false} {
		w := &Watcher{PID: 1, Beat: now, IndexSchema: schema}
		if w.does(Lag{}, now) != does {
			t.Errorf("an update is left to a watcher of version %d: %t", schema, !does)
		}
	}
}
