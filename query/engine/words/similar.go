package words

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"pigrep/index/segment"
	"pigrep/internal/near"
	"pigrep/query/engine/docset"
)

// similarity says which similar words a word gets.
type similarity struct {
	edits  int     // at most
	asked  bool    // typed as word~: any edits, else only those that typos make
	limit  int     // words at most
	least  int     // documents that must contain one
	weight float64 // with one edit; half of it with more
}

// fuzzy adds similar words, the nearest first, ties by frequency. Typos are one edit
// anywhere, or two after the first character, which people rarely get wrong.
func (e *expander) fuzzy(term string, opt similarity) error {
	type similar struct {
		Expansion
		edits int
	}
	found, err := e.gather(func(seg *segment.Segment, visit func([]byte)) error {
		if !opt.asked && opt.edits == 1 {
			return seg.Typos(segment.FieldText, []byte(term), visit)
		}
		prefix := ""
		if _, size := utf8.DecodeRuneInString(term); !opt.asked {
			prefix = term[:size]
		}
		return seg.Fuzzy(segment.FieldText, []byte(prefix), []byte(term), opt.edits, visit)
	})
	if err != nil {
		return err
	}
	if err := e.count(slices.Collect(maps.Keys(found))...); err != nil {
		return err
	}
	var kept []similar
	for t := range found {
		x := similar{Expansion{Term: t}, near.Distance(term, t, opt.edits)}
		if x.DF, err = e.df(t); err != nil {
			return err
		}
		if x.DF >= opt.least && x.edits <= opt.edits {
			kept = append(kept, x)
		}
	}
	slices.SortFunc(kept, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term))
	})
	for _, x := range kept[:min(opt.limit, len(kept))] {
		x.Tier, x.Weight = TierFuzzy, opt.weight
		if x.edits > 1 {
			x.Weight /= 2
		}
		if err := e.add(x.Expansion); err != nil {
			return err
		}
	}
	return nil
}

func (e *expander) gather(list func(seg *segment.Segment, visit func(term []byte)) error) (map[string]bool, error) {
	found := map[string]bool{}
	var mu sync.Mutex
	err := docset.EachSegment(e.segments, func(_ int, seg *segment.Segment) error {
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

// split returns two words that together spell a word which no document contains:
// codeworkspace for texts with code-workspace, or code and workspace. Of several pairs
// it returns the one whose rarer word is the most frequent; nil when there is none.
func (e *expander) split(term string) ([]string, error) {
	const shortest = 2 // bytes of each half
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
