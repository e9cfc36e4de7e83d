// Package entry answers: what does this entry of a session file say now, and is it
// still the one that was indexed? Its central type is Reader, the only code that reads
// entries of session files again. Read takes a Ref, the position of the entry, and an
// Identity, which the entry must have. It fails with ErrChanged if the file no longer has
// that entry. A Conversation reads the entries of one session along its tree, for showing
// it.
//
// It may import adapter and what is below it. It never opens a file itself: a Source
// does, which the caller provides.
package entry
