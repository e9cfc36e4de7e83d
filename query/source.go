package query

import (
	"io"
	"time"
)

// Source opens session files for reading.
type Source interface {
	Open(path string) (SessionFile, error)
}

// SessionFile is an open session file.
type SessionFile interface {
	io.ReaderAt
	io.Closer
	Size() int64        // when it was opened
	ModTime() time.Time // stands in for the time of an entry that has none
}
