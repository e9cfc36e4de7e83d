package index

import (
	"errors"

	"pigrep/index/format"
	"pigrep/index/layout"
)

// Errors that callers act on; match them with errors.Is.
var (
	// ErrNoIndex reports a directory without a published generation.
	ErrNoIndex = errors.New("no index")
	// ErrForeign reports a directory that is not empty and has no index.
	ErrForeign = errors.New("is not empty and is no index of pigrep")
	// ErrInTheWay reports that something which pigrep did not make has a name that it
	// needs; the message has the path.
	ErrInTheWay = layout.ErrInTheWay
	// ErrVersion reports an index of another SchemaVersion. It has to be rebuilt.
	ErrVersion = format.ErrVersion
	// ErrNewer reports an index of a later SchemaVersion, which a newer program has made. It
	// is also an ErrVersion.
	ErrNewer = format.ErrNewer
	// ErrDamaged reports that the index differs from what was written. It has to be
	// rebuilt.
	ErrDamaged = format.ErrDamaged
	// ErrLocked reports that another process is writing; the message names its pid.
	ErrLocked = errors.New("the index is being updated by another process")
	// ErrFull reports that there is no space left for the index.
	ErrFull = errors.New("no space left on the disk of the index")
	// ErrClosed reports that the writer was closed, or that an earlier commit failed.
	// The last successful commit is on disk.
	ErrClosed = errors.New("the index writer is closed")
)
