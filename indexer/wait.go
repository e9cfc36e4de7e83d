package indexer

import (
	"context"
	"errors"
	"time"

	"pigrep/index"
)

const (
	lockPoll     = 50 * time.Millisecond
	waitingAfter = time.Second
)

// Update brings the index up to date with the session files and opens it. While another
// process is writing, it waits for up to Options.Wait, and then does what is left to do.
// If the other process is still writing, the error is index.ErrLocked, and the result has
// the last generation and its lag. With Options.Await, it first waits for another process
// to build the first index. An index that is damaged or of another version is rebuilt. After
// an interruption, finished work is kept, and the error is the context's.
func Update(ctx context.Context, o Options) (r *Result, err error) {
	defer func() {
		if r.Reader != nil {
			r.Errors = append(r.Errors, TooLong(r.Reader, r.Found.MaxLine)...)
		}
	}()
	r, err = updateNow(ctx, o)
	if o.Await && errors.Is(err, index.ErrLocked) {
		r, err = o.awaitBuild(ctx, r, err)
	}
	if o.Wait <= 0 || !errors.Is(err, index.ErrLocked) {
		return r, err
	}
	deadline, long, poll := time.NewTimer(o.Wait), time.NewTimer(waitingAfter), time.NewTicker(lockPoll)
	defer deadline.Stop()
	defer long.Stop()
	defer poll.Stop()
	for errors.Is(err, index.ErrLocked) {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-deadline.C:
			return r, err
		case <-long.C:
			if o.Waiting != nil {
				o.Waiting(err)
			}
		case <-poll.C:
			if pid, lockErr := index.WriterPID(o.Dir); pid != 0 && lockErr == nil {
				continue
			}
			r, err = o.again(ctx, r)
		}
	}
	return r, err
}
