// Package rank decides which documents are hits, and their order. It finds the documents
// that match a plan.
//
// Run is the central function. It works in phases, each with its own inputs:
//
//	prepare   the filter becomes a set of documents for each segment
//	score     postings become candidates, window by window (scorer, collector)
//	join      duplicates of one entry become one candidate, unless fields tell them apart
//	verify    candidates that may contain a phrase or compound are read and tested
//	settle    the best of the duplicates that are left stands for all
//	rerank    the best candidates are read, and weighted by what stands together
//	select    the best sessions, or the best hits, become the Result
//
// A candidate is a document that matches as far as is known. A duplicate is a copy of
// an entry that a fork or an import made; one candidate represents all of them. A
// window is a range of documents whose scores are computed together, because they fit
// into the cache of a core. A run is a range of adjacent documents of one file in a
// segment; those of its candidates that cannot be shown or reranked are only counted.
// The mask of a document has a bit for each word and field it matches, its partial mask
// one for each compound of which it has some parts. An evaluator decides by the two masks
// whether a document is a hit, and whether it lacks anything.
//
// The package imports words, filter, entry, match, docset and index. It reads session
// files only to verify and to rerank, and when the caller reads a hit. It never
// modifies the Plan.
package rank
