// Package record holds the encodings of what the index keeps of a session file
// beside its documents: its Summary (in the Table of all files), its record with the
// tree of entries (Outline decodes those as they are asked for), and its facts
// (FactSet). For each encoding there is a function that writes it and one that reads
// it, and its layout is described above them.
//
// The package knows bytes, not where they are stored. It may import index/format and
// internal/session only. Whatever bytes it is given, it returns a value or an error
// that wraps format.ErrDamaged or format.ErrVersion; it neither panics nor allocates
// more than the bytes account for.
package record
