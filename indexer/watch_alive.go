package indexer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pigrep/index"
	"pigrep/index/layout"
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

	IndexSchema uint64 `json:"indexSchema"` // the version of the indexes that it writes; 0: unknown, an early one
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

func (w *Watcher) OtherVersion() bool { return w.IndexSchema != index.SchemaVersion }

// does reports whether the lag of an index can be left to the watcher.
func (w *Watcher) does(lag Lag, now time.Time) bool {
	return w != nil && !w.Stuck(now) && !w.OtherVersion() && (lag.Since == 0 || now.UnixNano()-lag.Since <= int64(patience))
}

// presence is the state of this watcher that other processes can read.
type presence struct {
	dir   string
	root  *os.Root    // of dir, for all writing
	lock  *files.Lock // nil while the watcher has not appeared
	state Watcher
}

// appear claims the index directory and takes the watcher lock. It fails with ErrWatched if
// there is another watcher.
func (p *presence) appear() error {
	root, err := index.Claim(p.dir)
	if err != nil {
		return err
	}
	lock, err := p.takeLock(root)
	if err != nil {
		return errors.Join(err, root.Close())
	}
	p.root, p.lock = root, lock
	return nil
}

func (p *presence) takeLock(root *os.Root) (*files.Lock, error) {
	if err := layout.Free(root, watchLockName, 0); err != nil {
		return nil, err
	}
	const tries = 20
	for try := 1; ; try++ {
		lock, err := files.TryLock(root, watchLockName)
		if err != nil {
			return nil, fmt.Errorf("lock the index for watching: %w", err)
		}
		if lock != nil {
			return lock, nil
		}
		w, err := WatcherOf(p.dir, time.Time{})
		if err == nil && w != nil && w.PID != 0 {
			return nil, fmt.Errorf("%w (pid %d)", ErrWatched, w.PID)
		}
		if try == tries {
			return nil, ErrWatched
		}
		time.Sleep(watchLockWait / tries)
	}
}

// beat shows that the watcher is alive. An index directory that was removed or replaced is
// claimed and locked again.
func (p *presence) beat(now time.Time) error {
	if !p.there() {
		_ = p.release()
		if err := p.appear(); err != nil {
			return err
		}
	}
	p.state.Beat = now
	data, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	return layout.Replace(p.root, watchStateName, func(f *os.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
}

// there reports whether the path of the index leads to the directory with the lock.
func (p *presence) there() bool {
	if p.lock == nil {
		return false
	}
	ours, err := p.root.Stat(watchLockName)
	now, err2 := os.Stat(filepath.Join(p.dir, watchLockName))
	return err == nil && err2 == nil && os.SameFile(ours, now)
}

// leave removes the state and releases the lock.
func (p *presence) leave() error {
	if p.lock == nil {
		return nil
	}
	return errors.Join(layout.Remove(p.root, watchStateName), p.release())
}

func (p *presence) release() error {
	if p.lock == nil {
		return nil
	}
	err := errors.Join(p.root.Close(), p.lock.Unlock())
	p.root, p.lock = nil, nil
	return err
}
