package words

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pigrep/internal/near"
	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/syntax"
)

// model is the terms of a library, all in memory.
type model struct{ *stories.Corpus }

// expansions returns the terms of a word. It tests every term of the index.
func (m *model) expansions(w *Word) []Expansion {
	if w.Term == "" {
		return nil
	}
	var list []Expansion
	add := func(term string, tier uint8, weight float64) {
		if m.DF[term] > 0 && !slices.ContainsFunc(list, func(x Expansion) bool { return x.Term == term }) {
			list = append(list, Expansion{Term: term, Tier: tier, Weight: weight, DF: m.DF[term]})
		}
	}
	if w.Joined {
		add(w.Term, TierParts, WeightJoined)
	} else {
		add(w.Term, TierExact, 1)
	}
	all := make([]string, 0, len(m.DF))
	for term := range m.DF {
		all = append(all, term)
	}
	slices.Sort(all)
	total := func() (n int) {
		for _, x := range list {
			n += x.DF
		}
		return n
	}
	prefixes := func(limit int, weight float64) {
		var found []string
		for _, term := range all {
			if strings.HasPrefix(term, w.Term) && term != w.Term {
				found = append(found, term)
			}
		}
		slices.SortStableFunc(found, func(x, y string) int { return cmp.Compare(m.DF[y], m.DF[x]) })
		found = found[:min(limit, len(found))]
		slices.Sort(found)
		for _, term := range found {
			add(term, TierPrefix, weight)
		}
	}
	switch {
	case w.Match == syntax.Prefix:
		prefixes(maxTyped, weightTyped)
	case w.Loose:
		for _, f := range Forms(w.Term) {
			add(f, TierForms, weightForms)
		}
		length := utf8.RuneCountInString(w.Term)
		if length >= minPrefix && (total() < rarePrefix || w.Last && total() < lastPrefix) {
			prefixes(maxExpansions, weightPrefix)
		}
		parts := len(w.Parts) > 0
		for _, p := range w.Parts {
			parts = parts && m.DF[p] > 0
		}
		if length >= minFuzzy && total() <= rareFuzzy && !parts && !strings.ContainsFunc(w.Term, unicode.IsDigit) {
			least := max(1, moreFrequent*total())
			var alike []string
			for edits := 1; len(alike) == 0 && (edits == 1 || edits == 2 && length >= minFuzzyTwo); edits++ {
				for _, term := range all {
					if near.Distance(w.Term, term, edits) <= edits && m.DF[term] >= least {
						alike = append(alike, term)
					}
				}
			}
			slices.SortStableFunc(alike, func(x, y string) int {
				return cmp.Or(cmp.Compare(near.Distance(w.Term, x, 2), near.Distance(w.Term, y, 2)), cmp.Compare(m.DF[y], m.DF[x]))
			})
			for _, term := range alike[:min(maxExpansions, len(alike))] {
				weight := weightFuzzy
				if near.Distance(w.Term, term, 2) > 1 {
					weight /= 2
				}
				add(term, TierFuzzy, weight)
			}
		}
	}
	return list
}

// Resolve finds the same terms of a word as a test of every term of the index.
func TestResolveAgainstModel(t *testing.T) {
	var libraries []*stories.Library
	for seed := range 8 {
		l := stories.New(t)
		for some := range slices.Chunk(rapid.Custom(stories.DrawStories).Example(seed), 1+seed%3) {
			l.Add(some...)
		}
		libraries = append(libraries, l)
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom(libraries).Draw(rt, "library")
		text := stories.DrawQuery(rt, 1)
		q, err := Compile(text, filter.Env{})
		if err != nil {
			return
		}
		p, err := Resolve(rt.Context(), l.Reader, q, nil)
		if err != nil {
			rt.Fatal(err)
		}
		m := model{l.Corpus()}
		for i, w := range q.Words {
			want := m.expansions(w)
			most := 0
			for k := range want {
				for _, x := range want {
					if x.Tier <= want[k].Tier {
						most = max(most, x.DF)
					}
				}
				want[k].IDF = m.IDF(most)
			}
			if diff := gocmp.Diff(want, p.Words[i].Terms, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%q: terms of %q (-want +got):\n%s", text, w.Text, diff)
			}
		}
	})
}
