package grep

import (
	"testing"
	"testing/synctest"
)

// A search with a low limit finds only a few matches ahead of those that it emits.
func TestFewMatchesAreFoundAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t.Context(), 3)
		first, second := &task{}, &task{}
		put := 0
		go func() {
			for range 10 {
				if q.put(second, &Match{}) != nil {
					return
				}
				put++
			}
			q.end(second)
		}()
		synctest.Wait()
		if put != 3 {
			t.Errorf("%d matches wait, want 3", put)
		}
		if q.end(first); len(q.take(first, nil)) != 0 {
			t.Error("the first task has matches")
		}
		got := 0
		for {
			matches := q.take(second, nil)
			if len(matches) == 0 {
				break
			}
			got += len(matches)
		}
		if got != 10 {
			t.Errorf("%d matches were emitted, want all 10", got)
		}
	})
}
