// Package literal answers: where can an expression not match? It turns a regular
// expression into required literals, and these into prefilters and candidate
// documents. It never decides that something matches; that is left to the
// expression itself. Its central type is Required.
//
// A literal is a string that a text contains as it is, or in any case. A required
// literal is one that every match of an expression contains. A prefilter looks for
// required literals in bytes and finds the places where a match is possible. The
// candidate documents of a segment have the terms of the required literals.
//
// # Example
//
// The expression
//
//	(open|close)File\(.*\.json
//
// is walked from the leaves up. Each node becomes the exact strings that it can
// match, or, where those are too many, the strings that a match begins and ends with
// and the condition that it meets (see info):
//
//	open|close      exact "open", "close"
//	File\(          exact "File("
//	both in a row   exact "openFile(", "closeFile("
//	.*              anything
//	\.json          exact ".json"
//
// What comes before .* and what comes after it are both required, so Extract
// returns
//
//	("openFile(" or "closeFile(") and ".json"
//
// This tree of "and" and "or" over literals has two uses:
//
//   - Prefilters. A prefilter is a list of literals; any one is enough. It is the
//     list in the tree whose shortest literal is the longest: "openFile(",
//     "closeFile(". In the JSON of a session file some characters are escaped, and the
//     adapter adds others. So the prefilter of raw JSON looks for the longest piece
//     without such characters. Here nothing has to be
//     cut off. Without a literal a prefilter may look for a run of characters instead,
//     such as the 40 of [0-9a-f]{40}.
//   - Candidate documents. Lookup analyses each literal as the indexer analyses texts.
//     "openFile(" becomes the term openfile, or one that ends with it, because the
//     text may say reopenFile(. ".json" becomes a term that begins with json. The
//     documents of the terms are combined by "and" and "or" as the tree says.
//
// A document that is not a candidate has no match. An expression without a required
// literal, such as \d+, gives nil: every document is a candidate.
//
// The package may import docset, index and what is below them.
package literal
