package query

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pigrep/index"
	"pigrep/internal/near"
	"pigrep/query/syntax"
)

// How much a word counts that matched in this way, against one that matched as
// it was typed.
const (
	weightJoined  = 0.85 // another spelling of an identifier
	weightForms   = 0.8
	weightParts   = 0.6 // all parts, but not together
	weightSome    = 0.4 // some parts
	weightPrefix  = 0.5
	weightFuzzy   = 0.5 // one edit; half of it for two
	weightTyped   = 0.9 // a longer word, or a similar one, that was asked for
	maxExpansions = 16  // prefixes of a word, and words similar to it
)

// When looser ways are tried.
const (
	rarePrefix   = 20   // a word in fewer documents is tried as a prefix too
	lastPrefix   = 5000 // the last typed word, in fewer documents
	rareFuzzy    = 3    // a word in no more documents, those of its forms and prefixes counted, may be a typing error
	moreFrequent = 5    // times as many documents have the word that is meant
	minPrefix    = 3    // characters of a word that is tried as a prefix
	minFuzzy     = 4    // characters of a word that is looked up with one edit
	minFuzzyTwo  = 8    // with two

	mostSearched = 8 // words of a query for which similar ones are looked for: a long text that was pasted is not full of typing errors
)

// A prefix that was typed may stand for very many words. Of more than these the
// most frequent are taken; of one or two letters, which hardly anybody means to
// be complete, fewer.
const (
	maxTyped = 512
	maxShort = 64
)

// tier numbers, in the order of the Tier constants.
const (
	tierExact uint8 = iota
	tierParts
	tierForms
	tierPrefix
	tierFuzzy
)

var tierNames = [...]Tier{TierExact, TierParts, TierForms, TierPrefix, TierFuzzy}

// An expansion is one term of the index that a word stands for.
type expansion struct {
	term   string
	tier   uint8
	weight float64
	df     int // live documents that have it
	idf    float64
}

// expansions returns the terms that a word with a single term stands for, those
// that match tightest first.
func (s *searcher) expansions(w *word) ([]expansion, error) {
	if w.term == "" {
		return nil, nil
	}
	e := expander{searcher: s, seen: map[string]bool{}}
	exact := expansion{term: w.term, weight: 1}
	if w.joined {
		exact.tier, exact.weight = tierParts, weightJoined
	}
	if err := e.add(exact); err != nil {
		return nil, err
	}
	for _, t := range w.terms {
		if err := e.add(expansion{term: t, tier: tierParts, weight: weightJoined}); err != nil {
			return nil, err
		}
	}
	var err error
	switch {
	case w.match == syntax.Prefix:
		err = e.typedPrefix(w)
	case w.match == syntax.Fuzzy:
		err = e.fuzzy(w.term, w.edits, true, maxTyped, 1, weightTyped)
	case w.loose:
		err = e.loosen(w)
	}
	if err != nil {
		return nil, err
	}
	// A term is worth what the most frequent of those that match as tightly is:
	// a rare misspelling is not worth more than the word.
	most := 0
	for i := range e.list {
		last := i
		for last+1 < len(e.list) && e.list[last+1].tier == e.list[i].tier {
			last++
		}
		for _, x := range e.list[i : last+1] {
			most = max(most, x.df)
		}
		e.list[i].idf = s.idf(most)
	}
	return e.list, nil
}

type expander struct {
	*searcher
	list []expansion
	seen map[string]bool
}

// add takes a term up if some document has it.
func (e *expander) add(x expansion) error {
	if e.seen[x.term] {
		return nil
	}
	e.seen[x.term] = true
	df, err := e.df(x.term)
	if err != nil || df == 0 {
		return err
	}
	x.df = df
	e.list = append(e.list, x)
	return nil
}

