package match

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
)

// A Span is a match of a word in a text.
type Span struct {
	Start, End int
	Word       int // index in the list of words
	Part       int // index of the matching part of a compound; -1 for the whole word
	Weight     float64
	term       string // "" for a compound found whole
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

// A termUse is one way that a term matches a word.
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
	list, whole := f.findWhole(text)
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
			list = append(list, Span{start, end, u.word, u.part, u.weight, string(t.Term)})
		}
	}
	f.prefilter.pieces(text, func(start, end int) {
		from = start
		f.analyzer.Walk(text[start:end], token)
	})
	slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return list, exact
}

// findWhole returns the matches of the words that the text as a whole decides, with a bit
// for each of them that it has.
func (f *Finder) findWhole(text []byte) (list []Span, whole uint64) {
	var folded *analysis.Folded
	for i := range f.words {
		var found [][2]int
		w := &f.words[i]
		switch {
		case w.Find != nil:
			found = w.Find(&f.analyzer, text)
		case w.Needle != nil:
			if folded == nil {
				folded = f.analyzer.FoldText(text)
			}
			found = w.Needle.findAll(folded, maxMatches-len(list))
		}
		for _, s := range found {
			list = append(list, Span{Start: s[0], End: s[1], Word: i, Part: -1, Weight: w.Weight})
		}
		if len(found) > 0 || w.Find != nil {
			whole |= 1 << i
		}
	}
	return list, whole
}

// A Needle is a phrase, or a compound as a whole, to find in folded text. It is
// immutable once Han is set.
type Needle struct {
	Text []byte // folded, with runs of white space as one space
	Han  bool   // the text is searched in simplified characters too

	// The first or last character is part of a word: a match must not have another
	// one of these beside it, except for the last one of a terminal's colour code.
	startsInWord, endsInWord bool
}

func NewNeedle(typed string) Needle {
	text := []byte(strings.Join(strings.Fields(analysis.Fold(typed)), " "))
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	return Needle{Text: text, startsInWord: inSpacedWord(first), endsInWord: inSpacedWord(last)}
}

// Prefix returns the Needle of the words that begin with this one.
func (n Needle) Prefix() Needle {
	n.endsInWord = false
	return n
}

// Find returns the first match in the folded text at or after from.
func (n *Needle) Find(text []byte, from int) (start, end int, ok bool) {
	for from <= len(text) {
		i := bytes.Index(text[from:], n.Text)
		if i < 0 || len(n.Text) == 0 {
			return 0, 0, false
		}
		start, end = from+i, from+i+len(n.Text)
		if n.atWordEdges(text, start, end) {
			return start, end, true
		}
		from = start + 1
	}
	return 0, 0, false
}

var escape = []byte{0x1b}

func (n *Needle) atWordEdges(text []byte, start, end int) bool {
	if n.startsInWord {
		if before, size := utf8.DecodeLastRune(text[:start]); size > 0 && inSpacedWord(before) && !bytes.HasSuffix(analysis.BeforeControl(text[:start]), escape) {
			return false
		}
	}
	if n.endsInWord {
		if after, size := utf8.DecodeRune(text[end:]); size > 0 && inSpacedWord(after) {
			return false
		}
	}
	return true
}

// inSpacedWord reports whether a folded character is part of a word of a script that
// puts spaces between words.
func inSpacedWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
	}
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
		return false
	}
	var a analysis.Analyzer
	spaced := unicode.IsMark(r)
	a.Walk([]byte(string(r)), func(t analysis.Token) { spaced = t.Form == analysis.Word })
	return spaced
}

// FindAll returns where a needle is in a text, at most so many places.
func FindAll(a *analysis.Analyzer, n *Needle, text []byte, most int) [][2]int {
	return n.findAll(a.FoldText(text), most)
}

// findAll returns at most so many places of the needle in a text: those in its own characters, and
// those after them in simplified ones.
func (n *Needle) findAll(folded *analysis.Folded, most int) (list [][2]int) {
	from := 0
	findIn := func(text []byte) {
		for len(list) < most {
			start, end, ok := n.Find(text, from)
			if !ok {
				return
			}
			from = end
			start, end = folded.Source(start, end)
			list = append(list, [2]int{start, end})
		}
	}
	findIn(folded.Text)
	if n.Han {
		simple := bytes.Clone(folded.Text)
		SimplifyHan(simple)
		findIn(simple)
	}
	return list
}
