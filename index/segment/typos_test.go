package segment

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pigrep/lab/testkit"
)

// Typos looks up what the automaton finds within one edit.
func TestTyposFindsWhatFuzzyFinds(t *testing.T) {
	testkit.Unraced(t)
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`[abc1]{1,6}`)
		words := rapid.SliceOfN(word, 1, 60).Draw(rt, "words")
		term := word.Draw(rt, "term")
		seg := openFile(t, textDocuments(strings.Join(words, " "))...)
		var want, got []string
		fuzzy := func(prefix string) (terms []string) {
			seg.Fuzzy(FieldText, []byte(prefix), []byte(term), 2, func(found []byte) { terms = append(terms, string(found)) })
			return terms
		}
		prefix := rapid.StringMatching(`[abc1]{0,2}`).Draw(rt, "prefix")
		all := slices.DeleteFunc(fuzzy(""), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		if some := fuzzy(prefix); !slices.Equal(all, some) {
			rt.Fatalf("terms like %q that begin with %q: %q, want %q", term, prefix, some, all)
		}
		seg.Fuzzy(FieldText, nil, []byte(term), 1, func(found []byte) {
			if string(found) != term {
				want = append(want, string(found))
			}
		})
		seg.Typos(FieldText, []byte(term), func(found []byte) { got = append(got, string(found)) })
		got = slices.DeleteFunc(got, func(s string) bool { return s == term })
		if !slices.Equal(want, got) {
			rt.Fatalf("terms like %q among %q: Typos finds %q, Fuzzy %q", term, words, got, want)
		}
	})
}
