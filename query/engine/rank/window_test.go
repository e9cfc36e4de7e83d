package rank

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/lab/testkit"
	"pigrep/query/engine/filter"
)

// What is found does not depend on how many documents are scored at a time.
func TestWindows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	l := stories.New(t)
	minute := 0
	for i := range 3 {
		s := stories.Story{Name: fmt.Sprintf("s%d", i), Start: stories.Day}
		for range 50 + 100*i {
			words := make([]string, 1+rnd.IntN(8))
			for k := range words {
				words[k] = stories.Words[rnd.IntN(len(stories.Words))]
			}
			e := stories.Prompt(strings.Join(words, " "))
			e.Minute = minute // so that no two entries are copies
			minute++
			s.Entries = append(s.Entries, e)
		}
		l.Add(s)
	}
	type answer struct {
		Found  []Candidate
		Counts []fileCount
	}
	find := func(t *rapid.T, text string, sort Sort, window int) (a answer) {
		s := firstStage(t, l, text, filter.Spec{}, false, Options{Sort: sort, Limit: 10, PerSession: 3})
		if s == nil {
			return answer{}
		}
		s.prepare()
		if err := s.scoreAll(window); err != nil {
			t.Fatal(err)
		}
		for c := range s.found.all() {
			if !c.counted || s.keepAll { // of those that are counted already, some are kept
				a.Found = append(a.Found, *c)
			}
		}
		for i := range s.files {
			a.Counts = append(a.Counts, s.files[i].fileCount)
		}
		return a
	}
	rapid.Check(t, func(t *rapid.T) {
		text := stories.DrawQuery(t, 1)
		sort := rapid.SampledFrom([]Sort{Relevance, Newest}).Draw(t, "sort")
		want := find(t, text, sort, 1<<10)
		for _, window := range []int{64, 128, 192} {
			if diff := testkit.Diff(want, find(t, text, sort, window), cmp.AllowUnexported(Candidate{}, fileCount{})); diff != "" {
				t.Fatalf("%q by windows of %d:\n%s", text, window, diff)
			}
		}
	})
}
