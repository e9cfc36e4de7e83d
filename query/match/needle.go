package match

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/index/analysis"
)

// A Needle is what verification looks for in a folded text.
type Needle struct {
	Text                     []byte // folded, white space runs as one space
	Han                      bool   // simplified and traditional characters are the same
	startsInWord, endsInWord bool   // the edge is a word character: the one beside it must not be
}

func NewNeedle(typed string) Needle {
	text := []byte(strings.Join(strings.Fields(analysis.Fold(typed)), " "))
	first, _ := utf8.DecodeRune(text)
	last, _ := utf8.DecodeLastRune(text)
	return Needle{Text: text, startsInWord: inSpacedWord(first), endsInWord: inSpacedWord(last)}
}

// Find returns where the needle first occurs in the folded text at or after
// from; ok is false when it does not.
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

func (n *Needle) atWordEdges(text []byte, start, end int) bool {
	if n.startsInWord {
		if before, size := utf8.DecodeLastRune(text[:start]); size > 0 && inSpacedWord(before) {
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

// inSpacedWord reports whether a folded character belongs to a word of a script that
// is written with spaces.
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

// FindAll returns where a needle stands in a text, so many times at most.
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
