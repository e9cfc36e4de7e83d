package search

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/lab/stories"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/words"
)

// With AllWords an answer has the hits of the unrestricted one that lack nothing, and no
// others.
func TestAllWords(t *testing.T) {
	var libraries []*library
	for seed := range 4 {
		libraries = append(libraries, newLibrary(t, rapid.Custom(stories.DrawStories).Example(seed)...))
	}
	libraries = append(libraries, shelf(t))
	key := func(h Hit) string { return h.SessionPath + " " + h.EntryID + " " + h.Fragment.Text }
	restricted := 0
	compare := func(t rapid.TB, l *library, text string, sort rank.Sort) {
		any := l.search(Request{Text: text, Flat: true, Limit: All})
		all := l.search(Request{Text: text, Flat: true, Limit: All, Sort: sort, AllWords: true})
		want, got := []string{}, []string{}
		for _, h := range any.Hits {
			if len(h.Missing) == 0 {
				want = append(want, key(h))
			}
		}
		for _, h := range all.Hits {
			got = append(got, key(h))
		}
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			t.Fatalf("%q with all words (-want +got):\n%s", text, diff)
		}
		if all.Total != len(want) || all.TotalAny != len(want) {
			t.Fatalf("%q with all words: totals %d and %d, want %d for both", text, all.Total, all.TotalAny, len(want))
		}
		if any.Total < all.Total { // its hits may lack words that say little
			t.Fatalf("%q: %d hits, but %d with all words", text, any.Total, all.Total)
		}
		if any.TotalAny > all.Total {
			restricted++
		}
	}
	for _, l := range libraries {
		compare(t, l, "+conn* a +tok*", rank.Relevance) // hits without "a" are whole, but lack a word
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom(libraries).Draw(rt, "library")
		text, sort := stories.DrawQuery(rt, 1), rapid.SampledFrom([]rank.Sort{rank.Relevance, rank.Newest}).Draw(rt, "sort")
		if _, err := words.Compile(text, filter.Env{}); err != nil {
			return // nothing to search for
		}
		compare(rt, l, text, sort)
	})
	if restricted == 0 && !testing.Short() { // a short run draws twenty
		t.Error("AllWords left nothing out of any answer")
	}
}

// When nothing has all words, the answer says how many hits have some.
func TestAllWordsRemoved(t *testing.T) {
	l := shelf(t)
	for _, c := range []struct {
		req  Request
		want []Removed
	}{
		{Request{Text: "expire bucket"}, []Removed{{FilterAllWords, 2}}},
		{Request{Text: "zorblaxq auth"}, []Removed{{FilterAllWords, 3}}},
		{Request{Text: "auth bucket", Spec: filter.Spec{CWD: "/home/u/app"}}, []Removed{{"cwd", 1}, {FilterAllWords, 2}}},
		{Request{Text: "zorblaxq"}, nil},
		{Request{Text: "auth token"}, nil},
	} {
		c.req.AllWords = true
		resp := l.search(c.req)
		if diff := cmp.Diff(c.want, resp.Removed); diff != "" {
			t.Errorf("Run(%+v): removed (-want +got):\n%s", c.req, diff)
		}
	}
	resp := l.search(Request{Text: "expire bucket", AllWords: true})
	if got, want := ExplainWords(resp.Words, resp.Removed, "", Without), "expire has 1 hit in 1 session, bucket 1 in 1; no entry has both"; got != want {
		t.Errorf("ExplainWords = %s, want %s", got, want)
	}
	if slices.ContainsFunc(resp.Words, WordCount.Nowhere) {
		t.Errorf("words %+v: some occur nowhere", resp.Words)
	}
}
