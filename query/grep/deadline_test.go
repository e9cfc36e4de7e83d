package grep

import (
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
	f := newFinder(ctx, p, false)
	stopped := f.dfa.stopped
	f.dfa.stopped = func() bool { cancel(); return stopped() }
	f.find(text, -1)
	if ctx.Err() == nil || f.dfa.steps > 2*stopEvery {
		t.Errorf("%d steps, of which the first %d may be taken", f.dfa.steps, stopEvery)
	}
}
