package index

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pigrep/internal/files"
)

// WriterPID returns the pid of the process that writes the index in the
// directory; 0 when there is none. A writer that hides its pid is -1.
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

// pidIn returns the pid that a lock file names, 0 when it names none.
func pidIn(path string) int {
	var pid int
	if f, err := os.Open(path); err == nil {
		var b [20]byte
		n, _ := f.ReadAt(b[:], 1)
		_, _ = fmt.Sscanf(string(b[:n]), "%d", &pid)
		_ = f.Close()
	}
	return pid
}

// Generations returns how many generations are on disk up to the reader's, and when
// the newest was published.
func (r *Reader) Generations() (count int, newest time.Time, err error) {
	numbers, _, err := generations(r.dir)
	if err != nil {
		return 0, newest, err
	}
	for _, n := range numbers {
		if n <= r.generation.number {
			count++
		}
	}
	info, err := os.Stat(filepath.Join(r.dir, currentName))
	if err != nil {
		return count, newest, err
	}
	return count, info.ModTime(), nil
}
