package match

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
)

// A Needle is a phrase, or a compound as a whole, to find in folded text. It is
// immutable once Han is set.
type Needle struct {
	Text []byte // folded, with runs of white space as one space
	Han  bool   // the text is searched in simplified characters too

	// The first or last character is part of a word: a match must not have another
	// one of these beside it, except for the last one of a terminal's colour code.
	startsInWord, endsInWord bool
}

// NewNeedle returns the Needle of a text as it was typed.
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

// FindAll returns the first matches of a needle in a text that is not folded.
func FindAll(a *analysis.Analyzer, n *Needle, text []byte, most int) (list [][2]int) {
	folded := a.FoldText(text)
	for from := 0; len(list) < most; {
		start, end, ok := n.Find(folded.Text, from)
		if !ok {
			break
		}
		from = end
		start, end = folded.Source(start, end)
		list = append(list, [2]int{start, end})
	}
	return list
}
