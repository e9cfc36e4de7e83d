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

import "pigrep/index/format"

// SchemaVersion is the version of everything in an index.
const SchemaVersion = format.SchemaVersion
