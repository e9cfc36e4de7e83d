//go:build unix

package cli

import "syscall"

// privateFiles makes whatever the process creates its owner's alone from the
// first moment, also what the engine creates by itself and nobody can change
// the mode of before it is filled. It replaces the umask, which may also be one
// that keeps the owner out.
func privateFiles() { syscall.Umask(0o077) }
