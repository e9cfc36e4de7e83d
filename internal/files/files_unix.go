//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Rename renames a file or directory, and replaces a file that has the new name.
func Rename(from, to string) error { return os.Rename(from, to) }

// OpenNow opens a file or directory for reading. It does not wait for the writer of a pipe.
func OpenNow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

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

// descriptor returns the number of the open file of this process that a path names, -1 for
// none.
func descriptor(path string) int {
	switch path {
	case "/dev/stdout":
		return 1
	case "/dev/stderr":
		return 2
	}
	dir, name := filepath.Split(path)
	if dir != "/dev/fd/" && dir != "/proc/self/fd/" {
		return -1
	}
	n, err := strconv.ParseUint(name, 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// namesStream reports whether a path names an open file of this process, whatever that is.
func namesStream(path string) bool { return descriptor(path) >= 0 }

// openStream opens what is written into. Open files are duplicated, as shells do: opening
// them by name fails for sockets, and loses the position in files. Those that this process
// opened itself are not meant.
func openStream(path string) (*os.File, error) {
	fd := descriptor(path)
	if fd < 0 {
		return os.OpenFile(path, os.O_WRONLY, 0)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err == nil && flags&unix.FD_CLOEXEC != 0 {
		err = syscall.EBADF
	}
	if err == nil {
		fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}

func isForeign(info fs.FileInfo) bool {
	uid, _, ok := owner(info)
	return ok && uid != os.Geteuid()
}

// keepOwner gives a file the owner of another one, and its group if that is allowed. Some
// file systems give every file the same owner, whoever makes it.
func keepOwner(f *os.File, of fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	had, _, _ := owner(info)
	uid, gid, ok := owner(of)
	if !ok {
		return nil
	}
	if err := f.Chown(uid, gid); err != nil && had != uid {
		return err
	}
	return nil
}
