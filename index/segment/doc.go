// Package segment says which documents contain a term. Only this package reads and writes
// segment files. They are zap files, version 17, the format of the engine (Bleve), so the
// engine's own code opens and merges them. Its central types are Accumulator, which builds
// the bytes of a segment from documents, and Segment, which is an open file.
//
//	Accumulator ── Build ──> Image ── WriteTo ──> a file ── Open ──> Segment
//	  one goroutine each       checked                                 └── Merge of several
//
// Each structure in a segment has a file here, with its layout, the code that
// writes it and the code that reads it, in that order:
//
//	stored.go      document number to id and stored value
//	postings.go    term to documents, frequencies and lengths
//	dictionary.go  field to terms, and each term to its postings
//	docvalues.go   document number to the terms of a field
//	adjacency.go   document number to the pairs of words that may follow each other
//	fieldindex.go  field name to its dictionary and doc values
//	file.go        the checksums of blocks, the footer
//
// A segment has these parts, in this order. Fields are in the order of their names, except
// _id, which is first:
//
//	stored values, their index
//	for each field: postings of its terms, dictionary, doc values, header
//	adjacency filters, which the engine ignores
//	field index
//	table of checksums, which the engine ignores
//	footer
//
// Documents are numbered from 0. An address counts from the first byte of the
// segment. A varint is an unsigned LEB128; every other number is big endian unless
// its layout says otherwise. All segments have the same fields, so that the engine
// can copy bytes when it merges.
//
// Everything is read in place from the mapped file. Before any byte of a block of 4 KiB
// is used, body.check compares the block with its checksum, once for all references to
// a file. So whatever happened to the file, callers get what was written, or an error
// that wraps format.ErrDamaged. Bounds are checked all the same, and panics and faults
// become errors (format.Contain), because a file can be cut while it is mapped. Merge reads
// in the same way, so damage is never copied.
//
// The package may import index/analysis, index/format, internal/files and
// internal/session.
package segment
