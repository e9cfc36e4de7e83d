//go:build unix && !linux

package program

import "syscall"

// unprivileged makes a process obey the permissions of files although root starts
// it.
func unprivileged() *syscall.SysProcAttr {
	const nobody = 65534
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}
