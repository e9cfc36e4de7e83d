package query

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/adapter/pi"
)

// What is found does not depend on how many documents are scored at a time.
func TestWindows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	l := newLibrary(t)
	minute := 0
	for i := range 3 {
		s := story{name: fmt.Sprintf("s%d", i), start: day}
		for range 50 + 100*i {
			words := make([]string, 1+rnd.IntN(8))
			for k := range words {
				words[k] = modelWords[rnd.IntN(len(modelWords))]
			}
			e := prompt(strings.Join(words, " "))
			e.minute = minute // so that no two entries are copies
			minute++
			s.entries = append(s.entries, e)
		}
		l.add(s)
	}
	type answer struct {
		Found  []candidate
		Counts []fileCount
	}
	find := func(t *rapid.T, req Request, window int) (a answer) {
		q, err := compile(&req)
		if err != nil {
			return answer{}
		}
		s, err := newSearcher(t.Context(), l.reader, pi.New(), disk{}, &req, q)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := s.scoreAll(window); err != nil {
			t.Fatal(err)
		}
		for _, c := range s.found.all() {
			if !c.counted || s.every { // of those that are counted already, some are kept
				a.Found = append(a.Found, *c)
			}
		}
		for i := range s.files {
			a.Counts = append(a.Counts, s.files[i].fileCount)
		}
		return a
	}
	rapid.Check(t, func(t *rapid.T) {
		req := Request{Text: drawQuery(t, 1), Sort: rapid.SampledFrom([]Sort{SortRelevance, SortNewest}).Draw(t, "sort")}
		want := find(t, req, 1<<10)
		for _, window := range []int{64, 128, 192} {
			if diff := cmp.Diff(want, find(t, req, window), cmp.AllowUnexported(candidate{}, fileCount{})); diff != "" {
				t.Fatalf("%q by windows of %d:\n%s", req.Text, window, diff)
			}
		}
	})
}
