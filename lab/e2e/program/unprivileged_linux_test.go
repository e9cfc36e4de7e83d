package program

import (
	"os"
	"syscall"
)

// unprivileged makes a process obey the permissions of files although root starts
// it: in a user namespace of its own it owns what root owns, without root's
// capabilities. It stays the same user outside, so it reaches every file that root
// reaches, below a root directory that nobody else may enter too.
func unprivileged() *syscall.SysProcAttr {
	const user = 1000
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
	}
}
