//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// Rename renames a file or directory, and replaces a file that has the new name.
func Rename(from, to string) error { return os.Rename(from, to) }

// RenameIn is Rename within a directory.
func RenameIn(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

func readFile(path string) ([]byte, error) { return os.ReadFile(path) }

// SyncDir waits until the names in a directory are on disk.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readOnly is the error of a file system that is mounted read-only.
const readOnly = syscall.EROFS

// noSpace lists the errors of a full disk or an exceeded quota.
var noSpace = []error{syscall.ENOSPC, syscall.EDQUOT}
