// Package merge joins the answers of several indexes, each of which answered a question on its own.
// Hits are ordered by class, then by score, then by time. Counts are added. Copies are joined entry
// by entry, such as the entries of a session that two machines have. If the counts of copies cannot
// be told apart, the largest one counts, and the answer says "at least".
//
// The rows of a table do not say which sessions they count. Answers with tables list their sessions
// (search.Held), and Without says which sessions to leave out of each table, so that each counts once.
//
// Answers may be joined before all of them have come. Answers are untrusted: joining takes time in
// proportion to their size, and believes an answer only about its own sessions. The sessions of an
// answer must already have the names by which other answers call them.
//
// The package imports the questions. It knows neither how hosts are reached nor who asks.
package merge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"pigrep/query/search"
)

// Without returns for each index the sessions that another index answers for. The index with most of a
// session answers for it; of equals, the first. Without returns nil if no session is in two indexes.
func Without(indexes [][]search.Held) [][]uint64 {
	type owner struct {
		index int
		size  int64
	}
	owners := make(map[uint64]owner)
	for i, list := range indexes {
		for _, s := range list {
			if o, ok := owners[s.ID]; !ok || s.Size > o.size {
				owners[s.ID] = owner{i, s.Size}
			}
		}
	}
	without, some := make([][]uint64, len(indexes)), false
	for i, list := range indexes {
		for _, s := range list {
			if owners[s.ID].index != i {
				without[i], some = append(without[i], s.ID), true
			}
		}
	}
	if !some {
		return nil
	}
	return without
}

// An answer embeds a search.About.
type answer interface{ Beside() *search.About }

// about sums up the states of several indexes, and what hosts warn of, the same only once.
func about[T answer](list []T) (sum search.About) {
	state := &sum.Index
	state.Complete = true
	for _, x := range list {
		said := x.Beside()
		o := &said.Index
		addUp(state, o)
		state.Generation = max(state.Generation, o.Generation)
		state.Complete = state.Complete && o.Complete
		state.Several = state.Several || o.Several
		for _, w := range first(said.Warnings, mostSaid) {
			if !slices.Contains(sum.Warnings, w) {
				sum.Warnings = append(sum.Warnings, w)
			}
		}
	}
	return sum
}

// mostSaid is how many sentences, words or filters of a host count: none has more to say.
const mostSaid = 100

// said returns the sentences that all hosts say, as search.Unknown makes them: "no project atals;
// projects like it: atlas". What they suggest is joined.
func said(lists [][]string) (common []string) {
	if len(lists) == 0 {
		return nil
	}
	for _, sentence := range first(lists[0], mostSaid) {
		about, _, _ := strings.Cut(sentence, "; ")
		sayers := 0
		var suggested []string
		for _, list := range lists {
			list = first(list, mostSaid)
			i := slices.IndexFunc(list, func(s string) bool { return s == about || strings.HasPrefix(s, about+"; ") })
			if i >= 0 {
				sayers++
				suggested = append(suggested, strings.TrimPrefix(list[i][len(about):], "; "))
			}
		}
		if sayers == len(lists) {
			common = append(common, strings.TrimSuffix(about+"; "+joined(suggested), "; "))
		}
	}
	return common
}

// joined joins what hosts suggest: names that are like the one that was typed, or if there are
// none all names.
func joined(suggested []string) string {
	for _, sep := range []string{" like it: ", " are "} {
		intro := ""
		var names []string
		for _, s := range suggested {
			before, list, ok := strings.Cut(s, sep)
			if !ok {
				continue
			}
			intro = before + sep
			for _, name := range first(strings.Split(list, ", "), mostSaid) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		if len(names) > 0 {
			return intro + strings.Join(names, ", ")
		}
	}
	return ""
}

// first returns a list's first elements, as many as a limit allows.
func first[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}

// errEnough ends a stream whose limit is reached.
var errEnough = errors.New("enough")

// interleave visits the elements of several streams in one order, as the first that comes next
// of all is known: each stream has its own in this order already. Elements that compare as
// equal come in the order of the streams. A stream waits until its element has been visited. It
// ends with the first error; errEnough is none.
func interleave[T any](ctx context.Context, streams []func(context.Context, func(*T) error) error, compare func(a, b *T) int, visit func(*T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	next := make([]chan *T, len(streams))
	errs := make([]error, len(streams))
	for i, stream := range streams {
		next[i] = make(chan *T)
		wg.Go(func() {
			defer close(next[i])
			errs[i] = stream(ctx, func(x *T) error {
				select {
				case next[i] <- x:
				case <-ctx.Done():
					return ctx.Err()
				}
				select { // until it has been visited
				case next[i] <- nil:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}
	heads := make([]*T, len(streams))
	advance := func(i int) error {
		if heads[i] = <-next[i]; heads[i] == nil {
			return errs[i]
		}
		return nil
	}
	for i := range next {
		if err := advance(i); err != nil {
			return err
		}
	}
	for {
		best := -1
		for i, x := range heads {
			if x != nil && (best < 0 || compare(x, heads[best]) < 0) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		if err := visit(heads[best]); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
		<-next[best]
		if err := advance(best); err != nil {
			return err
		}
	}
}
