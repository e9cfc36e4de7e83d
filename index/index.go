// Package index says what is in the newest generation of an index. It stores documents,
// session records and checkpoints, and publishes them as immutable generations. Its
// central types are Writer, which commits Batches, and Reader, which reads one generation.
//
//	Batch ── Commit ──> a generation ── Publish ──> current ── Open ──> Reader
//	  any goroutine       on disk                     readers find it
//
// docs/index-format.md describes the index directory and its invariants. The encodings
// are in the packages below: index/segment has the documents, index/record the session
// records, facts and the table of summaries, index/analysis the terms of a text, and
// index/format what they have in common. This package knows only names, sizes and hashes
// of files. It uses the engine's merge planner.
//
// # Invariants
//
//   - The documents of a file, its record and its summary (which has the checkpoint)
//     must be committed in one generation.
//   - A commit must be on disk before Commit returns.
//   - A generation must be complete and on disk before current names it.
//   - A reader must never wait for a writer, nor take its lock.
//   - Nothing that is read from disk may be trusted: invalid data is ErrDamaged, and so is
//     a panic or a memory fault while reading it.
//   - A directory of another SchemaVersion must not be changed until the caller asks for
//     a rebuild.
package index

import (
	"errors"

	"pigrep/index/format"
	"pigrep/index/layout"
)

// SchemaVersion is the version of everything in an index.
const SchemaVersion = format.SchemaVersion

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
