package grep

import (
	"bytes"
	"context"
	"testing"
)

// A search within one line of many megabytes ends soon after its context is done, whether a
// line matches, or does not, or matches everywhere.
func TestFinderStops(t *testing.T) {
	t.Parallel()
	line := bytes.Repeat([]byte("ab c"), 8<<20/4)
	for _, req := range []Request{
		{Patterns: []string{`a.{300}\d$`}},
		{Patterns: []string{`[a-b]*x|b`}},
		{Patterns: []string{`(?:a|b| |c)*`}, Multiline: true},
		{Patterns: []string{`b`}, Word: true},
		{Patterns: []string{string(line[:1<<20]) + "d"}, Fixed: true},
	} {
		p, err := req.compile()
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{0, 1 << 20} {
			ctx, cancel := context.WithCancel(t.Context())
			f := newFinder(ctx, p, limit)
			asked := 0
			f.matcher.Ended = func() bool {
				if asked++; asked == 3 {
					cancel()
				}
				return ctx.Err() != nil
			}
			f.find(line, 0, -1, false)
			if asked < 3 || asked > 5 {
				t.Errorf("%.20q, %d bytes: asked %d times whether to stop, of which the third said so", req.Patterns[0], limit, asked)
			}
		}
	}
}
