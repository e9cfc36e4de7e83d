package words

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"pigrep/index/segment"
	"pigrep/query/engine/docset"
)

// A typed prefix can match thousands of words. Only the most frequent are used.
const (
	maxTyped = 512
	maxShort = 64 // for a prefix of one or two characters
)

// typedPrefix adds the words that begin with a prefix that was typed as one.
func (e *expander) typedPrefix(w *ResolvedWord) {
	limit := maxTyped
	if utf8.RuneCountInString(w.Term) < minPrefix {
		limit = maxShort
	}
	terms, all := e.prefixed(w.Term, limit, weightTyped)
	if !all {
		e.plan.Inexact = true
		e.plan.Warnings = append(e.plan.Warnings, "the prefix "+w.Text+" begins very many words; only the most frequent are searched for")
	}
	e.add(terms...)
}

// prefixed returns the terms that are longer than a prefix and begin with it, the most
// frequent if there are more than the limit, and reports whether those are all. Terms
// that are rare in every segment are read only when the frequent ones are too few: a
// prefix of one letter has hundreds of thousands of them.
func (e *expander) prefixed(prefix string, limit int, weight float64) (terms []Expansion, all bool) {
	if e.shared != nil {
		terms, all = e.shared.prefixed(prefix, limit)
	} else {
		terms, all = e.prefixedHere(prefix, limit)
	}
	slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
	for i := range terms {
		terms[i].Tier, terms[i].Weight = TierPrefix, weight
	}
	return terms, all
}

// prefixedHere is prefixed for an index that answers alone: the most frequent come first.
func (e *expander) prefixedHere(prefix string, limit int) (terms []Expansion, all bool) {
	for _, least := range []int{rareInSegment, 1} {
		bounds, left := e.bounds(prefix, least)
		terms, all = e.mostFrequent(bounds, limit)
		// Terms that were left out are in at most this many documents.
		unseen := (least - 1) * len(e.segments)
		if !left || len(terms) == limit && terms[limit-1].DF > unseen {
			return terms, all && !left
		}
	}
	return terms, all
}

// Terms that fewer than rareInSegment documents of a segment contain are left out at
// first, if there are more than fewTerms of them.
const (
	rareInSegment = 8
	fewTerms      = 64
)

// bounds returns an upper bound of the number of documents for each term that begins
// with the prefix and that at least least documents of some segment contain. left
// reports whether it left out other terms; if not, the bounds have all terms.
func (e *expander) bounds(prefix string, least int) (bounds map[string]int, left bool) {
	type counted struct {
		term  string
		count int
	}
	type total struct{ count, segments int } // in the segments where the term is frequent
	totals := map[string]total{}
	var rare []counted
	var mu sync.Mutex
	docset.EachSegment(e.segments, func(_ int, seg *segment.Segment) {
		var terms, few []counted
		seg.Terms(segment.FieldText, []byte(prefix), func(term []byte, count int) bool {
			switch {
			case len(term) == len(prefix):
			case count >= least:
				terms = append(terms, counted{string(term), count})
			case len(few) <= fewTerms:
				few = append(few, counted{string(term), count})
			}
			return true
		})
		mu.Lock()
		defer mu.Unlock()
		for _, t := range terms {
			n := totals[t.term]
			totals[t.term] = total{n.count + t.count, n.segments + 1}
		}
		if left = left || len(few) > fewTerms; !left {
			rare = append(rare, few...)
		}
	})
	bounds = make(map[string]int, len(totals))
	for t, n := range totals {
		bounds[t] = n.count
		if left {
			bounds[t] += (least - 1) * (len(e.segments) - n.segments)
		}
	}
	if !left { // rare has all of them
		for _, t := range rare {
			bounds[t.term] += t.count
		}
	}
	return bounds, left
}

// mostFrequent returns the most frequent terms in descending order, and reports whether
// there are no others. It counts documents only for terms whose bound can matter.
func (e *expander) mostFrequent(bounds map[string]int, limit int) (terms []Expansion, all bool) {
	order := slices.SortedFunc(maps.Keys(bounds), func(a, b string) int {
		return cmp.Or(cmp.Compare(bounds[b], bounds[a]), cmp.Compare(a, b))
	})
	compare := func(a, b Expansion) int {
		return cmp.Or(cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
	}
	all = true
	for i, term := range order {
		if len(terms) == limit && bounds[term] < terms[limit-1].DF {
			return terms, false
		}
		if i%limit == 0 { // count in batches: the first one is needed in any case
			e.count(order[i:min(i+limit, len(order))]...)
		}
		x := Expansion{Term: term}
		if x.DF, x.Names = e.frequency(term); x.DF+x.Names == 0 {
			continue // only in deleted documents
		}
		at, _ := slices.BinarySearchFunc(terms, x, compare)
		terms = slices.Insert(terms, at, x)
		if len(terms) > limit {
			terms, all = terms[:limit], false
		}
	}
	return terms, all
}
