package cli

import (
	"context"

	"pigrep/index"
)

// speculation is a question that is asked before it is known whether its answer is
// valid; when it is not, the caller asks again.
type speculation struct {
	question func(context.Context, *index.Reader) error // nil for none

	cancel   context.CancelFunc // nil before it is asked
	done     chan struct{}
	err      error
	panicked any
	stopped  bool // the answer is not valid
}

// begin asks a generation; stop must be called before that is closed.
func (e *speculation) begin(ctx context.Context, r *index.Reader) (stop func()) {
	if e.question == nil {
		return e.stop
	}
	ctx, e.cancel = context.WithCancel(ctx)
	e.done, e.stopped, e.panicked = make(chan struct{}), false, nil
	go func() {
		defer close(e.done)
		defer func() { e.panicked = recover() }() // for the goroutine that waits
		e.err = e.question(ctx, r)
	}()
	return e.stop
}

// stop waits until nothing of the generation is in use.
func (e *speculation) stop() {
	if e.cancel != nil && !e.stopped {
		e.stopped = true
		e.cancel()
		<-e.done
	}
}

// wait waits for the answer and reports whether there is one that counts.
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
