package match

import (
	"bytes"
	"cmp"
	"slices"

	"pigrep/index/analysis"
)

// A Span is a match of a word in a text.
type Span struct {
	Start, End int
	Word       int    // index in the list of words
	Part       int    // index of the matching part of a compound; -1 for the whole word
	term       string // "" for a compound found whole
	weight     float64
}

// A Word is a word to find in texts, in up to three ways. One without Terms, Needle
// and Find has no matches.
type Word struct {
	Typed  string // folded
	Terms  []Term
	Needle *Needle                                          // finds a compound as a whole
	Find   func(a *analysis.Analyzer, text []byte) [][2]int // replaces all other ways
	Weight float64                                          // of a match by Needle or Find
}

// Term is a term that matches a word, or a part of it.
type Term struct {
	Text   string
	Part   int // index of the part; -1 for the whole word
	Weight float64
}

// termUse is one way in which a term serves a word.
type termUse struct {
	word   int
	part   int // -1 for the whole word
	weight float64
}

// A Finder finds words in texts. It is used by one goroutine.
type Finder struct {
	analyzer  analysis.Analyzer
	words     []Word
	uses      map[string][]termUse
	prefilter termPrefilter // of the terms
}

// NewFinder returns a Finder of at most 64 words.
func NewFinder(words []Word) *Finder {
	f := &Finder{words: words, uses: map[string][]termUse{}, prefilter: newTermPrefilter()}
	for i := range words {
		for _, t := range words[i].Terms {
			f.uses[t.Text] = append(f.uses[t.Text], termUse{i, t.Part, t.Weight})
		}
	}
	for term := range f.uses {

		f.prefilter.add(term)
	}
	return f
}

// Find returns the matches in the text, ordered by where they start. exact has a bit
// for each word that the text contains as it was typed.
func (f *Finder) Find(text []byte) (list []Span, exact uint64) {
	whole := uint64(0)
	var folded *analysis.Folded
	var simple []byte // the folded text in simplified characters
	for i := range f.words {
		w := &f.words[i]
		if w.Find != nil {
			for _, s := range w.Find(&f.analyzer, text) {
				list = append(list, Span{Start: s[0], End: s[1], Word: i, Part: -1, weight: w.Weight})
			}
			whole |= 1 << i
			continue
		}
		if w.Needle == nil {
			continue
		}
		if folded == nil {
			folded = f.analyzer.FoldText(text)
		}
		for from := 0; len(list) < maxMatches; {
			start, end, ok := w.Needle.Find(folded.Text, from)
			if !ok && w.Needle.Han && len(simple) == 0 {
				simple = bytes.Clone(folded.Text)
				SimplifyHan(simple)
			}
			if !ok && w.Needle.Han {
				start, end, ok = w.Needle.Find(simple, from)
			}
			if !ok {
				break
			}
			from = end
			whole |= 1 << i
			m := Span{Word: i, Part: -1, weight: w.Weight}
			m.Start, m.End = folded.Source(start, end)
			list = append(list, m)
		}
	}
	exact = whole
	from := 0
	token := func(t analysis.Token) {
		uses := f.uses[string(t.Term)]
		if len(uses) == 0 || len(list) >= maxMatches {
			return
		}
		start, end := from+t.Start, from+t.End
		for _, u := range uses {
			bit := uint64(1) << u.word
			if whole&bit != 0 {
				continue // parts are not marked if the compound matches as a whole
			}
			if exact&bit == 0 && analysis.Fold(string(text[start:end])) == f.words[u.word].Typed {
				exact |= bit
			}
			list = append(list, Span{start, end, u.word, u.part, string(t.Term), u.weight})
		}
	}
	f.prefilter.pieces(text, func(start, end int) {
		from = start
		f.analyzer.Walk(text[start:end], token)
	})
	slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return list, exact
}
