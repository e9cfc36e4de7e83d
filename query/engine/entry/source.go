package entry

import (
	"io"
	"time"
)

// Source opens session files for reading.
type Source interface {
	Open(path string) (File, error)
}

// File is an open session file.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64        // when it was opened
	ModTime() time.Time // the time of entries that have none
}
