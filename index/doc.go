// Package index is the store of pigrep and the only package that opens the
// engine (Bleve's scorch). It keeps documents, session records and checkpoints,
// and publishes them as immutable generations.
//
// # Layout of an index directory
//
//	lock         held by the one writer for as long as it lives; its pid is in it, for messages
//	live/        the writer's own state; no reader ever opens it
//	gen-000012/  a generation: a consistent copy of live/ that never changes again,
//	             its segments hard links where the file system has them, and a manifest
//	current      the number of the newest generation, with a checksum
//
// Directories are 0700 and files 0600, whatever the umask.
//
// # What must hold
//
//   - The documents of a file, its record and its summary (which holds the
//     checkpoint) must be committed in one batch of the engine, which is atomic.
//   - A commit must be on disk before Commit returns.
//   - A generation must be complete and on disk before current names it.
//   - A reader must never wait for a writer, nor take its lock.
//   - Nothing that is read from disk may be trusted: every failure to make sense
//     of it is ErrDamaged, a panic or a memory fault inside the engine included.
//   - A directory that is not of this SchemaVersion must be left as it is until
//     the caller asks for a rebuild.
package index
