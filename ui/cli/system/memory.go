package system

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory is what limits leave to this process.
type Memory struct {
	Limit int64  // bytes; 0 for no limit
	Left  int64  // bytes of Limit that the process does not use yet
	What  string // what is limited, and by what, for people
	From  string
	Hard  bool // the runtime ends the process where it gets no more
	Space bool // mapped files count
}

// lower returns the memory that leaves less. One without a limit leaves most.
func (m Memory) lower(other Memory) Memory {
	if other.Limit > 0 && (m.Limit == 0 || other.Left < m.Left) {
		return other
	}
	return m
}

// cgroupMemory returns the lowest memory limit of the control groups of this process and
// of their parents, 0 for none. root is the root directory of the system. What is absent
// or cannot be understood limits nothing.
func cgroupMemory(root fs.FS) int64 {
	lowest := int64(math.MaxInt64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		dir, files := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
		switch {
		case fields[0] == "0" && fields[1] == "":
		case hasController(fields[1], "memory"):
			dir, files = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		default:
			continue
		}
		// Within a container the group may have a path that is only valid outside.
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			for _, name := range files {
				lowest = min(lowest, readLimit(root, path.Join(dir, group, name)))
			}
			if group == "/" {
				break
			}
		}
	}
	if lowest >= unlimited {
		return 0
	}
	return lowest
}

// unlimited is a limit that is none: version 1 writes the largest number of whole pages.
const unlimited = 1 << 60

func hasController(list, name string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// readLimit reads a file with a number of bytes.
func readLimit(root fs.FS, name string) int64 {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return unlimited
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n <= 0 {
		return unlimited
	}
	return n
}
