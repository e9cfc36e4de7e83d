// Package words says which terms of an index match the words of a query.
//
// A word is one unit of a query: a plain word, an identifier, a compound such as a
// path, a phrase, or a field that only the text of a document can decide. Each word
// has one bit in the mask of a document. A compound has parts, which are terms of
// their own; a document with some of them matches the compound partially. Compile
// makes the words of a text, and an expression over their bits (Expr); it knows no
// index.
//
// The terms of a word are the entries of the index's dictionary that match it: itself,
// and when that is rare its other forms, longer words, and similar words. Each term has
// a tier, which says how loosely it matches, and a weight between 0 and 1, by which it
// counts less than the word as typed. Resolve looks all of them up and returns the
// ResolvedQuery, the central type: the words of one query with their terms in one generation of
// the index.
//
// Count returns the Statistics of an index for a query. With the sum of those of several
// indexes, Resolve gives the words the same terms and weights in each of them.
//
// A Query never changes after Compile, a ResolvedQuery with its words never after Resolve; both
// may be shared by goroutines.
//
// The package imports syntax, filter, match, docset and index; it reads no session
// files and scores no documents.
package words
