// Package automaton answers: where does an expression match in a text? It finds what
// package regexp finds, in bounded memory, and a search ends soon after it is told to.
//
// A Program is a compiled expression, and a Matcher finds its matches:
//
//	expression ──▶ code ──────────────▶ states, made when needed ─▶ ends of matches
//	           └─▶ code of its mirror ─▶ states, made when needed ─▶ their starts
//
// A Matcher keeps states up to a number of bytes. When they are full it forgets them all.
// If that is too often it follows the code character by character for a while, which is
// slower and keeps nothing. An expression that is a literal needs no states.
//
// The package imports nothing of ours: it knows texts and lines, not sessions.
package automaton
