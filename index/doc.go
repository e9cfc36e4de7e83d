// Package index is the store of pigrep and the only package that opens the engine
// (segments and merging of Bleve). It keeps documents, session records and
// checkpoints, and publishes them as immutable generations.
//
// # Layout of an index directory
//
//	lock         held by the one writer for as long as it lives; its pid is in it, for messages
//	segments/    what was written by commits and merges; no file changes once a generation names it
//	gen-000012/  a generation, which is made by a commit and never changes again: a manifest of its
//	             segments, which of their documents are deleted, and the summaries of all files
//	current      the number of the newest generation that is published, with a checksum
//
// Directories are 0700 and files 0600, whatever the umask. The generation with the
// highest number is what the next writer goes on from, published or not.
//
// # What must hold
//
//   - The documents of a file, its record and its summary (which holds the
//     checkpoint) must be committed in one generation.
//   - A commit must be on disk before Commit returns.
//   - A generation must be complete and on disk before current names it.
//   - A reader must never wait for a writer, nor take its lock.
//   - Nothing that is read from disk may be trusted: every failure to make sense
//     of it is ErrDamaged, a panic or a memory fault inside the engine included.
//   - A directory that is not of this SchemaVersion must be left as it is until
//     the caller asks for a rebuild.
package index