func (e *expander) loosen(w *word) error {
	others := forms(w.term)
	if err := e.count(others...); err != nil {
		return err
	}
	for _, f := range others {
		if err := e.add(expansion{term: f, tier: tierForms, weight: weightForms}); err != nil {
			return err
		}
	}
	total := 0
	for _, x := range e.list {
		total += x.df
	}
	length := utf8.RuneCountInString(w.term)
	if length >= minPrefix && (total < rarePrefix || w.last && total < lastPrefix) {
		terms, _, err := e.prefixed(w.term, maxExpansions)
		if err != nil {
			return err
		}
		for _, x := range terms {
			x.tier, x.weight = tierPrefix, weightPrefix
			if err := e.add(x); err != nil {
				return err
			}
			total += x.df
		}
	}
	if length < minFuzzy || total > rareFuzzy || len(w.parts) > 0 && e.partsFound(w) || strings.ContainsFunc(w.term, unicode.IsDigit) {
		return nil
	}
	if e.searched++; e.searched > mostSearched {
		return nil
	}
	// Of a word that is there, a similar one is meant only when it is far more
	// frequent. Two edits are tried only when one gives nothing.
	least := max(1, moreFrequent*total)
	before := len(e.list)
	for edits := 1; edits == 1 || edits == 2 && length >= minFuzzyTwo; edits++ {
		if err := e.fuzzy(w.term, edits, false, maxExpansions, least, weightFuzzy); err != nil || len(e.list) > before {
			return err
		}
	}
	if total > 0 || len(w.parts) > 0 {
		return nil
	}
	var err error
	w.parts, err = e.split(w.term)
	w.made = len(w.parts) > 0
	return err
}

// split returns the two words that a word which is nowhere may be made of:
// codeworkspace where the texts have code-workspace, or code and workspace. Of
// several pairs it is the one whose rarer word is the most frequent; nil when
// there is none.
func (e *expander) split(term string) ([]string, error) {
	const shortest = 2
	var halves []string
	for i := shortest; i <= len(term)-shortest; i++ {
		if utf8.RuneStart(term[i]) {
			halves = append(halves, term[:i], term[i:])
		}
	}
	if err := e.count(halves...); err != nil {
		return nil, err
	}
	var best []string
	most := 0
	for i := 0; i < len(halves); i += 2 {
		if df := min(e.terms[halves[i]].df, e.terms[halves[i+1]].df); df > most {
			best, most = halves[i:i+2], df
		}
	}
	return best, nil
}

// partsFound reports whether each part of an identifier is in the index.
func (e *expander) partsFound(w *word) bool {
	for _, p := range w.parts {
		if df, err := e.df(p); err != nil || df == 0 {
			return false
		}
	}
	return true
}

func (e *expander) typedPrefix(w *word) error {
	limit := maxTyped
	if utf8.RuneCountInString(w.term) < minPrefix {
		limit = maxShort
	}
	terms, all, err := e.prefixed(w.term, limit)
	if err != nil {
		return err
	}
	if !all {
		e.inexact = true
		e.warnings = append(e.warnings, "the prefix "+w.text+" begins very many words; only the most frequent are searched for")
	}
	for _, x := range terms {
		x.tier, x.weight = tierPrefix, weightTyped
		if err := e.add(x); err != nil {
			return err
		}
	}
	return nil
}

// prefixed returns the terms that begin with a prefix and go on, the most
// frequent if there are more than the limit, and whether those are all. Terms
// that are rare in every segment are only looked at when the frequent ones are
// too few: a prefix of one letter has hundreds of thousands of them.
func (e *expander) prefixed(prefix string, limit int) (terms []expansion, all bool, err error) {
	if l := e.longer[prefix]; l != nil && !l.left {
		bounds := make(map[string]int, len(l.terms))
		for t, known := range l.terms {
			bounds[t], e.terms[t] = known.df, known
		}
		terms, all, err = e.mostFrequent(bounds, limit)
		slices.SortFunc(terms, func(a, b expansion) int { return cmp.Compare(a.term, b.term) })
		return terms, all, err
	}
	for _, least := range []int{rareInSegment, 1} {
		bounds, left, err := e.bounds(prefix, least)
		if err != nil {
			return nil, false, err
		}
		terms, all, err = e.mostFrequent(bounds, limit)
		if err != nil {
			return nil, false, err
		}
		// What was left out is in no more documents than this.
		unseen := (least - 1) * len(e.segs)
		if !left || len(terms) == limit && terms[limit-1].df > unseen {
			all = all && !left
			break
		}
	}
	slices.SortFunc(terms, func(a, b expansion) int { return cmp.Compare(a.term, b.term) })
	return terms, all, nil
}

// rareInSegment is the number of documents of a segment below which a term of a
// prefix is left out at first, unless there are no more than fewTerms of them.
const (
	rareInSegment = 8
	fewTerms      = 64
)

