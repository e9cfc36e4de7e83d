package words

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pigrep/index/segment"
	"pigrep/internal/near"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/syntax"
)

// similarity says which similar words a word gets.
type similarity struct {
	edits  int     // at most
	asked  bool    // typed as word~: any edits, else only those that typos make
	limit  int     // words at most
	least  int     // documents that must contain one
	weight float64 // with one edit; half of it with more
}

// fuzzy adds similar words.
func (e *expander) fuzzy(term string, opt similarity) { e.add(e.similarTo(term, opt)...) }

// similarTo returns similar words, the nearest first, ties by frequency. Typos are one
// edit anywhere, or two after the first character, which people rarely get wrong.
func (e *expander) similarTo(term string, opt similarity) (list []Expansion) {
	prefix := ""
	if _, size := utf8.DecodeRuneInString(term); !opt.asked {
		prefix = term[:size]
	}
	found := e.gather(func(seg *segment.Segment, visit func([]byte)) {
		if !opt.asked && opt.edits == 1 {
			seg.Typos(segment.FieldText, []byte(term), visit)
		} else {
			seg.Fuzzy(segment.FieldText, []byte(prefix), []byte(term), opt.edits, visit)
		}
	}, func(t string) bool {
		if !opt.asked && opt.edits == 1 {
			return isTypo(term, t)
		}
		return strings.HasPrefix(t, prefix)
	})
	e.count(slices.Collect(maps.Keys(found))...)
	for t := range found {
		edits := near.Distance(term, t, opt.edits)
		if edits > opt.edits {
			continue
		}
		x := Expansion{Term: t, Tier: TierFuzzy, Weight: opt.weight / float64(max(1, edits))}
		if x.DF, x.Names = e.frequency(t); x.DF >= opt.least {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b Expansion) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
	})
	return list[:min(opt.limit, len(list))]
}

// isTypo reports whether segment.Typos may find a term for a word: one error changes letters
// and digits of ASCII alone.
func isTypo(word, term string) bool {
	others := func(s string) string {
		return strings.Map(func(r rune) rune {
			if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	return near.Distance(word, term, 1) <= 1 && others(word) == others(term)
}

// gather returns the terms that list visits in a segment, or of the terms that several
// indexes have listed those which pass a test.
func (e *expander) gather(list func(seg *segment.Segment, visit func(term []byte)), passes func(term string) bool) map[string]bool {
	found := map[string]bool{}
	if e.shared != nil {
		for t := range e.shared.Terms {
			if !strings.HasPrefix(t, inNames("")) && passes(t) {
				found[t] = true
			}
		}
		return found
	}
	var mu sync.Mutex
	docset.EachSegment(e.segments, func(_ int, seg *segment.Segment) {
		list(seg, func(term []byte) {
			mu.Lock()
			defer mu.Unlock()
			found[string(term)] = true
		})
	})
	return found
}

// split returns two words that together spell a word which no document contains:
// codeworkspace for texts with code-workspace, or code and workspace. Of several pairs
// it returns the one whose rarer word is the most frequent; nil when there is none.
func (e *expander) split(term string) (best []string) {
	most := 0
	for pair := range slices.Chunk(e.halves(term), 2) {
		if both := min(e.df(pair[0]), e.df(pair[1])); both > most {
			best, most = pair, both
		}
	}
	return best
}

// halves returns the pairs of words that spell a word, one after the other, and counts them.
func (e *expander) halves(term string) []string {
	const shortest = 2 // bytes of each half
	var halves []string
	for i := shortest; i <= len(term)-shortest; i++ {
		if utf8.RuneStart(term[i]) {
			halves = append(halves, term[:i], term[i:])
		}
	}
	e.count(halves...)
	return halves
}

// maxNear is how many terms of a segment that begin like a word are compared with it.
const maxNear = 10_000

// Near returns terms of this index that may look like a word which it does not contain, with the
// number of their documents: within a typing error, with the same beginning, or parts of it.
// Other expressions have none.
func (p *ResolvedQuery) Near(x *Expr) map[string]int {
	w := p.wordOf(x)
	if w == nil || w.Match != syntax.Literal || w.Find != nil {
		return nil
	}
	d := &dictionary{p.dictionary.segments, p.dictionary.documents, map[string]*term{}, nil}
	e := expander{resolver: &resolver{dictionary: d, plan: p}, seen: map[string]bool{}}
	length := utf8.RuneCountInString(w.Term)
	for edits := 1; edits == 1 && length >= minPrefix || edits == 2 && length >= minFuzzyTwo; edits++ {
		e.similarTo(w.Term, similarity{edits: edits, least: 1, weight: weightFuzzy})
	}
	others := w.Parts
	if length > minLike {
		alike := e.gather(func(seg *segment.Segment, visit func([]byte)) {
			n := 0
			seg.Terms(segment.FieldText, []byte(string([]rune(w.Term)[:minLike])), func(t []byte, _ int) bool {
				if n++; beginsLike(w.Term, string(t)) {
					visit(t)
				}
				return n < maxNear
			})
		}, nil)
		others = slices.AppendSeq(slices.Clip(others), maps.Keys(alike))
	}
	e.count(others...)
	found := make(map[string]int)
	for t, known := range d.terms {
		if known.df > 0 {
			found[t] = known.df
		}
	}
	return found
}

const minLike = 4 // characters that words have in common which begin alike

// beginsLike reports whether two words have at least two fifths of a word in common, and more than
// two thirds of the shorter one: compaction and compactification.
func beginsLike(word, term string) bool {
	a, b := []rune(word), []rune(term)
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= minLike && 5*n >= 2*len(a) && 3*n > 2*min(len(a), len(b))
}
