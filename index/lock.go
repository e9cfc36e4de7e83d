package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pigrep/index/layout"
	"pigrep/internal/files"
)

// The lock file has the pid of the last writer on its first line, and what that announced on
// its second. The first byte is locked; on some systems nobody else can read it, so the pid
// comes after it.

// takeLock takes the lock file, which the system frees when the process dies, and
// writes the pid into it. The announcement stays.
func takeLock(root *os.Root, pid int) (*files.Lock, error) {
	if err := layout.Free(root, lockName, 0); err != nil {
		return nil, err
	}
	lock, err := files.TryLock(root, lockName)
	if err != nil {
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	if lock == nil {
		if pid, _ := readLock(filepath.Join(root.Name(), lockName)); pid > 0 {
			return nil, fmt.Errorf("%w (pid %d)", ErrLocked, pid)
		}
		return nil, ErrLocked
	}
	f, err := root.OpenFile(lockName, os.O_RDWR, fileMode)
	if err == nil {
		_, said := linesOf(f)
		err = errors.Join(writeLines(f, pid, said), f.Close(), root.Chmod(lockName, fileMode))
	}
	if err != nil {
		_ = lock.Unlock()
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	return lock, nil
}

// mostAnnounced bounds the length of an announcement.
const mostAnnounced = 1 << 10

// writeLines writes both lines at once, so that nobody reads one without the other.
func writeLines(f *os.File, pid int, said string) error {
	lines := fmt.Sprintf("%d\n%s\n", pid, said)
	_, err := f.WriteAt([]byte(lines), 1)
	return errors.Join(err, f.Truncate(int64(1+len(lines))))
}

// linesOf returns the pid that a lock file names, 0 when it names none, and the announcement.
func linesOf(f *os.File) (pid int, said string) {
	b := make([]byte, mostAnnounced)
	n, _ := f.ReadAt(b, 1)
	first, rest, _ := strings.Cut(string(b[:n]), "\n")
	said, _, _ = strings.Cut(rest, "\n")
	pid, _ = strconv.Atoi(first)
	return pid, said
}

// Announcement returns what the last writer of the index in the directory announced, "" if
// nothing.
func Announcement(dir string) string {
	_, said := readLock(filepath.Join(dir, lockName))
	return said
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
	if pid, _ := readLock(path); pid > 0 {
		return pid, nil
	}
	return -1, nil
}

// LastWriter returns when a process last began to write to the index in the directory, or
// announced something.
func LastWriter(dir string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(dir, lockName))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func readLock(path string) (pid int, said string) {
	if f, err := files.Open(path); err == nil {
		pid, said = linesOf(f)
		_ = f.Close()
	}
	return pid, said
}
