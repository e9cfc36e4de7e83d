package segment

import (
	"testing"

	"pgregory.net/rapid"

	"pigrep/internal/near"
)

// The automaton matches what is near the term, and knows how near.
func TestLevenshtein(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[abcéüж世丗😀]{0,9}`)
		term, most := word.Draw(rt, "term"), rapid.IntRange(1, 2).Draw(rt, "most")
		a := newLevenshtein([]byte(term), uint8(most))
		for _, other := range rapid.SliceOf(word).Draw(rt, "others") {
			state := levenshteinStart
			for i := range len(other) {
				state = a.accept(state, []byte(other[:i+1]))
			}
			got := most + 1
			if a.matches(state) {
				got = int(a.rows[state][len(a.term)])
			}
			if want := near.Distance(term, other, most); got != want {
				rt.Fatalf("%q is %d edits from %q, want %d", other, got, term, want)
			}
		}
	})
}
