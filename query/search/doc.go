// Package search answers searches: a request goes in, grouped hits come out.
//
// A search takes five steps, each in a package that knows only those before it:
//
//	syntax.Parse    the text becomes a tree
//	words.Compile   the tree becomes words, and an expression over their bits
//	words.Resolve   the words become a plan: terms of the dictionary, with weights
//	rank.Run        the plan and a filter become candidates, the best sessions first
//	respond         candidates are read from their session files and become hits
//
// Request and Response are the central types, Run is the function between them.
// The package also suggests other words for those that nothing has, and names the
// filters that made an answer empty. It imports everything below it; what builds on
// searches, such as lists of sessions and audits, imports it.
//
// The same index, session files and request always give the same bytes: a score
// depends on live documents only, never on file numbers, segments or the clock.
package search
