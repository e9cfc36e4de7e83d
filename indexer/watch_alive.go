package indexer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pigrep/internal/files"
)

// A watcher holds the lock watch.lock in the index directory as long as it
// lives, which the system frees when it dies, and about every second writes
// into watch.json how it is. It holds the lock of the index itself only while
// there is something to do. So others see three states: no watcher, one that
// moves, and one that is stuck, whose work they do themselves.
const (
	watchLockName  = "watch.lock"
	watchStateName = "watch.json"
)

const (
	// beatEvery is how often a watcher shows that it moves.
	beatEvery = time.Second
	// patience is how long a watcher may leave a file pending, or not show that
	// it moves, before others take over.
	patience = 3 * time.Second
	// watchLockWait bounds how long a starting watcher waits for those who only
	// look whether there is one.
	watchLockWait = time.Second
)

// ErrWatched says that another process watches for this index; the message
// names its pid.
var ErrWatched = errors.New("the index is being watched by another process")

// Watcher is a watcher as others see it.
type Watcher struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Beat    time.Time `json:"beat"`              // when it showed that it moves
	Scanned time.Time `json:"scanned,omitzero"`  // when it last began to look at all files and could index what it found
	Polling string    `json:"polling,omitempty"` // why it does without events; "" when it does not
	Files   int       `json:"files"`
	Dirs    int       `json:"dirs"` // that are watched
}

// WatcherOf returns the watcher of the index in the directory; nil when none
// lives. It may be stuck.
func WatcherOf(dir string, now time.Time) (*Watcher, error) {
	locked, err := files.Locked(filepath.Join(dir, watchLockName))
	if err != nil {
		return nil, fmt.Errorf("look for a watcher: %w", err)
	}
	if !locked {
		return nil, nil
	}
	w := &Watcher{}
	data, err := os.ReadFile(filepath.Join(dir, watchStateName))
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil // it is just starting
	}
	if err != nil {
		return nil, fmt.Errorf("read how the watcher is: %w", err)
	}
	return w, nil
}

// Stuck reports whether the watcher does not move. The beat of one that does
// lies neither far back nor, but for a clock that was set back, ahead.
func (w *Watcher) Stuck(now time.Time) bool { return now.Sub(w.Beat).Abs() > patience }

// does reports whether what an index lacks can be left to the watcher.
func (w *Watcher) does(lag Lag, now time.Time) bool {
	return w != nil && !w.Stuck(now) && (lag.Since == 0 || now.UnixNano()-lag.Since <= int64(patience))
}

// presence is what others see of this watcher.
type presence struct {
	dir   string
	lock  *files.Lock
	state Watcher
}

// appear takes the lock of the watcher. It fails with ErrWatched when there is
// another.
func (p *presence) appear() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("make the index directory: %w", err)
	}
	path := filepath.Join(p.dir, watchLockName)
	const tries = 20
	for try := 1; ; try++ {
		lock, err := files.TryLock(path)
		if err != nil {
			return fmt.Errorf("lock the index for watching: %w", err)
		}
		if lock != nil {
			p.lock = lock
			return nil
		}
		w, err := WatcherOf(p.dir, time.Time{})
		if err == nil && w != nil && w.PID != 0 {
			return fmt.Errorf("%w (pid %d)", ErrWatched, w.PID)
		}
		if try == tries {
			return ErrWatched
		}
		time.Sleep(watchLockWait / tries)
	}
}

// beat shows that the watcher moves. An index directory that was removed is
// made and locked again.
func (p *presence) beat(now time.Time) error {
	if _, err := os.Stat(filepath.Join(p.dir, watchLockName)); errors.Is(err, fs.ErrNotExist) {
		_ = p.lock.Unlock()
		if err := p.appear(); err != nil {
			return err
		}
	}
	p.state.Beat = now
	data, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	path := filepath.Join(p.dir, watchStateName)
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return files.Rename(temp, path)
}

// leave gives the lock back.
func (p *presence) leave() error {
	err := os.Remove(filepath.Join(p.dir, watchStateName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.lock.Unlock())
}
