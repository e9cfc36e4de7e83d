package words

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
	"pigrep/query/docset"
	"pigrep/query/syntax"
)

// How much a word counts that matched in this way, against one that matched as
// it was typed.
const (
	WeightJoined  = 0.85 // another spelling of an identifier
	weightForms   = 0.8
	WeightParts   = 0.6 // all parts, but not together
	WeightSome    = 0.4 // some parts
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

// The tiers: how loosely a term matches a word, each looser than the one before.
const (
	TierExact uint8 = iota
	TierParts
	TierForms
	TierPrefix
	TierFuzzy
)

// An Expansion is one term of the index that a word stands for.
type Expansion struct {
	Term   string
	Tier   uint8
	Weight float64 // against a term that is the word as it was typed
	DF     int     // live documents that have it
	IDF    float64
}

// expand returns the terms that a word with a single term stands for, those that
// match tightest first. A word that is nowhere may be split.
func (x *resolver) expand(w *Planned) ([]Expansion, error) {
	if w.Term == "" {
		return nil, nil
	}
	e := expander{resolver: x, seen: map[string]bool{}}
	exact := Expansion{Term: w.Term, Weight: 1}
	if w.Joined {
		exact.Tier, exact.Weight = TierParts, WeightJoined
	}
	if err := e.add(exact); err != nil {
		return nil, err
	}
	for _, t := range w.Spellings {
		if err := e.add(Expansion{Term: t, Tier: TierParts, Weight: WeightJoined}); err != nil {
			return nil, err
		}
	}
	var err error
	switch {
	case w.Match == syntax.Prefix:
		err = e.typedPrefix(w)
	case w.Match == syntax.Fuzzy:
		err = e.fuzzy(w.Term, w.Edits, true, maxTyped, 1, weightTyped)
	case w.Loose:
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
		for last+1 < len(e.list) && e.list[last+1].Tier == e.list[i].Tier {
			last++
		}
		for _, o := range e.list[i : last+1] {
			most = max(most, o.DF)
		}
		e.list[i].IDF = x.idf(most)
	}
	return e.list, nil
}

type expander struct {
	*resolver
	list []Expansion
	seen map[string]bool
}

// add takes a term up if some document has it.
func (e *expander) add(x Expansion) error {
	if e.seen[x.Term] {
		return nil
	}
	e.seen[x.Term] = true
	df, err := e.df(x.Term)
	if err != nil || df == 0 {
		return err
	}
	x.DF = df
	e.list = append(e.list, x)
	return nil
}

func (e *expander) loosen(w *Planned) error {
	others := forms(w.Term)
	if err := e.count(others...); err != nil {
		return err
	}
	for _, f := range others {
		if err := e.add(Expansion{Term: f, Tier: TierForms, Weight: weightForms}); err != nil {
			return err
		}
	}
	total := 0
	for _, x := range e.list {
		total += x.DF
	}
	length := utf8.RuneCountInString(w.Term)
	if length >= minPrefix && (total < rarePrefix || w.Last && total < lastPrefix) {
		terms, _, err := e.prefixed(w.Term, maxExpansions)
		if err != nil {
			return err
		}
		for _, x := range terms {
			x.Tier, x.Weight = TierPrefix, weightPrefix
			if err := e.add(x); err != nil {
				return err
			}
			total += x.DF
		}
	}
	if length < minFuzzy || total > rareFuzzy || len(w.Parts) > 0 && e.partsFound(w) || strings.ContainsFunc(w.Term, unicode.IsDigit) {
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
		if err := e.fuzzy(w.Term, edits, false, maxExpansions, least, weightFuzzy); err != nil || len(e.list) > before {
			return err
		}
	}
	if total > 0 || len(w.Parts) > 0 {
		return nil
	}
	parts, err := e.split(w.Term)
	if len(parts) > 0 {
		whole := *w.Word // the query's stays as it is
		whole.Parts = parts
		w.Word, w.Split = &whole, true
	}
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
func (e *expander) partsFound(w *Planned) bool {
	for _, p := range w.Parts {
		if df, err := e.df(p); err != nil || df == 0 {
			return false
		}
	}
	return true
}

func (e *expander) typedPrefix(w *Planned) error {
	limit := maxTyped
	if utf8.RuneCountInString(w.Term) < minPrefix {
		limit = maxShort
	}
	terms, all, err := e.prefixed(w.Term, limit)
	if err != nil {
		return err
	}
	if !all {
		e.plan.Inexact = true
		e.plan.Warnings = append(e.plan.Warnings, "the prefix "+w.Text+" begins very many words; only the most frequent are searched for")
	}
	for _, x := range terms {
		x.Tier, x.Weight = TierPrefix, weightTyped
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
func (e *expander) prefixed(prefix string, limit int) (terms []Expansion, all bool, err error) {
	if c := e.continuations[prefix]; c != nil && c.complete {
		bounds := make(map[string]int, len(c.terms))
		for t, known := range c.terms {
			bounds[t], e.terms[t] = known.df, known
		}
		terms, all, err = e.mostFrequent(bounds, limit)
		slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
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
		unseen := (least - 1) * len(e.segments)
		if !left || len(terms) == limit && terms[limit-1].DF > unseen {
			all = all && !left
			break
		}
	}
	slices.SortFunc(terms, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
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
	err = docset.EachSegment(e.segments, func(_ int, seg *index.Segment) error {
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
			bounds[t] += (least - 1) * (len(e.segments) - n.segments)
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
func (e *expander) gather(list func(seg *index.Segment, visit func(term []byte)) error) (map[string]bool, error) {
	found := map[string]bool{}
	var mu sync.Mutex
	err := docset.EachSegment(e.segments, func(_ int, seg *index.Segment) error {
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
func (e *expander) mostFrequent(bounds map[string]int, limit int) (terms []Expansion, all bool, err error) {
	order := slices.SortedFunc(maps.Keys(bounds), func(a, b string) int {
		return cmp.Or(cmp.Compare(bounds[b], bounds[a]), cmp.Compare(a, b))
	})
	compare := func(a, b Expansion) int {
		return cmp.Or(cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
	}
	all = true
	for i, term := range order {
		if len(terms) == limit && bounds[term] < terms[limit-1].DF {
			return terms, false, nil
		}
		if i%limit == 0 { // at first so many are needed in any case
			if err := e.count(order[i:min(i+limit, len(order))]...); err != nil {
				return nil, false, err
			}
		}
		x := Expansion{Term: term}
		if x.DF, err = e.df(term); err != nil {
			return nil, false, err
		}
		if x.DF == 0 {
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
		Expansion
		edits int
	}
	found, err := e.gather(func(seg *index.Segment, visit func([]byte)) error {
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
		x := similar{Expansion{Term: t}, near.Distance(term, t, edits)}
		if x.DF, err = e.df(t); err != nil {
			return err
		}
		if x.DF >= least && x.edits <= edits {
			kept = append(kept, x)
		}
	}
	slices.SortFunc(kept, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
	})
	for _, x := range kept[:min(limit, len(kept))] {
		x.Tier, x.Weight = TierFuzzy, weight
		if x.edits > 1 {
			x.Weight /= 2
		}
		if err := e.add(x.Expansion); err != nil {
			return err
		}
	}
	return nil
}
