package system

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// MemoryLimit returns the limit that leaves this process the least memory: of its address space,
// its data, or its control groups.
func MemoryLimit() Memory {
	root := os.DirFS("/")
	size, data := usedMemory(root)
	group := cgroupMemory(root)
	return Memory{Limit: group, Left: group, What: "memory", From: "control group"}.
		lower(resourceLimit(unix.RLIMIT_DATA, data, Memory{What: "data segment", From: "ulimit -d", Hard: true})).
		lower(resourceLimit(unix.RLIMIT_AS, size, Memory{What: "address space", From: "ulimit -v", Hard: true, Space: true}))
}

// resourceLimit completes m with what a limit leaves to a process that uses so many bytes
// of it.
func resourceLimit(resource int, used int64, m Memory) Memory {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil || r.Cur >= unlimited {
		return Memory{}
	}
	m.Limit, m.Left = int64(r.Cur), max(0, int64(r.Cur)-used)
	return m
}

// usedMemory returns the sizes in bytes of the address space and of the data of this process.
func usedMemory(root fs.FS) (size, data int64) {
	statm, err := fs.ReadFile(root, "proc/self/statm")
	if err != nil {
		return 0, 0
	}
	var resident, shared, text, library int64
	if _, err := fmt.Sscan(string(statm), &size, &resident, &shared, &text, &library, &data); err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return size * page, data * page
}
