package indexer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// notifier reports changes in directories, not recursively.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	WatchList() []string
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

type systemNotifier struct{ *fsnotify.Watcher }

func (n systemNotifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n systemNotifier) Errors() <-chan error          { return n.Watcher.Errors }

func newSystemNotifier() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return systemNotifier{w}, nil
}

// opensFiles says that the system's notifier opens every file in a watched directory.
// Directories with other files than sessions are then left to the rescan.
const opensFiles = runtime.GOOS == "darwin" || runtime.GOOS == "freebsd" || runtime.GOOS == "openbsd" ||
	runtime.GOOS == "netbsd" || runtime.GOOS == "dragonfly"

// watched returns the directories to watch: those with sessions, and those in which
// a root may appear, disappear or be replaced.
func (f *Found) watched() map[string]bool {
	dirs := make(map[string]bool, len(f.Dirs)+len(f.Roots))
	for _, d := range f.Dirs {
		dirs[d] = true
	}
	if opensFiles {
		return dirs
	}
	for _, l := range f.layouts {
		dirs[l.path] = true
	}
	for _, r := range f.Roots {
		dir := filepath.Dir(r.Path)
		for {
			if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
		dirs[dir] = true
	}
	return dirs
}

// reconcile makes the notifier watch exactly these directories. It reports whether
// any was added, and why an existing one cannot be watched. Watches below moved
// directories are renewed.
func reconcile(n notifier, want map[string]bool, moved []string) (added bool, err error) {
	have := make(map[string]bool)
	for _, dir := range n.WatchList() {
		if want[dir] && !slices.ContainsFunc(moved, func(m string) bool { return within(dir, m) }) {
			have[dir] = true
			continue
		}
		_ = n.Remove(dir) // it may be gone already
	}
	for dir := range want {
		if have[dir] {
			continue
		}
		switch addErr := n.Add(dir); {
		case addErr == nil:
			added = true
		case errors.Is(addErr, fs.ErrNotExist), errors.Is(addErr, fs.ErrPermission), errors.Is(addErr, syscall.ENOTDIR):
			// Gone or unreadable: its parent reports when that changes.
		default:
			return added, fmt.Errorf("watch %s: %w", dir, limitText(addErr))
		}
	}
	return added, nil
}

// limitText explains the system's errors about limits.
func limitText(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("no watches left (fs.inotify.max_user_watches): %w", err)
	case noDescriptors(err):
		return fmt.Errorf("too many open files or notifiers (ulimit -n): %w", err)
	}
	return err
}

// noDescriptors reports whether an error says that the process, or the system, can open
// no more files.
func noDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
