package indexer

import (
	"io/fs"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// changeTime returns when the inode last changed, in nanoseconds; 0 if unknown.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// localFileSystems are those whose changes all come from this system, and are reported:
// not network file systems, nor those in layers.
var localFileSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
	0x2fc12fc1, // ZFS
}

// reportsChanges reports whether every change in a directory causes an event.
func reportsChanges(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && slices.Contains(localFileSystems, int64(st.Type))
}
