// Package fix answers: where did this error occur before, and what made it go away?
// Find is the central function. It works in four steps:
//
//	newSignature   the pasted error becomes lines of words, without what differs between two occurrences
//	candidates     a search for the rarest words finds the sessions that may contain it
//	finder.find    entries are read, and compared with the signature
//	follow         each branch is read from the error on, until the error no longer occurs
//
// A value may differ between two occurrences of an error: a number, a path, an id, a hash,
// a quoted name, a time. Values never decide whether two errors are the same, but
// occurrences with the same values are closer.
//
// An occurrence is an entry that contains the error. An episode is the occurrences from
// the first one to the success of the failed call, or of a similar one.
package fix
