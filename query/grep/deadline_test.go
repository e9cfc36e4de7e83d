package grep

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
)

// A search within one text ends soon after its context is done, even while no line
// matches.
func TestFinderStops(t *testing.T) {
	req := &Request{Patterns: []string{`a.{300}\d$`}}
	p, err := req.compile()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = "ab"[random.IntN(2)]
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := newFinder(ctx, p)
	stopped := f.dfa.stopped
	f.dfa.stopped = func() bool { cancel(); return stopped() }
	f.find(text, -1, false)
	if ctx.Err() == nil || f.dfa.steps > 2*stopEvery {
		t.Errorf("%d steps, of which the first %d may be taken", f.dfa.steps, stopEvery)
	}
}

// Every match in a long line may take as long as the line.
func TestFinderStopsBetweenMatches(t *testing.T) {
	p, err := (&Request{Patterns: []string{"x*y|x"}}).compile()
	if err != nil {
		t.Fatal(err)
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	line := bytes.Repeat([]byte("x"), longText+1)
	if list := newFinder(expired, p).findAll(line); len(list) > firstMatches {
		t.Errorf("%d matches after the end of the context", len(list))
	}
	short := append(bytes.Repeat([]byte("xy "), longText/3+1), 'x')
	if list := newFinder(t.Context(), p).findAll(short); len(list) != longText/3+2 {
		t.Errorf("%d matches, want %d", len(list), longText/3+2)
	}
}
