package match

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Mark is a text that a fragment marks. It is marked in the whole entry too.
type Mark struct {
	Text string // as written
	// FromEdge and ToEdge say that Text begins or ends at the edge of a word. Other marks are parts
	// of words, such as Name of userName.
	FromEdge, ToEdge bool
	Anywhere         bool `json:",omitempty"` // it is marked wherever its letters stand
}

// Marks returns the distinct marks of a fragment. It leaves out spans that are not in the text: another
// program may have made the fragment.
func (f Fragment) Marks() (list []Mark) {
	places := map[string]int{} // in list, by text without case
	for _, s := range f.Spans {
		if s[0] < 0 || s[0] >= s[1] || s[1] > len(f.Text) {
			continue
		}
		m := Mark{Text: f.Text[s[0]:s[1]], FromEdge: isEdge(f.Text, s[0]), ToEdge: isEdge(f.Text, s[1])}
		if i, ok := places[strings.ToLower(m.Text)]; ok {
			list[i].FromEdge, list[i].ToEdge = list[i].FromEdge && m.FromEdge, list[i].ToEdge && m.ToEdge
			continue
		}
		places[strings.ToLower(m.Text)] = len(list)
		list = append(list, m)
	}
	return list
}

// Fits reports whether text[start:end], which has the letters of the mark, is marked: it must begin and
// end at the edges of words where the mark does. A part of a word must be written as in the mark, or
// begin a part of a word.
func (m Mark) Fits(text string, start, end int) bool {
	switch {
	case m.Anywhere:
		return true
	case m.FromEdge && !isEdge(text, start) || m.ToEdge && !isEdge(text, end):
		return false
	case m.FromEdge || isEdge(text, start) || text[start:end] == m.Text:
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	first, _ := utf8.DecodeRuneInString(text[start:])
	return !unicode.IsLetter(before) && !unicode.IsDigit(before) || unicode.IsUpper(first) && unicode.IsLower(before)
}

// isEdge reports whether no word reaches across an offset of a text. Scripts without spaces between
// words have edges everywhere.
func isEdge(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return at == 0 || at == len(text) || !inSpacedWord(unicode.ToLower(before)) || !inSpacedWord(unicode.ToLower(after))
}
