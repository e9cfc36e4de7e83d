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

// A watcher holds the lock watch.lock in the index directory while it runs; the
// system releases it when the process dies. About every second the watcher writes its
// state to watch.json. It holds the lock of the index only while there is something to
// do. Other processes thus see no watcher, a live one, or a stuck one, whose work they
// do themselves.
const (
	watchLockName  = "watch.lock"
	watchStateName = "watch.json"
)

const (
	// beatEvery is how often a watcher shows that it is alive.
	beatEvery = time.Second
	// patience is how long a watcher may leave a file pending, or show no sign
	// of life, before others take over.
	patience = 3 * time.Second
	// watchLockWait bounds how long a starting watcher waits for processes that
	// only check for a watcher.
	watchLockWait = time.Second
)

// ErrWatched says that another process watches for this index. The message includes
// its pid.
var ErrWatched = errors.New("the index is being watched by another process")

// Watcher is the state of a watcher as other processes see it.
type Watcher struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Beat    time.Time `json:"beat"`              // its last sign of life
	Scanned time.Time `json:"scanned,omitzero"`  // start of its last successful check of all files
	Polling string    `json:"polling,omitempty"` // why it polls; "" if it does not
	Files   int       `json:"files"`
	Dirs    int       `json:"dirs"` // number of watched directories
}

// WatcherOf returns the watcher of the index in the directory, nil if none is alive.
// It may be stuck.
func WatcherOf(dir string, now time.Time) (*Watcher, error) {
	locked, err := files.Locked(filepath.Join(dir, watchLockName))
	if err != nil {
		return nil, fmt.Errorf("look for a watcher: %w", err)
	}
	if !locked {
		return nil, nil
	}
	w := &Watcher{}
	data, err := files.ReadFile(filepath.Join(dir, watchStateName))
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

// Stuck reports whether the watcher shows no sign of life: its beat is far in the
// past, or in the future, as after the clock was set back.
func (w *Watcher) Stuck(now time.Time) bool { return now.Sub(w.Beat).Abs() > patience }

// does reports whether the lag of an index can be left to the watcher.
func (w *Watcher) does(lag Lag, now time.Time) bool {
	return w != nil && !w.Stuck(now) && (lag.Since == 0 || now.UnixNano()-lag.Since <= int64(patience))
}

// presence is the state of this watcher that other processes can read.
type presence struct {
	dir   string
	lock  *files.Lock
	state Watcher
}

// appear takes the watcher lock. It fails with ErrWatched if there is another
// watcher.
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

// beat shows that the watcher is alive. A removed index directory is created and
// locked again.
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

// leave releases the lock.
func (p *presence) leave() error {
	err := os.Remove(filepath.Join(p.dir, watchStateName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.lock.Unlock())
}
