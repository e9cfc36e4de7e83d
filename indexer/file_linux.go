package indexer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxName is the length of the longest name of a file, unix.NAME_MAX.
const maxName = 255

// An entry that the system returns: inode, offset and the length of the entry, its type,
// and its name with a zero at the end.
const (
	entryLength = 16
	entryType   = 18
	entryName   = 19
)

// readDir visits the entries of an open directory: their names, which are valid during the
// visit only, and their types. Unlike os.File.ReadDir it makes nothing for each of them.
func readDir(d *os.File, visit func(name []byte, typ fs.FileMode)) error {
	pooled := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(pooled)
	buf := pooled[:]
	fd := int(d.Fd())
	for {
		n, err := unix.ReadDirent(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "readdirent", Path: d.Name(), Err: err}
		}
		if n <= 0 {
			return nil
		}
		for rest := buf[:n]; len(rest) > entryName; {
			length := int(binary.NativeEndian.Uint16(rest[entryLength:]))
			inode, name, typ := binary.NativeEndian.Uint64(rest), rest[entryName:length], rest[entryType]
			rest = rest[length:]
			name = name[:max(0, bytes.IndexByte(name, 0))]
			if inode == 0 || string(name) == "." || string(name) == ".." {
				continue
			}
			if typ == unix.DT_UNKNOWN {
				typ = typeIn(fd, string(name))
			}
			switch typ {
			case unix.DT_REG:
				visit(name, 0)
			case unix.DT_DIR:
				visit(name, fs.ModeDir)
			case unix.DT_LNK:
				visit(name, fs.ModeSymlink)
			}
		}
	}
}

// typeIn returns the type of an entry on a file system that does not list it, DT_UNKNOWN
// if the entry is gone.
func typeIn(dir int, name string) byte {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return unix.DT_UNKNOWN
	}
	return byte(st.Mode & unix.S_IFMT >> 12)
}

// statIn is setStat for the named file in an open directory, without resolving its path
// and without an allocation. It returns how many names the file has.
func (f *File) statIn(dir uintptr, name string) (names uint64, err error) {
	var st unix.Statx_t
	var path [maxName + 1]byte
	copy(path[:maxName], name)
	for {
		_, _, errno := unix.Syscall6(unix.SYS_STATX, dir, uintptr(unsafe.Pointer(&path)), 0, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
		switch errno {
		case 0:
			f.Size, f.Mtime, f.Ctime = int64(st.Size), st.Mtime.Sec*1e9+int64(st.Mtime.Nsec), st.Ctime.Sec*1e9+int64(st.Ctime.Nsec)
			f.Dev, f.Inode = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino
			return uint64(st.Nlink), nil
		case unix.EINTR:
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a container that forbids it
			info, err := os.Stat(f.Path)
			if err != nil {
				return 0, err
			}
			f.setStat(info)
			return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil
		default:
			return 0, &fs.PathError{Op: "stat", Path: f.Path, Err: errno}
		}
	}
}

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

// mountPoints returns the directories at which file systems are mounted.
func mountPoints() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, unescapeMount(fields[4]))
		}
	}
	return list, nil
}

// unescapeMount decodes a path of mountinfo, in which some bytes are \ and three octal
// digits.
func unescapeMount(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b = append(b, byte(n))
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
