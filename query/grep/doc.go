// Package grep answers: which lines of which parts does a regular expression match?
// It finds all of them and nothing else. The index only says where not to look:
//
//	patterns ── required literals ──▶ terms ──▶ documents ──▶ entries, read again ─┐
//	                                                                               ├─▶ parts ─▶ lines
//	what is not indexed, or all files when no literal is required ── scan ─────────┘
//
// Patterns are matched by an automaton of each worker; together their states take a bounded
// number of bytes. Files are read by several goroutines, and their matches are emitted in the order of
// paths, offsets and parts. Entries whose raw JSON shows that they cannot match are
// not decoded.
//
// Run is the entry point; a Request says what to find. The package may import filter,
// entry and literal, which compiles the expression, and what is below them. A search
// never imports it.
package grep
