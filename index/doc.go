// Package index is the store of pigrep. It keeps documents, session records and
// checkpoints, and publishes them as immutable generations. Its central types are
// Writer, which commits Batches, and Reader, which reads one generation.
//
//	Batch ── Commit ──> a generation ── Publish ──> current ── Open ──> Reader
//	  any goroutine       on disk                     readers find it
//
// What lies in an index directory and what must hold is in docs/index-format.md.
// The encodings are in the packages below: index/segment has the documents,
// index/record the session records, facts and the table of summaries, index/analysis
// the terms of a text, index/format what they share. Of these this package knows
// names, sizes and hashes only. Of the engine it uses the merge planner.
//
// # What must hold
//
//   - The documents of a file, its record and its summary (which has the checkpoint)
//     must be committed in one generation.
//   - A commit must be on disk before Commit returns.
//   - A generation must be complete and on disk before current names it.
//   - A reader must never wait for a writer, nor take its lock.
//   - Nothing that is read from disk may be trusted: whatever makes no sense is
//     ErrDamaged, a panic or a memory fault while reading it included.
//   - A directory of another SchemaVersion must be left as it is until the caller
//     asks for a rebuild.
package index

import "pigrep/index/format"

// SchemaVersion is the version of everything in an index.
const SchemaVersion = format.SchemaVersion
