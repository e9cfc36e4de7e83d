package words

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/lab/stories"
)

// Of the terms that begin with a word, those are listed that are most frequent in all segments
// together, whether there are few or many.
func TestPrefixed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	l := stories.New(t)
	for i := range 3 {
		s := stories.Story{Name: fmt.Sprintf("s%d", i), Start: stories.Day}
		for range 60 {
			var words []string
			for range 1 + rnd.IntN(5) {
				words = append(words, "connect", fmt.Sprintf("few%d", rnd.IntN(30)), fmt.Sprintf("many%d", rnd.IntN(90)), fmt.Sprintf("most%d", rnd.IntN(400)))
			}
			if rnd.IntN(20) == 0 {
				words = append(words, "few", "many", "most")
			}
			s.Entries = append(s.Entries, stories.Prompt(strings.Join(words, " ")))
		}
		l.Add(s)
	}
	gone := index.NewBatch()
	gone.DeleteFile(l.Reader.Summaries()[1].File)
	l.Commit(gone)
	for _, word := range []string{"few", "many", "most", "connect", "nothing"} {
		e := expander{resolver: &resolver{dictionary: newDictionary(l.Reader, nil)}, seen: map[string]bool{}}
		got, all := e.prefixed(word, maxExpansions, weightPrefix)
		var want []Expansion
		for _, seg := range l.Reader.Segments() {
			seg.Terms(segment.FieldText, []byte(word), func(term []byte, _ int) bool {
				x := Expansion{Term: string(term), Tier: TierPrefix, Weight: weightPrefix, DF: e.df(string(term))}
				if x.Term != word && x.DF > 0 && !slices.Contains(want, x) {
					want = append(want, x)
				}
				return true
			})
		}
		slices.SortFunc(want, func(a, b Expansion) int { return cmp.Or(cmp.Compare(b.DF, a.DF), cmp.Compare(a.Term, b.Term)) })
		if wantAll := len(want) <= maxExpansions; all != wantAll {
			t.Errorf("%s: all %t, want %t", word, all, wantAll)
		}
		want = want[:min(len(want), maxExpansions)]
		slices.SortFunc(want, func(a, b Expansion) int { return cmp.Compare(a.Term, b.Term) })
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("terms that begin with %s (-want +got):\n%s", word, diff)
		}
	}
}
