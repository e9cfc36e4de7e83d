package query

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
)

// The terms that begin with a word are the same whether they were listed when the
// word was looked up or are looked for on their own, few or many.
func TestPrefixed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	l := newLibrary(t)
	for i := range 3 {
		s := story{name: fmt.Sprintf("s%d", i), start: day}
		for range 60 {
			var words []string
			for range 1 + rnd.IntN(5) {
				words = append(words, "connect", fmt.Sprintf("few%d", rnd.IntN(30)), fmt.Sprintf("many%d", rnd.IntN(90)), fmt.Sprintf("most%d", rnd.IntN(400)))
			}
			if rnd.IntN(20) == 0 {
				words = append(words, "few", "many", "most")
			}
			s.entries = append(s.entries, prompt(strings.Join(words, " ")))
		}
		l.add(s)
	}
	gone := l.writer.NewBatch()
	gone.DeleteFile(l.reader.Summaries()[1].File)
	l.commit(gone)
	for _, word := range []string{"few", "many", "most", "connect", "nothing"} {
		var terms [2][]expansion
		for k, listed := range []bool{false, true} {
			req := Request{Text: word}
			q, err := compile(&req)
			if err != nil {
				t.Fatal(err)
			}
			s, err := newSearcher(t.Context(), l.reader, pi.New(), disk{}, &req, q)
			if err != nil {
				t.Fatal(err)
			}
			if listed {
				if err := s.prepare(); err != nil {
					t.Fatal(err)
				}
			}
			e := expander{searcher: s, seen: map[string]bool{}}
			got, all, err := e.prefixed(word, maxExpansions)
			if err != nil || all != (len(got) < maxExpansions) {
				t.Fatalf("%d terms begin with %s, all %t: %v", len(got), word, all, err)
			}
			terms[k] = got
		}
		if diff := cmp.Diff(terms[0], terms[1], cmp.AllowUnexported(expansion{})); diff != "" {
			t.Errorf("%s, listed with it:\n%s", word, diff)
		}
	}
}
