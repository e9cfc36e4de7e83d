package docset_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pigrep/query/engine/docset"
)

// A Set behaves as a map of its documents does.
func TestSetIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "documents")
		doc := rapid.Uint32Range(0, uint32(n-1))
		draw := func(label string) (docset.Set, map[uint32]bool) {
			set, model := docset.New(n), map[uint32]bool{}
			for _, d := range rapid.SliceOf(doc).Draw(t, label) {
				set.Add(d)
				model[d] = true
			}
			return set, model
		}
		set, model := draw("first")
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			other, others := draw("other")
			switch rapid.SampledFrom([]string{"and", "or", "bitmap"}).Draw(t, "operation") {
			case "and":
				set.And(other)
				maps.DeleteFunc(model, func(d uint32, _ bool) bool { return !others[d] })
			case "or":
				set.Or(other)
				maps.Copy(model, others)
			case "bitmap":
				set.AddBitmap(roaring.BitmapOf(slices.Collect(maps.Keys(others))...))
				maps.Copy(model, others)
			}
		}
		want := slices.Sorted(maps.Keys(model))
		if diff := cmp.Diff(want, slices.Collect(set.All()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("All (-want +got):\n%s", diff)
		}
		if got := set.Count(); got != len(model) {
			t.Fatalf("Count() = %d, want %d", got, len(model))
		}
		for d := range uint32(n) {
			if set.Has(d) != model[d] {
				t.Fatalf("Has(%d) = %t, want %t", d, set.Has(d), model[d])
			}
		}
		first := 64 * rapid.Uint32Range(0, uint32(n-1)/64).Draw(t, "first of a slice")
		slice := set.Slice(first, uint32(n))
		for d := first; d < uint32(n); d++ {
			if slice.Has(d-first) != model[d] {
				t.Fatalf("Slice(%d, %d).Has(%d) = %t, want %t", first, n, d-first, !model[d], model[d])
			}
		}
	})
}

func TestNilSetHasEverything(t *testing.T) {
	if !docset.Set(nil).Has(1 << 20) {
		t.Error("the nil set lacks a document")
	}
}

// A conjunction has the documents with some spelling of every word.
func TestConjunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 150).Draw(t, "documents")
		terms := []string{"a", "b", "c", "d"}
		postings := map[string]map[uint32]bool{}
		for _, term := range terms {
			postings[term] = map[uint32]bool{}
			for _, d := range rapid.SliceOf(rapid.Uint32Range(0, uint32(n-1))).Draw(t, term) {
				postings[term][d] = true
			}
		}
		words := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(terms), 1, 3), 1, 3).Draw(t, "words")
		got := docset.Conjunction(n, len(words), func(i int) []string { return words[i] }, func(term string, into docset.Set) {
			for d := range postings[term] {
				into.Add(d)
			}
		})
		for d := range uint32(n) {
			want := true
			for _, spellings := range words {
				want = want && slices.ContainsFunc(spellings, func(s string) bool { return postings[s][d] })
			}
			if got.Has(d) != want {
				t.Fatalf("Conjunction of %q has document %d: %t, want %t", words, d, !want, want)
			}
		}
	})
}
