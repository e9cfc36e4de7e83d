// Package sessions answers questions about whole sessions: which ones there are,
// which one a name means, and which one was forked from which.
//
// List is the central function. Without a text it reads the summaries that the index
// keeps of every session, and session records only for filters on single entries.
// With a text it runs a search and lists the sessions with hits.
//
// A session is a fork when its header names a parent; a family is a session with all
// its forks and theirs. Twins are files with the same session id, which imports and
// exports leave behind. A facet is a value that a field of the query language can be
// set to.
//
// The package imports query and everything below it. It knows no output format and
// no command line.
package sessions
