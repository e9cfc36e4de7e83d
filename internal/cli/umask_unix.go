//go:build unix

package cli

import "syscall"

// usersUmask is the umask that the process was started with; -1 before
// privateFiles.
var usersUmask = -1

// privateFiles makes whatever the process creates its owner's alone from the
// first moment, also what the engine creates by itself and nobody can change
// the mode of before it is filled. It replaces the umask, which may also be one
// that keeps the owner out.
func privateFiles() { usersUmask = syscall.Umask(0o077) }

// restoreUmask gives the umask back, for a program that takes the place of this
// one.
func restoreUmask() {
	if usersUmask >= 0 {
		syscall.Umask(usersUmask)
	}
}
