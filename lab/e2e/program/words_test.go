package program

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// maxTerm is the number of bytes of a word that it is found by.
const maxTerm = 64

// words visits the words of a text, folded, as they must be found: words of
// letters and digits; identifiers joined, and their parts; of scripts without
// spaces every character and every two neighbours. The word is what someone would
// type, the term what the index must hold.
func words(text string, visit func(term string)) {
	// A sign that stands for letters or digits, such as ½, may or may not be
	// part of the word beside it.
	const unclear = '\uffff'
	ascii := true
	for i := 0; ascii && i < len(text); i++ {
		ascii = text[i] < utf8.RuneSelf
	}
	if !ascii {
		text = strings.Map(func(r rune) rune {
			if r >= 0x80 && !isWord(r) && norm.NFKC.String(string(r)) != string(r) {
				return unclear
			}
			return r
		}, text)
		text = norm.NFKC.String(text)
	}
	start, state := 0, 0 // 1 in a word, 2 in a run of a script without spaces
	var before rune
	end := func(at int, next rune) {
		if state != 0 && before != unclear && next != unclear {
			if state == 1 {
				spaced(text[start:at], visit)
			} else {
				glyphs(text[start:at], visit)
			}
		}
		state = 0
	}
	var last rune = ' '
	for i, r := range text {
		class := 0
		switch {
		case unspaced(r), state == 2 && unicode.Is(unicode.M, r):
			class = 2
		case isWord(r):
			class = 1
		}
		if class != state {
			end(i, r)
			start, state, before = i, class, last
		}
		last = r
	}
	end(len(text), ' ')
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func spaced(word string, visit func(term string)) {
	if !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return
	}
	visit(cut(fold(strings.ReplaceAll(word, "_", ""))))
	for _, piece := range strings.Split(word, "_") {
		for _, p := range humps(piece) {
			visit(cut(fold(p)))
		}
	}
}

func cut(s string) string {
	if len(s) <= maxTerm {
		return s
	}
	i := maxTerm
	for !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i]
}

// humps splits camelCase of plain letters; anything else is left out.
func humps(s string) []string {
	var parts []string
	start := 0
	for i := range len(s) {
		c := s[i]
		if c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return nil
		}
		upper := c <= 'Z'
		if i > 0 && upper && (s[i-1] >= 'a' || i+1 < len(s) && s[i+1] >= 'a') {
			parts = append(parts, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}

// glyphs visits the characters of a run of Chinese, Japanese or Korean. What
// counts as one character in the other scripts without spaces is left to the
// search cases.
func glyphs(s string, visit func(term string)) {
	before := rune(0)
	for _, r := range fold(s) {
		if !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			before = 0
			continue
		}
		visit(string(r))
		if before != 0 {
			visit(string(before) + string(r))
		}
		before = r
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"a plain word":                {"a", "a", "plain", "plain", "word", "word"},
		"getUserName":                 {"getusername", "get", "user", "name"},
		"parseHTMLResponse":           {"parsehtmlresponse", "parse", "html", "response"},
		"_x9_":                        {"x9"},
		"Crème":                       {"creme"},
		"日志log":                       {"日", "志", "日志", "log", "log"},
		"x½ 2":                        {"2"},
		strings.Repeat("é", 40) + "x": {strings.Repeat("e", 40) + "x"},
		strings.Repeat("界", 2) + "_" + "\u0300 --": {"界", "界", "界界"},
	} {
		var got []string
		words(text, func(term string) { got = append(got, term) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("words(%q) (-want +got):\n%s", text, diff)
		}
	}
}
