package indexer

import (
	"io/fs"
	"syscall"
)

// changeTime returns when the inode last changed, in nanoseconds; 0 if unknown.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
