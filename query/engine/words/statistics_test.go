package words

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
)

// plain is what a plan says, without what belongs to one index.
type plain struct {
	Words                                                []plainWord
	Weight, Length                                       float64
	Important, Informative, Slight                       uint64
	Sentence, Key, Open, WantsLatest, WantsUser, Inexact bool
	Warnings                                             []string
}

type plainWord struct {
	Terms                                       []Expansion
	Parts                                       []string
	Emphasis, Weight, PartSum, AllIDF, WholeIDF float64
	PartIDF                                     []float64
	Split                                       bool
	Meant                                       string
}

func plainOf(t *rapid.T, p *ResolvedQuery) plain {
	x := plain{
		Weight: p.Weight, Length: p.Length, Important: p.ImportantMask, Informative: p.InformativeMask, Slight: p.SlightMask,
		Sentence: p.IsSentence, Key: p.HasKey, Open: p.IsOpen, WantsLatest: p.WantsLatest, WantsUser: p.WantsUser, Inexact: p.Inexact, Warnings: p.Warnings,
	}
	for _, w := range p.Words {
		y := plainWord{w.Terms, w.Parts, w.Emphasis, w.Weight, w.PartSum, w.AllIDF, w.WholeIDF, w.PartIDF, w.Split, ""}
		if len(w.Terms) == 0 && len(w.Parts) == 0 && w.Loose {
			y.Meant = p.Similar(w)
		}
		x.Words = append(x.Words, y)
	}
	return x
}

// With the statistics of several indexes, each of them resolves a query as one index with all
// their sessions does. Compounds are counted where the query is resolved, which must have all of them.
func TestSharedStatisticsGiveThePlanOfOneIndex(t *testing.T) {
	type shelf struct {
		all   *stories.Library
		parts []*stories.Library
	}
	var shelves []shelf
	for seed := range 10 {
		list := rapid.Custom(stories.DrawStories).Example(seed)
		s := shelf{all: stories.New(t, list...)}
		for range 3 {
			s.parts = append(s.parts, stories.New(t))
		}
		for i := range list {
			s.parts[(i+seed)%3].Add(list[i])
		}
		shelves = append(shelves, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		shelf := rapid.SampledFrom(shelves).Draw(t, "library")
		text := stories.DrawQuery(t, 1)
		if rapid.IntRange(0, 4).Draw(t, "with a typo or a prefix") == 0 {
			text += rapid.SampledFrom([]string{" renameing", " conection~", " t*", " connec", " logintoken", " pythn", " get how the user tokne now", " conectoin", " nmae~2"}).Draw(t, "word")
		}
		q, err := Compile(text, filter.Env{})
		if err != nil {
			return
		}
		want, err := Resolve(t.Context(), shelf.all.Reader, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var sum Statistics
		for _, part := range shelf.parts {
			s, err := Count(t.Context(), part.Reader, q)
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(s)
		}
		parts := shelf.parts
		if slices.ContainsFunc(want.Words, func(w *ResolvedWord) bool { return w.Find != nil || len(w.Parts) > 0 }) {
			parts = []*stories.Library{shelf.all}
		}
		for i, part := range parts {
			got, err := Resolve(t.Context(), part.Reader, q, &sum)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(plainOf(t, want), plainOf(t, got)); diff != "" {
				t.Fatalf("%q in part %d (-one index +with shared statistics):\n%s", text, i, diff)
			}
		}
	})
}
