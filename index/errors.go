package index

import (
	"errors"

	"pigrep/index/format"
)

// Errors that callers act on; all are matched with errors.Is.
var (
	// ErrNoIndex says that the directory holds no published generation.
	ErrNoIndex = errors.New("no index")
	// ErrVersion says that the index was written with another SchemaVersion;
	// it has to be rebuilt.
	ErrVersion = format.ErrVersion
	// ErrDamaged says that something in the index is not as it was written;
	// it has to be rebuilt.
	ErrDamaged = format.ErrDamaged
	// ErrLocked says that another process is writing; the message names its pid.
	ErrLocked = errors.New("the index is being updated by another process")
	// ErrFull says that there is no space left for the index.
	ErrFull = errors.New("no space left on the disk of the index")
	// ErrClosed says that the writer was closed, or that an earlier commit
	// failed and what is on disk is the last commit that did not.
	ErrClosed = errors.New("the index writer is closed")
)
