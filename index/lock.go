package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pigrep/index/layout"
	"pigrep/internal/files"
)

// takeLock takes the lock file, which the system frees when the process dies, and
// writes the pid into it. The first byte is locked; on some systems nobody else can
// read it, so the pid comes after it.
func takeLock(root *os.Root, pid int) (*files.Lock, error) {
	if err := layout.Free(root, lockName, 0); err != nil {
		return nil, err
	}
	lock, err := files.TryLock(root, lockName)
	if err != nil {
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	if lock == nil {
		return nil, lockedError(filepath.Join(root.Name(), lockName))
	}
	f, err := root.OpenFile(lockName, os.O_WRONLY, fileMode)
	if err == nil {
		err = errors.Join(f.Truncate(1), writeAt(f, fmt.Sprintf("%d\n", pid), 1), f.Close(), root.Chmod(lockName, fileMode))
	}
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	return lock, nil
}

func writeAt(f *os.File, s string, at int64) error {
	_, err := f.WriteAt([]byte(s), at)
	return err
}

func lockedError(path string) error {
	if pid := pidIn(path); pid > 0 {
		return fmt.Errorf("%w (pid %d)", ErrLocked, pid)
	}
	return ErrLocked
}

// WriterPID returns the pid of the process that has the index in the directory open for
// writing, 0 if there is none, or -1 if its pid cannot be read.
func WriterPID(dir string) (int, error) {
	path := filepath.Join(dir, lockName)
	locked, err := files.Locked(path)
	if err != nil {
		return 0, fmt.Errorf("look for a writer: %w", err)
	}
	if !locked {
		return 0, nil
	}
	if pid := pidIn(path); pid > 0 {
		return pid, nil
	}
	return -1, nil
}

// LastWriter returns when a process last began to write to the index in the directory.
func LastWriter(dir string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// pidIn returns the pid that a lock file names, 0 when it names none.
func pidIn(path string) int {
	var pid int
	if f, err := files.Open(path); err == nil {
		var b [20]byte
		n, _ := f.ReadAt(b[:], 1)
		_, _ = fmt.Sscanf(string(b[:n]), "%d", &pid)
		_ = f.Close()
	}
	return pid
}
