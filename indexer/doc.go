// Package indexer keeps an index equal to the session files.
//
//	roots ── Discover ──► files ── decide ──► plan ── workers ──► batches ──► index
//	                                  ▲                              │
//	                     checkpoints of the index ◄──────────────────┘
//
// What holds at every moment:
//   - The documents of a file, its session record and its checkpoint must go
//     into one batch; a checkpoint never claims more than the documents hold.
//   - A checkpoint must lie at the end of a complete line. A last line without a
//     newline is searchable when it is complete JSON, and is read again.
//   - A file counts as unchanged only if size, times and inode say so, or the
//     hashes of its bytes do.
//   - Session files are opened read-only and never written, moved or deleted.
package indexer
