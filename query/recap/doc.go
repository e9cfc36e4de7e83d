// Package recap answers the question: what was done in these sessions, and what is open? It counts facts of the index
// and quotes entries, each with its place. It rephrases nothing and guesses nothing: what no entry says is not in it.
package recap
