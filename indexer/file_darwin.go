package indexer

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// statIn is setStat for the named file in an open directory, without resolving its
// path. It returns how many names the file has.
func (f *File) statIn(dir uintptr, name string) (names uint64, err error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir), name, &st, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, &fs.PathError{Op: "stat", Path: f.Path, Err: err}
		}
		f.Size, f.Mtime, f.Ctime = st.Size, st.Mtim.Nano(), st.Ctim.Nano()
		f.Dev, f.Inode = uint64(st.Dev), st.Ino
		return uint64(st.Nlink), nil
	}
}

// changeTime returns when the inode last changed, in nanoseconds; 0 if unknown.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}
