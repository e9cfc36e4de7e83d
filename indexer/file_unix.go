//go:build linux || darwin

package indexer

import (
	"io/fs"
	"os"
	"syscall"
)

// identity returns the id that all names of a real file share.
func identity(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, true
}

// openFile opens a file for reading. If a pipe has replaced the file, it does not
// wait for a writer.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
