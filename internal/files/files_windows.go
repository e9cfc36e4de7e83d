package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sharingViolation is the error for a file that another process has open.
const sharingViolation = syscall.Errno(32)

// Rename renames a file or directory, and replaces a file that has the new name.
// Neither can be renamed or replaced while a process, such as a virus scanner, has it
// open, so Rename retries for a while.
func Rename(from, to string) error {
	return retried(func() error { return os.Rename(from, to) })
}

func OpenNow(path string) (*os.File, error) { return os.Open(path) }

// RenameIn is Rename within a directory.
func RenameIn(dir *os.Root, from, to string) error {
	return retried(func() error { return dir.Rename(from, to) })
}

// readFile retries for a while, because a file cannot be opened at the moment when it is
// replaced.
func readFile(path string) (data []byte, err error) {
	err = retried(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	return data, err
}

// retried repeats what fails because another process uses a file, for half a second.
func retried(do func() error) error {
	const tries = 10
	for try := range tries {
		err := do()
		if !errors.Is(err, sharingViolation) && !errors.Is(err, syscall.ERROR_ACCESS_DENIED) || try == tries-1 {
			return err
		}
		time.Sleep(time.Millisecond << try)
	}
	return nil
}

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }

// readOnly is the error of a write-protected medium, ERROR_WRITE_PROTECT.
const readOnly = syscall.Errno(19)

// noSpace lists the errors of a full disk or an exceeded quota:
// ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL and ERROR_DISK_QUOTA_EXCEEDED.
var noSpace = []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}

// devicePrefix begins the paths of devices.
const devicePrefix = `\\.\`

// device returns the path of the device that a path names, such as C:\x\NUL, "" for none.
func device(path string) string {
	if strings.HasPrefix(path, devicePrefix) {
		return path
	}
	base := filepath.Base(path)
	if strings.ContainsAny(base, `:\`) || filepath.IsLocal(base) {
		return ""
	}
	name, _, _ := strings.Cut(base, ".")
	return devicePrefix + strings.TrimRight(name, " ")
}

func namesStream(path string) bool { return device(path) != "" }

func openStream(path string) (*os.File, error) {
	if d := device(path); d != "" {
		path = d
	}
	return os.OpenFile(path, os.O_WRONLY, 0)
}

// A file that is created belongs to its creator, and access to it is inherited from the
// directory.
func isForeign(fs.FileInfo) bool            { return false }
func keepOwner(*os.File, fs.FileInfo) error { return nil }
