package query

import (
	"bytes"
	"cmp"
	"slices"

	"pigrep/index/analysis"
)

// A span is a place in a text where a word was found.
type span struct {
	start, end int
	word       int    // its place in the list of words
	part       int    // of a compound of which it is a part; -1 for the whole word
	term       string // "" for a compound found whole
	weight     float64
}

// A target is a word to be found in texts. One without terms, needle and look is
// not looked for.
type target struct {
	typed  string // folded
	terms  []targetTerm
	needle *needle                                          // of a compound that is found whole
	look   func(a *analysis.Analyzer, text []byte) [][2]int // finds the word in another way
	weight float64                                          // of the compound found whole
}

// targetTerm is one term that stands for a word, or for a part of it.
type targetTerm struct {
	text   string
	part   int // -1: it stands for all of the word
	weight float64
}

// use is one way in which a term serves a word.
type use struct {
	word   int
	part   int // -1: it stands for all of the word
	weight float64
}

// finder finds words in texts. It is used by one goroutine.
type textFinder struct {
	analyzer analysis.Analyzer
	words    []target
	uses     map[string][]use
	lengths  [256]uint64 // lengths of the terms by their first byte, a bit each: rules most words out
	gate     gate        // of the terms
}

func newTextFinder(words []target) *textFinder {
	f := &textFinder{words: words, uses: map[string][]use{}, gate: newGate()}
	for i := range words {
		for _, t := range words[i].terms {
			f.uses[t.text] = append(f.uses[t.text], use{i, t.part, t.weight})
		}
	}
	for term := range f.uses {
		f.lengths[term[0]] |= lengthBit(len(term))
		f.gate.add(term)
	}
	return f
}

// lengthBit has a bit for each length, and one for all that are longer.
func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// find returns where the words are in the text, in order. exact has a bit for each
// word that is there as typed.
func (f *textFinder) find(text []byte) (list []span, exact uint64) {
	whole := uint64(0)
	var folded *analysis.Folded
	var simple []byte // the folded text in simplified characters
	for i := range f.words {
		w := &f.words[i]
		if w.look != nil {
			for _, s := range w.look(&f.analyzer, text) {
				list = append(list, span{start: s[0], end: s[1], word: i, part: -1, weight: w.weight})
			}
			whole |= 1 << i
			continue
		}
		if w.needle == nil {
			continue
		}
		if folded == nil {
			folded = f.analyzer.FoldText(text)
		}
		for from := 0; len(list) < maxMatches; {
			start, end, ok := w.needle.find(folded.Text, from)
			if !ok && w.needle.han && len(simple) == 0 {
				simple = bytes.Clone(folded.Text)
				simplify(simple)
			}
			if !ok && w.needle.han {
				start, end, ok = w.needle.find(simple, from)
			}
			if !ok {
				break
			}
			from = end
			whole |= 1 << i
			m := span{word: i, part: -1, weight: w.weight}
			m.start, m.end = folded.Source(start, end)
			list = append(list, m)
		}
	}
	exact = whole
	from := 0
	token := func(t analysis.Token) {
		if f.lengths[t.Term[0]]&lengthBit(len(t.Term)) == 0 {
			return
		}
		uses := f.uses[string(t.Term)]
		if len(uses) == 0 || len(list) >= maxMatches {
			return
		}
		start, end := from+t.Start, from+t.End
		for _, u := range uses {
			bit := uint64(1) << u.word
			if whole&bit != 0 {
				continue // parts of a compound that is there whole are no matches
			}
			if exact&bit == 0 && analysis.Fold(string(text[start:end])) == f.words[u.word].typed {
				exact |= bit
			}
			list = append(list, span{start, end, u.word, u.part, string(t.Term), u.weight})
		}
	}
	f.gate.pieces(text, func(start, end int) {
		from = start
		f.analyzer.Walk(text[start:end], token)
	})
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return list, exact
}
