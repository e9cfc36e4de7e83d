//go:build linux || darwin

package indexer

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity returns the id that all names of a real file share.
func identity(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, true
}

// statIn is setStat for the named file in an open directory, without resolving its
// path. It returns how many names the file has.
func (f *File) statIn(dir uintptr, name string) (names uint64, err error) {
	var st unix.Stat_t
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Fstatat(int(dir), name, &st, 0)
	}
	if err != nil {
		return 0, &fs.PathError{Op: "stat", Path: f.Path, Err: err}
	}
	f.Size, f.Mtime, f.Ctime = st.Size, st.Mtim.Nano(), st.Ctim.Nano()
	f.Dev, f.Inode = uint64(st.Dev), st.Ino
	return uint64(st.Nlink), nil
}
