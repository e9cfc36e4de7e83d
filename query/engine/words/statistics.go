package words

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/query/engine/syntax"
)

// Statistics are what Resolve needs to know of an index. With the statistics of a whole archive, the words
// of a query have the same terms and weights in an excerpt of the archive as in all of it.
type Statistics struct {
	Documents int
	Tokens    int
	Newest    time.Time      // entry
	Terms     map[string]int // documents with each term that the query may match
	Cut       bool           // a typed prefix begins more terms than there are in Terms
	More      bool           // there are hits that no index which is asked has
}

// Limits of Statistics.
const (
	maxCounts   = 1 << 40 // documents, tokens
	listedTerms = 256     // longer and similar words of a word: many times as many as it gets
	listedTyped = 4 * maxTyped
	maxListed   = 2 * maxSearched // as maxSearched; of these, other indexes may have some
)

// Add adds the statistics of another index.
func (s *Statistics) Add(o *Statistics) {
	s.Documents = min(s.Documents+o.Documents, maxCounts)
	s.Tokens = min(s.Tokens+o.Tokens, maxCounts)
	s.Cut, s.More = s.Cut || o.Cut, s.More || o.More
	if o.Newest.After(s.Newest) {
		s.Newest = o.Newest
	}
	if s.Terms == nil {
		s.Terms = map[string]int{}
	}
	for t, n := range o.Terms {
		s.Terms[t] = min(s.Terms[t]+n, s.Documents)
	}
}

// newStatistics returns the Statistics of an index without any term.
func newStatistics(r *index.Reader) *Statistics {
	s := &Statistics{Documents: r.Documents(), Tokens: int(r.Tokens()), Terms: map[string]int{}}
	for _, sum := range r.Beginnings() {
		if sum.Newest.After(s.Newest) {
			s.Newest = sum.Newest
		}
	}
	return s
}

// Frequencies returns the Statistics of an index for some terms alone.
func Frequencies(r *index.Reader, terms []string) (*Statistics, error) {
	d := newDictionary(r, nil)
	s := newStatistics(r)
	d.count(slices.Compact(slices.Sorted(slices.Values(terms)))...)
	for t, known := range d.terms {
		s.add(Expansion{Term: t, DF: known.df, Names: known.names})
	}
	return s, r.Fault()
}

// Count returns the Statistics of an index for a query. What is looked up depends on what other
// indexes have: Count lists all that Resolve looks up if they have nothing, and if they have
// anything. For that, a word that is rare in all of them must be rare in this one.
func Count(ctx context.Context, r *index.Reader, q *Query) (*Statistics, error) {
	x := newResolver(r, q, nil)
	s := newStatistics(r)
	x.lookUp(ctx)
	for t, known := range x.terms {
		s.Terms[t] = known.df // 0 too: whoever counts more documents counts it there
		if known.names > 0 {
			s.Terms[inNames(t)] = known.names
		}
	}
	for _, p := range x.plan.Words {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.list(&expander{resolver: x, seen: map[string]bool{}}, p)
	}
	return s, r.Fault()
}

func (s *Statistics) add(list ...Expansion) {
	for _, x := range list {
		if x.DF > 0 {
			s.Terms[x.Term] = x.DF
		}
		if x.Names > 0 {
			s.Terms[inNames(x.Term)] = x.Names
		}
	}
}

// inNames is what Statistics.Terms calls the documents that have a term only in names of arguments.
// No term begins like that.
func inNames(term string) string { return "\x00" + term }

// list adds the terms that expand may find for a word.
func (s *Statistics) list(e *expander, w *ResolvedWord) {
	switch {
	case w.Term == "":
	case w.Match == syntax.Prefix:
		terms, all := e.prefixed(w.Term, listedTyped, weightTyped)
		s.add(terms...)
		s.Cut = s.Cut || !all
	case w.Match == syntax.Fuzzy:
		s.add(e.similarTo(w.Term, similarity{edits: w.Edits, asked: true, limit: listedTyped, least: 1, weight: weightTyped})...)
	case w.Loose:
		s.listLooser(e, w)
	}
}

// listLooser follows expander.loosen.
func (s *Statistics) listLooser(e *expander, w *ResolvedWord) {
	total := s.Terms[w.Term]
	for _, t := range slices.Concat(w.Spellings, Forms(w.Term)) {
		total += s.Terms[t]
	}
	length := utf8.RuneCountInString(w.Term)
	if length >= minPrefix && (total < rarePrefix || w.Last && total < lastPrefix) {
		longer, _ := e.prefixed(w.Term, listedTerms, weightPrefix)
		s.add(longer...)
		slices.SortFunc(longer, func(a, b Expansion) int { return cmp.Compare(b.DF, a.DF) })
		total += documents(longer[:min(maxExpansions, len(longer))])
	}
	if total > rareFuzzy || length < minPrefix || len(w.Parts) > 0 && e.partsFound(w) {
		return
	}
	if e.searched++; e.searched > maxListed {
		return
	}
	for edits := 1; edits == 1 || edits == 2 && length >= minFuzzyTwo; edits++ {
		s.add(e.similarTo(w.Term, similarity{edits: edits, limit: listedTerms, least: 1, weight: weightFuzzy})...)
	}
	if total > 0 || len(w.Parts) > 0 || length < minFuzzy || strings.ContainsFunc(w.Term, unicode.IsDigit) {
		return
	}
	for _, t := range e.halves(w.Term) {
		s.add(Expansion{Term: t, DF: e.terms[t].df})
	}
}

// prefixed returns the terms that are longer than a prefix and begin with it, the most frequent
// if there are more than the limit, and reports whether those are all.
func (s *Statistics) prefixed(prefix string, limit int) (terms []Expansion, all bool) {
	for t, df := range s.Terms {
		if df > 0 && len(t) > len(prefix) && strings.HasPrefix(t, prefix) {
			terms = append(terms, Expansion{Term: t, DF: df})
		}
	}
	if all = len(terms) <= limit && !s.Cut; len(terms) > limit {
		slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Or(cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term)) })
		terms = terms[:limit]
	}
	return terms, all
}
