package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// ErrIdle means that a server stopped because nobody used it.
var ErrIdle = errors.New("nobody has used the page")

const (
	headerTimeout = 10 * time.Second // to read the headers of a request
	grace         = time.Second      // to finish running requests when the server stops
)

// Serve answers requests until the context ends. It returns ErrIdle if the server was idle for
// too long.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer s.life.begin(func() { stop(ErrIdle) })()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ErrorLog: nil,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: s.connContext,
	}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.Follow(ctx, s.life.report) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if h.Shutdown(late) != nil {
			_ = h.Close() // every connection is dropped, whatever the error
		}
	}()
	err := h.Serve(l)
	stop(nil)
	<-ended
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrIdle) {
		return cause
	}
	return nil
}

// life stops an idle server, and notifies open pages of changes of the index.
type life struct {
	idle time.Duration

	mu      sync.Mutex
	end     *time.Timer // nil before begin, and if the server never stops by itself
	users   int         // running requests; each open page has one, to /events
	state   State
	changed chan struct{} // closed at the next report of a state; nil if nobody waits
}

// begin starts the idle timer, which calls end. stop stops the timer.
func (l *life) begin(end func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle <= 0 {
		return func() {}
	}
	l.end = time.AfterFunc(l.idle, end)
	return func() { l.end.Stop() }
}

// use counts a running request until done is called.
func (l *life) use() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users++; l.end != nil {
		l.end.Stop()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.users--; l.users == 0 && l.end != nil {
			l.end.Reset(l.idle)
		}
	}
}

func (l *life) report(state State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = state
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// watch returns the state, and a channel that is closed when the next one is reported.
func (l *life) watch() (State, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.state, l.changed
}

// showEvents sends an event for each change of the index as long as the page is open.
func (s *Server) showEvents(w http.ResponseWriter, r *http.Request) error {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		state, changed := s.life.watch()
		if _, err := fmt.Fprintf(w, "data: %d\n\n", state.Generation); err != nil || out.Flush() != nil {
			return nil // the page was closed
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-changed:
		}
	}
}
