package words

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/lists"
	"pigrep/query/engine/syntax"
)

// Weights of looser matches. A word that matches as typed has weight 1.
const (
	WeightJoined  = 0.85 // another spelling of an identifier
	weightForms   = 0.8
	WeightParts   = 0.6 // all parts, but not together
	WeightSome    = 0.4 // some parts
	weightPrefix  = 0.5
	weightFuzzy   = 0.5 // one edit; half of it for two
	weightTyped   = 0.9 // a longer or similar word that was asked for with * or ~
	maxExpansions = 16  // longer words of a word, and words similar to it
)

// Limits within which looser matches are tried.
const (
	rarePrefix   = 20   // a word in fewer documents is also tried as a prefix
	lastPrefix   = 5000 // likewise for the last typed word
	rareFuzzy    = 3    // a word that, with its forms and prefixes, is in no more documents may be a typo
	moreFrequent = 5    // a similar word must be in so many times as many documents
	minPrefix    = 3    // shortest word, in characters, that is tried as a prefix
	minFuzzy     = 4    // shortest word for which one edit is tried
	minFuzzyTwo  = 8    // shortest word for which two edits are tried

	maxSearched = 8 // words of a query for which similar ones are looked up: a long pasted text is not full of typos
)

// Tiers say how loosely a term matches a word, each looser than the one before.
const (
	TierExact uint8 = iota
	TierParts
	TierForms
	TierPrefix
	TierFuzzy
	TierName // only in the name of an argument
)

// An Expansion is one term of a word.
type Expansion struct {
	Term   string
	Tier   uint8
	Weight float64 // 1 for the word as typed
	DF     int     // live documents that contain it, not only in names of arguments
	Names  int     // those that do only there
	IDF    float64 // that of the most frequent term which matches as tightly
}

// expand returns the terms of a word that is not only parts, the tightest matches
// first. It may split a word that no document contains.
func (x *resolver) expand(w *ResolvedWord) []Expansion {
	if w.Term == "" {
		return nil
	}
	e := expander{resolver: x, seen: map[string]bool{}, inText: w.Match == syntax.Phrase}
	exact := Expansion{Term: w.Term, Weight: 1}
	if w.Joined {
		exact.Tier, exact.Weight = TierParts, WeightJoined
	}
	e.add(exact)
	e.add(likewise(w.Spellings, TierParts, WeightJoined)...)
	switch {
	case w.Match == syntax.Prefix:
		e.typedPrefix(w)
	case w.Match == syntax.Fuzzy:
		e.fuzzy(w.Term, similarity{edits: w.Edits, asked: true, limit: maxTyped, least: 1, weight: weightTyped})
	case w.Loose:
		e.loosen(w)
	}
	// A term has the idf of the most frequent term that matches at least as tightly, so
	// that a rare misspelling does not outweigh the word.
	most := 0
	for i := range e.list {
		last := i
		for last+1 < len(e.list) && e.list[last+1].Tier == e.list[i].Tier {
			last++
		}
		for _, o := range e.list[i : last+1] {
			most = max(most, cmp.Or(o.DF, o.Names))
		}
		e.list[i].IDF = x.idf(most)
	}
	return e.list
}

// looseTier returns the tightest tier that does not count as having the word, because some document has
// it in a tighter way: TierFuzzy if the word itself occurs, or TierName.
func (w *ResolvedWord) looseTier() uint8 {
	for _, x := range w.Terms {
		switch {
		case x.DF == 0:
		case x.Tier < TierFuzzy && w.Match == syntax.Literal:
			return TierFuzzy
		default:
			return TierName
		}
	}
	return TierName + 1
}

// A Way says how a document has a word; tighter ways are lower. If documents have the same words, those
// with the weightiest word in a tighter way come first.
type Way = uint16

// The ways.
const (
	WayTyped   Way = iota // as typed, in any case, or an identifier in any spelling
	WayForms              // another form of the word
	WayParts              // its parts, or a longer word
	WaySimilar            // a similar spelling
	WayName               // the name of an argument
	WayMissing Way = 7    // none
)

// WayOf returns how a term of this tier has the word.
func (w *ResolvedWord) WayOf(tier uint8) Way {
	switch {
	case tier == TierName:
		return WayName
	case tier <= TierParts, w.Match != syntax.Literal:
		return WayTyped
	}
	return WayForms + Way(tier-TierForms)
}

// expander collects the terms of one word.
type expander struct {
	*resolver
	list   []Expansion
	seen   map[string]bool
	inText bool // names of arguments are text
}

// add adds the terms that some live document contains, and that were not added before.
func (e *expander) add(list ...Expansion) {
	for _, x := range list {
		if e.seen[x.Term] {
			continue
		}
		e.seen[x.Term] = true
		if x.DF, x.Names = e.frequency(x.Term); e.inText {
			x.DF, x.Names = x.DF+x.Names, 0
		}
		if x.DF+x.Names > 0 {
			e.list = append(e.list, x)
		}
	}
}

// likewise returns terms that all match in the same way.
func likewise(terms []string, tier uint8, weight float64) []Expansion {
	return lists.Map(terms, func(t string) Expansion { return Expansion{Term: t, Tier: tier, Weight: weight} })
}

// documents returns the sum of the documents with each of the terms.
func documents(list []Expansion) (n int) {
	for _, x := range list {
		n += x.DF
	}
	return n
}

// loosen adds the looser matches of a word, as long as it is rare: forms, longer words,
// similar words. When nothing matches it splits the word.
func (e *expander) loosen(w *ResolvedWord) {
	others := Forms(w.Term)
	e.count(others...)
	e.add(likewise(others, TierForms, weightForms)...)
	total := documents(e.list)
	length := utf8.RuneCountInString(w.Term)
	if length >= minPrefix && (total < rarePrefix || w.Last && total < lastPrefix) {
		terms, _ := e.prefixed(w.Term, maxExpansions, weightPrefix)
		e.add(terms...)
		total += documents(terms)
	}
	if length < minFuzzy || total > rareFuzzy || len(w.Parts) > 0 && e.partsFound(w) || strings.ContainsFunc(w.Term, unicode.IsDigit) {
		return
	}
	if e.searched++; e.searched > maxSearched {
		return
	}
	// If the word itself exists, a similar one must be far more frequent. Two edits are
	// tried only when one edit finds nothing.
	least := max(1, moreFrequent*total)
	before := len(e.list)
	for edits := 1; edits == 1 || edits == 2 && length >= minFuzzyTwo; edits++ {
		if e.fuzzy(w.Term, similarity{edits: edits, limit: maxExpansions, least: least, weight: weightFuzzy}); len(e.list) > before {
			return
		}
	}
	if total > 0 || len(w.Parts) > 0 {
		return
	}
	if parts := e.split(w.Term); len(parts) > 0 {
		whole := *w.Word // a copy: the query never changes
		whole.Parts = parts
		w.Word, w.Split = &whole, true
	}
}

// partsFound reports whether each part of an identifier is in the index.
func (e *expander) partsFound(w *ResolvedWord) bool {
	return !slices.ContainsFunc(w.Parts, func(p string) bool { return e.df(p) == 0 })
}
