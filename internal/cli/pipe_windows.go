package cli

import (
	"errors"
	"syscall"
)

// errorNoData is what Windows says when the reader of a pipe is closing it.
const errorNoData = syscall.Errno(232)

func isSystemClosedPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errorNoData)
}
