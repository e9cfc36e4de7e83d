package words

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
)

// The terms that begin with a word are the same whether they were listed when the
// word was looked up or are looked for on their own, few or many.
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
		var terms [2][]Expansion
		for k, listed := range []bool{false, true} {
			q, err := Compile(word, filter.Env{})
			if err != nil {
				t.Fatal(err)
			}
			e := expander{resolver: &resolver{dictionary: newDictionary(l.Reader, nil)}, seen: map[string]bool{}}
			if listed {
				p, err := Resolve(t.Context(), l.Reader, q, nil)
				if err != nil {
					t.Fatal(err)
				}
				c := &continuations{last: true, complete: true, terms: map[string]*term{}}
				for number, seg := range l.Reader.Segments() {
					if err := c.list(p.dictionary, number, seg, word, 0); err != nil {
						t.Fatal(err)
					}
				}
				e.resolver = &resolver{dictionary: p.dictionary, continuations: map[string]*continuations{word: c}}
			}
			got, all, err := e.prefixed(word, maxExpansions)
			if err != nil || all != (len(got) < maxExpansions) {
				t.Fatalf("%d terms begin with %s, all %t: %v", len(got), word, all, err)
			}
			terms[k] = got
		}
		if diff := cmp.Diff(terms[0], terms[1]); diff != "" {
			t.Errorf("%s, listed with it:\n%s", word, diff)
		}
	}
}
