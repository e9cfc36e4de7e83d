// Package files does what systems do each in their own way with files: locks,
// putting a file in the place of another, names that are on disk. Whoever needs one of these takes it from here; a body that differs
// is in a file named after the system.
package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// Lock is a lock file that this process holds. The system frees it when the
// process dies.
type Lock struct{ file *flock.Flock }

// TryLock takes the lock file, which is made when it is missing and then is its
// owner's alone; nil when another process holds it. On some systems nobody else
// can read the first byte of a file that is locked.
func TryLock(path string) (*Lock, error) {
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil || !ok {
		return nil, errors.Join(err, l.Close())
	}
	return &Lock{l}, nil
}

// Unlock gives the lock back. The file stays: another process may be waiting for
// it.
func (l *Lock) Unlock() error { return l.file.Close() }

// Locked reports whether a process holds the lock file. Those who look do not
// keep each other from it.
func Locked(path string) (bool, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free, errors.Join(err, l.Close())
}

// NoSpace reports whether an error says that a disk is full. Of some errors only
// the text is left.
func NoSpace(err error) bool {
	return slices.ContainsFunc(noSpace, func(full error) bool { return strings.Contains(err.Error(), full.Error()) })
}

// Replace puts what write writes in the place of the file, or makes it: whole, on
// disk and with this mode, or not at all.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err} // the other name says nothing to anybody
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return Rename(f.Name(), path)
}
