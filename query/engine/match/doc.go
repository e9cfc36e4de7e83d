// Package match answers: where in this text are the words of a query, and which piece
// of the text shows them best? A Finder, its central type, finds words as spans of
// bytes; a Fragment is the line made from the text around the best of them. A Needle
// finds a phrase in folded text, that is text whose case, diacritics and white space
// are normalised, and a JSONPrefilter rules out entries by their raw JSON before they
// are parsed.
//
// It may import literal and what is below it, index/analysis for folding and terms.
package match
