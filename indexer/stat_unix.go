//go:build linux || darwin

package indexer

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// statIn takes the facts of the file of this name in the directory, as setStat
// does, without walking the path to it.
func (f *File) statIn(dir *os.File, name string) error {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &st, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "stat", Path: f.Path, Err: err}
		}
		f.Size, f.Mtime, f.Ctime = st.Size, st.Mtim.Nano(), st.Ctim.Nano()
		f.Dev, f.Inode = uint64(st.Dev), st.Ino
		return nil
	}
}
