package snapshot

import (
	"context"
	"errors"
	"testing"

	"pigrep/index"
)

// A question whose answer does not count must have ended when the generation is
// closed, and be asked again.
func TestSpeculationStopped(t *testing.T) {
	began, ended := make(chan struct{}), false
	e := &speculation{question: func(ctx context.Context, _ *index.Reader) error {
		close(began)
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}}
	stop := e.begin(t.Context(), nil)
	<-began
	stop()
	if !ended {
		t.Error("the question goes on after stop")
	}
	stop() // again is no harm
	if asked, err := e.wait(); asked || err != nil {
		t.Errorf("wait: %t, %v, want no answer", asked, err)
	}
}

func TestSpeculationAnswered(t *testing.T) {
	want := errors.New("found nothing")
	e := &speculation{question: func(context.Context, *index.Reader) error { return want }}
	e.begin(t.Context(), nil)
	if asked, err := e.wait(); !asked || !errors.Is(err, want) {
		t.Errorf("wait: %t, %v, want the answer", asked, err)
	}
	for _, none := range []*speculation{{}, {question: e.question}} {
		if none.question == nil {
			none.begin(t.Context(), nil)()
		}
		if asked, err := none.wait(); asked || err != nil {
			t.Errorf("wait without a question: %t, %v", asked, err)
		}
	}
}

func TestSpeculationPanics(t *testing.T) {
	e := &speculation{question: func(context.Context, *index.Reader) error { panic("broken") }}
	e.begin(t.Context(), nil)
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("recovered %v, want the panic of the question", got)
		}
	}()
	_, _ = e.wait()
}

// A question that was stopped is asked of the next generation.
func TestSpeculationAgain(t *testing.T) {
	asked := 0
	e := &speculation{question: func(ctx context.Context, _ *index.Reader) error {
		if asked++; asked == 1 {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	e.begin(t.Context(), nil)()
	e.begin(t.Context(), nil)
	if asked, err := e.wait(); !asked || err != nil {
		t.Errorf("wait: %t, %v, want the second answer", asked, err)
	}
}
