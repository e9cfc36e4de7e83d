//go:build unix

package indexer

import (
	"io/fs"
	"os"
	"syscall"
)

// identity returns what tells a real file from others that have another name.
func identity(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, true
}

// openFile opens for reading without waiting for a writer, should a pipe have
// taken the file's place.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
