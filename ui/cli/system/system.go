// Package system has what differs between operating systems and desktops: processes,
// sockets, the clipboard, the time zone. It knows nothing of pigrep.
package system

import (
	"errors"
	"io"
	"syscall"
)

// IsClosedPipe reports whether an error means that the reader of our output is gone.
func IsClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isOwnClosedPipe(err)
}

// NotFound is the exit code of a shell that cannot find a command.
const NotFound = 127