// bounds returns, for the terms that begin with the prefix and that so many
// documents of some segment have, a number of documents that each is not above;
// and whether there are other terms. It may return those of fewer documents too.
func (e *expander) bounds(prefix string, least int) (bounds map[string]int, left bool, err error) {
	type counted struct {
		term  string
		count int
	}
	type total struct{ count, segments int } // of the segments where it is frequent
	totals := map[string]total{}
	var rare []counted
	var mu sync.Mutex
	err = e.eachSegment(func(seg *segment) error {
		var terms, few []counted
		err := seg.Terms(index.FieldText, []byte(prefix), func(term []byte, count int) bool {
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
		return err
	})
	bounds = make(map[string]int, len(totals))
	for t, n := range totals {
		bounds[t] = n.count
		if left {
			bounds[t] += (least - 1) * (len(e.segs) - n.segments)
		}
	}
	if !left { // there is all of them
		for _, t := range rare {
			bounds[t.term] += t.count
		}
	}
	return bounds, left, err
}

// gather collects the terms that list visits in each segment.
func (e *expander) gather(list func(seg *segment, visit func(term []byte)) error) (map[string]bool, error) {
	found := map[string]bool{}
	var mu sync.Mutex
	err := e.eachSegment(func(seg *segment) error {
		var terms []string
		if err := list(seg, func(term []byte) { terms = append(terms, string(term)) }); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, t := range terms {
			found[t] = true
		}
		return nil
	})
	return found, err
}

// mostFrequent returns the terms that most documents have, those first, and
// whether there are no others. Documents are counted only for terms whose bound
// can matter.
func (e *expander) mostFrequent(bounds map[string]int, limit int) (terms []expansion, all bool, err error) {
	order := slices.SortedFunc(maps.Keys(bounds), func(a, b string) int {
		return cmp.Or(cmp.Compare(bounds[b], bounds[a]), cmp.Compare(a, b))
	})
	compare := func(a, b expansion) int {
		return cmp.Or(cmp.Compare(b.df, a.df), cmp.Compare(a.term, b.term))
	}
	all = true
	for i, term := range order {
		if len(terms) == limit && bounds[term] < terms[limit-1].df {
			return terms, false, nil
		}
		if i%limit == 0 { // at first so many are needed in any case
			if err := e.count(order[i:min(i+limit, len(order))]...); err != nil {
				return nil, false, err
			}
		}
		x := expansion{term: term}
		if x.df, err = e.df(term); err != nil {
			return nil, false, err
		}
		if x.df == 0 {
			continue // of deleted documents
		}
		at, _ := slices.BinarySearchFunc(terms, x, compare)
		terms = slices.Insert(terms, at, x)
		if len(terms) > limit {
			terms, all = terms[:limit], false
		}
	}
	return terms, all, nil
}

// fuzzy adds the terms within so many edits that at least so many documents have,
// the nearest first and of these the most frequent.
// When they were asked for, all of them; else those that typing errors make: one
// anywhere, or two after the first character, where hardly anybody errs.
func (e *expander) fuzzy(term string, edits int, asked bool, limit, least int, weight float64) error {
	type similar struct {
		expansion
		edits int
	}
	found, err := e.gather(func(seg *segment, visit func([]byte)) error {
		if !asked && edits == 1 {
			return seg.Similar(index.FieldText, []byte(term), visit)
		}
		prefix := ""
		if _, size := utf8.DecodeRuneInString(term); !asked {
			prefix = term[:size]
		}
		return seg.Fuzzy(index.FieldText, []byte(prefix), []byte(term), edits, func(t []byte, _, _ int) bool {
			visit(t)
			return true
		})
	})
	if err != nil {
		return err
	}
	if err := e.count(slices.Collect(maps.Keys(found))...); err != nil {
		return err
	}
	var kept []similar
	for t := range found {
		x := similar{expansion{term: t}, near.Distance(term, t, edits)}
		if x.df, err = e.df(t); err != nil {
			return err
		}
		if x.df >= least && x.edits <= edits {
			kept = append(kept, x)
		}
	}
	slices.SortFunc(kept, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.df, a.df), cmp.Compare(a.term, b.term))
	})
	for _, x := range kept[:min(limit, len(kept))] {
		x.tier, x.weight = tierFuzzy, weight
		if x.edits > 1 {
			x.weight /= 2
		}
		if err := e.add(x.expansion); err != nil {
			return err
		}
	}
	return nil
}
