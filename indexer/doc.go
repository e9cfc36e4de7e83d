// Package indexer keeps an index equal to the session files.
//
//	roots ── Discover ──► files ── decide ──► plan ── workers ──► batches ──► index
//	                                  ▲                              │
//	                     checkpoints of the index ◄──────────────────┘
//
// Invariants:
//   - The documents of a file, its session record and its checkpoint must go
//     into one batch; a checkpoint must never claim more than the documents contain.
//   - A checkpoint must be at the end of a complete line. A last line without a
//     newline is searchable if it is complete JSON, and is read again.
//   - A file counts as unchanged only if size, times and inode say so, or the
//     hashes of its bytes do.
//   - Session files must only be opened for reading, and never be written, moved or
//     deleted.
package indexer
