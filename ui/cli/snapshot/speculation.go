package snapshot

import (
	"context"

	"pigrep/index"
)

// speculation is a question that is answered before it is known whether the index is up
// to date. If it is not, the caller discards the answer and asks again.
type speculation struct {
	question func(context.Context, *index.Reader) error // nil for none

	cancel   context.CancelFunc // nil before begin
	done     chan struct{}
	err      error
	panicked any
	stopped  bool // the answer is discarded
}

// begin starts answering from a generation; stop must be called before that is closed.
func (e *speculation) begin(ctx context.Context, r *index.Reader) (stop func()) {
	if e.question == nil {
		return e.stop
	}
	ctx, e.cancel = context.WithCancel(ctx)
	e.done, e.stopped, e.panicked = make(chan struct{}), false, nil
	go func() {
		defer close(e.done)
		defer func() { e.panicked = recover() }() // wait panics with it
		e.err = e.question(ctx, r)
	}()
	return e.stop
}

// stop discards the answer and waits until the generation is no longer in use.
func (e *speculation) stop() {
	if e.cancel != nil && !e.stopped {
		e.stopped = true
		e.cancel()
		<-e.done
	}
}

// wait waits for the answer and reports whether it is valid.
func (e *speculation) wait() (asked bool, err error) {
	if e.cancel == nil || e.stopped {
		return false, nil
	}
	<-e.done
	e.cancel()
	if e.panicked != nil {
		panic(e.panicked)
	}
	return true, e.err
}
