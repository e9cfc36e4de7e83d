package snapshot

import (
	"testing"

	"pigrep/query/engine/rank"
	"pigrep/query/search"
	"pigrep/query/sessions"
)

// Archives are asked for the best or the latest sessions if that is what an answer shows, and for all
// if it shows the oldest, or all.
func TestQuestionsWantEnough(t *testing.T) {
	for _, test := range []struct {
		limit  int
		sort   rank.Sort
		wanted int
		newest bool
	}{{5, rank.Relevance, 5, false}, {5, rank.Newest, 5, true}, {5, rank.Oldest, 0, false}, {search.All, rank.Relevance, 0, false}} {
		if q := questionOf(&search.Request{Text: "word", Limit: test.limit, Sort: test.sort}); q.Wanted != test.wanted || q.Newest != test.newest {
			t.Errorf("search: %+v asks for %d, %v", test, q.Wanted, q.Newest)
		}
		if q := questionOf(&sessions.Request{Text: "word", Limit: test.limit, Sort: test.sort}); q.Wanted != test.wanted || q.Newest != test.newest {
			t.Errorf("sessions: %+v asks for %d, %v", test, q.Wanted, q.Newest)
		}
	}
}
