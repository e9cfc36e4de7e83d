// Package program tests pigrep from the outside: it builds the program once and
// runs it on session files, the ones in testdata/sessions and, when
// PIGREP_FIXTURES names a directory, all of those in it.
//
// What must be found is worked out here with encoding/json and the table of
// kinds in the documentation alone, so that a fault in the program's own reading
// of the files cannot hide itself: nothing here imports package adapter.
package program
