package indexer

import (
	"context"
	"errors"
	"fmt"
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
			r.Errors = append(r.Errors, LeftOut(r.Reader, r.Found.Limits.Line)...)
		}
	}()
	r, err = updateNow(ctx, o)
	if o.Await && errors.Is(err, index.ErrLocked) {
		r, err = o.awaitBuild(ctx, r, err)
	}
	if o.Wait <= 0 || !errors.Is(err, index.ErrLocked) {
		return r, err
	}
	deadline, long, poll := time.After(o.Wait), time.After(waitingAfter), time.Tick(lockPoll)
	for errors.Is(err, index.ErrLocked) {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-deadline:
			return r, err
		case <-long:
			if o.Waiting != nil {
				o.Waiting(err)
			}
		case <-poll:
			if pid, lockErr := index.WriterPID(o.Dir); pid != 0 && lockErr == nil {
				continue
			}
			r, err = o.again(ctx, r)
		}
	}
	return r, err
}

// giveUp is how long a process that builds the first index may show no sign of life before the
// others give up, if there is too much to index in memory.
const giveUp = 10 * patience

// awaitBuild waits for the process that builds the first index while that lives, and then does
// what is left to do. If it shows no sign of life, what is pending is indexed in memory.
func (o Options) awaitBuild(ctx context.Context, r *Result, err error) (*Result, error) {
	alone := o
	alone.memory = aloneMemory
	enough := giveUp
	if alone.fitsMemory(r) {
		enough = patience
	}
	poll, dead := time.Tick(lockPoll), time.NewTimer(enough)
	last := index.Announcement(o.Dir)
	for errors.Is(err, index.ErrLocked) && (r.Reader == nil || last != "") {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-dead.C:
			if r, err = alone.again(ctx, r); errors.Is(err, index.ErrLocked) {
				err = fmt.Errorf("%w, which shows no sign of life", err)
			}
			return r, err
		case <-poll:
		}
		if at := Building(o.Dir); at != nil && o.Progress != nil {
			o.Progress(*at)
		}
		said := index.Announcement(o.Dir)
		pid, lockErr := index.WriterPID(o.Dir)
		switch {
		case pid == 0 || lockErr != nil || said == "" && last != "":
			r, err = o.again(ctx, r)
		case said == last:
			continue
		}
		last = said
		dead.Reset(enough)
	}
	return r, err
}

// again is another updateNow.
func (o Options) again(ctx context.Context, r *Result) (*Result, error) {
	if r.Reader != nil {
		r.Reader.Close()
	}
	return updateNow(ctx, o)
}
