package files

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// sharingViolation is what Windows says of a file that another process has open.
const sharingViolation = syscall.Errno(32)

// Rename gives a file or directory the name to, in the place of a file that has
// it. Neither can be renamed or replaced while somebody has it open, be it to read
// a line or to look for viruses, so it tries for a while.
func Rename(from, to string) error {
	const tries = 10
	for try := range tries {
		err := os.Rename(from, to)
		if !errors.Is(err, sharingViolation) && !errors.Is(err, syscall.ERROR_ACCESS_DENIED) || try == tries-1 {
			return err
		}
		time.Sleep(time.Millisecond << try)
	}
	return nil
}

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }

// noSpace are the errors of a disk that is full, or of which one may use no more:
// ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and ERROR_DISK_QUOTA_EXCEEDED.
var noSpace = []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}
