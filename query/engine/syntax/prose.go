package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// closing is the punctuation that ends clauses and sentences.
const closing = ".,;:!?…。、\uFF0C\uFF1A\uFF1B\uFF01\uFF1F"

// TrimProse removes the punctuation that a sentence puts around a word. A word that is
// nothing but punctuation stays as it is.
func TrimProse(s string) string {
	t := strings.TrimRight(s, closing)
	for _, pair := range []string{`""`, `''`, "``", "“”", "‘’", "«»", "„“"} {
		open, size := utf8.DecodeRuneInString(pair)
		shut := pair[size:]
		if rest, ok := strings.CutPrefix(t, string(open)); ok && !strings.Contains(rest, string(open)) {
			t = rest
		}
		if rest, ok := strings.CutSuffix(t, shut); ok && !strings.Contains(rest, shut) {
			t = rest
		}
	}
	t = strings.TrimRight(t, closing)
	if strings.ContainsFunc(t, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return t
	}
	return s
}
