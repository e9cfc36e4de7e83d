// Package files has the file operations that differ between systems: locks, replacing
// files, writing where the user says, syncing directories, detecting a full disk. Code for
// one system is in a file named after it.
package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// Lock is a lock file that this process holds. The system releases it when the
// process dies.
type Lock struct{ file *flock.Flock }

// TryLock locks a file in a directory, and creates it if it is missing, readable only by
// its owner. It returns nil if another process holds the lock. It fails with
// fs.ErrNotExist if the path of the directory leads to another one by now. On some systems
// no other process can read the first byte of a locked file.
func TryLock(dir *os.Root, name string) (*Lock, error) {
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	want, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir.Name(), name), flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryLock()
	if err != nil || !ok {
		return nil, errors.Join(err, l.Close())
	}
	if got, err := l.Stat(); err != nil || !os.SameFile(got, want) {
		return nil, errors.Join(err, l.Close(), &fs.PathError{Op: "lock", Path: l.Path(), Err: fs.ErrNotExist})
	}
	return &Lock{l}, nil
}

// Unlock releases the lock. It keeps the file: another process may be waiting for
// it.
func (l *Lock) Unlock() error { return l.file.Close() }

// Locked reports whether a process holds the lock file. Several processes may check at
// the same time.
func Locked(path string) (bool, error) {
	if regular(path) != nil {
		return false, nil
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free, errors.Join(err, l.Close())
}

// Open opens a regular file for reading. Anything else counts as missing: opening a named
// pipe would block.
func Open(path string) (*os.File, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFile reads a regular file that other processes replace.
func ReadFile(path string) ([]byte, error) {
	if err := regular(path); err != nil {
		return nil, err
	}
	return readFile(path)
}

// mostSettings is how long a file may be that ReadSettings reads.
const mostSettings = 16 << 20

// ReadSettings reads a regular file that may be in a repository of somebody else, and so of any size.
func ReadSettings(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostSettings+1))
	if err == nil && len(data) > mostSettings {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is larger than 16 MiB")}
	}
	return data, err
}

func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return nil
}

// NoSpace reports whether an error says that a disk is full. Some libraries keep only
// the text of the error.
func NoSpace(err error) bool {
	return slices.ContainsFunc(noSpace, func(full error) bool { return strings.Contains(err.Error(), full.Error()) })
}

// ReadOnly reports whether an error says that a file system cannot be written.
func ReadOnly(err error) bool { return errors.Is(err, readOnly) }

// Replace replaces or creates the file with the output of write, and syncs it. It is
// atomic.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	name := filepath.Base(path)
	name = strings.ToValidUTF8(name[:min(len(name), 200)], "") // file systems take 255 bytes
	f, err := os.CreateTemp(filepath.Dir(path), "."+name+"-*")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: path, Err: e.Err} // the temporary name means nothing to people
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

// Private makes a directory that nobody but this user can open, unless it is there. A directory of another
// user is refused.
func Private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || isForeign(info) || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0) {
		err = &fs.PathError{Op: "use", Path: dir, Err: fs.ErrPermission}
	}
	return err
}

// DirsIn returns the names of the directories in a directory, and of the links there; nil if it cannot be listed.
func DirsIn(dir string) (names []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			names = append(names, e.Name())
		}
	}
	return names
}

// RealPath returns a path without symbolic links; "" if one of them leads nowhere. Elements at the end
// of the path that do not exist stay as they are.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if _, err := os.Lstat(path); err == nil {
		return ""
	}
	above := filepath.Dir(path)
	if above == path {
		return path
	}
	if above = RealPath(above); above == "" {
		return ""
	}
	return filepath.Join(above, filepath.Base(path))
}
