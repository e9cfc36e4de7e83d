package search

import (
	"fmt"
	"slices"
	"testing"

	"pigrep/query/engine/rank"
)

// shelfOf returns a library with this many prompts about the timeout of redis, and ten that
// only say redis.
func shelfOf(t *testing.T, hits int) *library {
	list := []story{{Name: "both", Start: day}, {Name: "one", Start: day}}
	for i := range hits {
		list[i%2].Entries = append(list[i%2].Entries, prompt(fmt.Sprintf("the redis timeout, number %d", i)).Named(fmt.Sprintf("hit%d", i)))
	}
	for i := range 10 {
		list[0].Entries = append(list[0].Entries, prompt(fmt.Sprintf("redis alone, number %d", i)).Named(fmt.Sprintf("loose%d", i)))
	}
	for i := range 60 {
		list[1].Entries = append(list[1].Entries, prompt(fmt.Sprintf("something else, number %d", i)))
	}
	return newLibrary(t, list...)
}

// Looser hits are folded if there are five others, or one in a list by time. The counts of a
// list are those of the hits that it has.
func TestLooserHitsAreFolded(t *testing.T) {
	for _, test := range []struct {
		hits   int
		req    Request
		folded int
	}{
		{5, Request{}, 10},
		{4, Request{}, 0},
		{5, Request{Any: true}, 0},
		{5, Request{Limit: All}, 0},
		{1, Request{Sort: rank.Newest}, 10},
		{1, Request{Sort: rank.Oldest, Any: true}, 0},
		{0, Request{Sort: rank.Newest}, 0},
		{5, Request{AllWords: true}, 0},
	} {
		for _, flat := range []bool{false, true} {
			l, req := shelfOf(t, test.hits), test.req
			req.Text, req.Flat, req.PerSession = "redis timeout", flat, All
			if req.Limit == 0 {
				req.Limit = 50
			}
			resp := l.search(req)
			name := fmt.Sprintf("%d hits, %+v", test.hits, test.req)
			loose := 0
			for _, h := range resp.Hits {
				if h.Loose != slices.Contains(h.Missing, "timeout") {
					t.Errorf("%s: %s lacks %q, looser is %v", name, h.EntryID, h.Missing, h.Loose)
				}
				if h.Loose {
					loose++
				}
			}
			if resp.Folded != test.folded || loose != resp.Looser()-resp.Folded || len(resp.Hits) != resp.Total+loose || resp.Total != test.hits {
				t.Errorf("%s: %d folded of %d looser; %d hits listed, %d of them looser, total %d", name, resp.Folded, resp.Looser(), len(resp.Hits), loose, resp.Total)
			}
			sum := 0
			for _, s := range resp.Sessions {
				sum += s.Hits + s.Looser
			}
			if !flat && (sum != len(resp.Hits) || len(resp.Sessions) != resp.SessionTotal) {
				t.Errorf("%s: the sessions count %d hits, want %d; %d sessions, want %d", name, sum, len(resp.Hits), resp.SessionTotal, len(resp.Sessions))
			}
			n, err := Count(t.Context(), l.Reader, nil, Disk{}, req)
			if err != nil || n.Counts.Total != resp.Total || req.Limit < All && n.Counts.Listed != len(resp.Hits) {
				t.Errorf("%s: counted %+v, %v", name, n, err)
			}
		}
	}
}

// A hit that lacks words that say little is not looser. A question with many words folds
// nothing: its answer seldom repeats them all.
func TestQuestionsAreNotFolded(t *testing.T) {
	l := shelfOf(t, 5)
	if resp := l.search(Request{Text: "what is the redis timeout about"}); resp.Total != 5 || resp.Folded != 10 {
		t.Errorf("a short question: %d hits, %d folded", resp.Total, resp.Folded)
	}
	if resp := l.search(Request{Text: "what is the redis timeout about", AllWords: true}); resp.Total != 0 {
		t.Errorf("with all words, also those that say little: %d hits", resp.Total)
	}
	if resp := l.search(Request{Text: "what is the number of the redis timeout that stood alone"}); resp.Folded != 0 || resp.Looser() == 0 {
		t.Errorf("a long question: %d folded of %d", resp.Folded, resp.Looser())
	}
}

// A text without the word that matters does not come before one with every word, however
// short it is, and whoever wrote it.
func TestTheWordThatMatters(t *testing.T) {
	s := story{Name: "skills", Start: day}
	for i := range 30 {
		s.Entries = append(s.Entries, prompt(fmt.Sprintf("we decide about item %d", i)))
	}
	pad := ""
	for i := range 400 {
		pad += fmt.Sprintf("word%d ", i)
	}
	s.Entries = append(s.Entries, result("bash", "decide "+pad+" authentication", false).Named("whole"), prompt("authentication").Named("half"))
	l := newLibrary(t, s)
	for _, text := range []string{"what did we decide about authentication", "decide authentication", "did we decide on authentication"} {
		if resp := l.search(Request{Text: text, Flat: true}); resp.Hits[0].EntryID != "whole" || resp.Total != 1 {
			t.Errorf("%s: %s is first, total %d", text, resp.Hits[0].EntryID, resp.Total)
		}
	}
}

func TestFoundAndApart(t *testing.T) {
	for _, test := range []struct {
		n            Counts
		found, apart string
	}{
		{Counts{Total: 15, TotalAny: 467, TotalSessions: 4}, "15 hits in 4 sessions", "452 looser ones"},
		{Counts{Total: 1, TotalAny: 3, Weak: 1, TotalSessions: 1, Inexact: true}, "at least 1 hit in 1 session", "1 looser one"},
		{Counts{TotalAny: 1452, ListedSessions: 9}, "1,452 looser hits in 9 sessions", ""},
		{Counts{Total: 2, TotalAny: 2, TotalSessions: 2}, "2 hits in 2 sessions", ""},
		{Counts{Total: 1, TotalAny: 697, Similar: 696, TotalSessions: 1}, "1 hit in 1 session", "696 with similar spelling"},
		{Counts{Total: 80, TotalAny: 950, Named: 870, TotalSessions: 9}, "80 hits in 9 sessions", "870 only as the name of an argument"},
		{Counts{Total: 80, TotalAny: 950, Named: 869, Similar: 1, TotalSessions: 9}, "80 hits in 9 sessions", "870 looser ones"},
		{Counts{}, "0 hits", ""},
	} {
		if found, apart := Found(test.n), Apart(test.n); found != test.found || apart != test.apart {
			t.Errorf("%+v: %q and %q, want %q and %q", test.n, found, apart, test.found, test.apart)
		}
	}
}
