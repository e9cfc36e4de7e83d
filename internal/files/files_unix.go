//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// Rename gives a file or directory the name to, in the place of a file that has
// it.
func Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir waits until the names in a directory are on disk.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// noSpace are the errors of a disk that is full, or of which one may use no more.
var noSpace = []error{syscall.ENOSPC, syscall.EDQUOT}
