// Package oracle, which has nothing but tests, says which parts a query must find, may find
// and must not find, without an index. It knows the query language from docs/query.md alone:
// it imports nothing of query and index. The tests of package oracle_test compare its verdicts
// with the answers of searches.
//
//	Sessions  draws session files, with forks and branches
//	Read      decodes session files into a Corpus of parts
//	Queries   draws a query, a tree of Nodes, from the words of a corpus
//	Print     writes a query in one of many ways
//	Corpus.Differences  evaluates it on every part, and compares an answer
//
// A verdict has three values because looser matches (other forms, longer words, similar words)
// depend on how rare a word is. The oracle calls each part that they could find a may: one with
// a word that begins alike, has nearly the same letters, or contains the word. It decides all
// else: spelling, case, diacritics, white space, where words begin and end, fields, operators.
package oracle
