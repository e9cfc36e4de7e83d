// Package oracle says which parts a query must find, may find and must not find, without an
// index. It knows the query language from docs/query.md alone: it imports nothing of query
// and index.
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

// A Verdict says whether a part is a hit. Verdicts are ordered: the conjunction of several is
// the smallest, the disjunction the largest.
type Verdict int

// The verdicts.
const (
	Not Verdict = iota
	May
	Must
)

func (v Verdict) not() Verdict { return Must - v }

func verdict(b bool) Verdict {
	if b {
		return Must
	}
	return Not
}

func (v Verdict) String() string { return [...]string{"must not", "may", "must"}[v] }
