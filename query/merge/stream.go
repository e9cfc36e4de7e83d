package merge

import (
	"context"
	"errors"
	"sync"
)

// errEnough ends a stream whose limit is reached.
var errEnough = errors.New("enough")

// interleave visits the elements of several streams in one order, as the first that comes next
// of all is known: each stream has its own in this order already. Elements that compare as
// equal come in the order of the streams. A stream waits until its element has been visited. It
// ends with the first error; errEnough is none.
func interleave[T any](ctx context.Context, streams []func(context.Context, func(*T) error) error, compare func(a, b *T) int, visit func(stream int, x *T) error) error {
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
	for i := range next {
		if heads[i] = <-next[i]; heads[i] == nil && errs[i] != nil {
			return errs[i]
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
		if err := visit(best, heads[best]); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
		<-next[best]
		if heads[best] = <-next[best]; heads[best] == nil && errs[best] != nil {
			return errs[best]
		}
	}
}
