// Package query answers searches: the text of a query becomes a tree, the tree
// becomes words that are looked up in the segments of the index, and the best
// documents are read again from their session files and become hits.
//
//	text ── Parse ──▶ tree ── compile ──▶ words ── expand ──▶ terms
//	                                                            │ postings
//	hits ◀── read again ◀── group ◀── copies ◀── verify ◀── score
//
// A word is one unit of the query: a plain word, an identifier, a compound such
// as a path, or a phrase. Each document has one bit for each word, so that what
// it lacks and the totals are exact.
//
// The same index, session files and request always give the same bytes: a score
// depends on live documents only, never on file numbers, segments or the clock.
package query
