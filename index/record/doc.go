// Package record says how session records, outlines and facts are encoded: everything that
// the index stores about a session file besides its documents. It encodes the Summary (in
// the Table of all files), the record with the tree of entries (Outline decodes entries on
// demand), and the facts (FactSet). Each encoding has a function that writes it and one
// that reads it. Its layout is described above them.
//
// The package knows bytes, not where they are stored. It may import index/format and
// internal/session only. Whatever bytes it is given, it returns a value or an error
// that wraps format.ErrDamaged or format.ErrVersion; it neither panics nor allocates
// more than the bytes account for.
package record
