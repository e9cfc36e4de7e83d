// Package entry answers: what does this entry of a session file say now, and is it
// still the one that was indexed? Its central type is Reader, the only code that reads
// entries of session files again: Read takes a Ref, which says where the entry is, and
// an Identity, which says what must be true of it, and fails with ErrChanged if the
// file has no such entry any more. A Conversation reads the entries of one session
// along its tree, for showing it.
//
// It may import adapter and what is below it. It never opens a file itself: a Source
// does, which the caller provides.
package entry
