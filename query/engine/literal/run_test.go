package literal

import (
	"bytes"
	"math/rand/v2"
	"regexp/syntax"
	"testing"
)

// An expression has a run if its matches have only characters that raw JSON has too, and
// at least 12 of them in a row.
func TestLongestRun(t *testing.T) {
	for expr, want := range map[string]int{
		`[0-9a-f]{40}`:                           40,
		`\b[0-9a-f]{7,40}[0-9A-F]{5}(x|yz)?\b`:   12,
		`[a-f\d]{8}-([a-f\d]{4}-){3}[a-f\d]{12}`: 36,
		`.*"([0-9]{13})+"`:                       13,
		`[a-z]{5}\.[a-z]{20}|x`:                  0,
		`[a-z]{12}[^b]`:                          12,
		`\d{11}`:                                 0,
		`\w+`:                                    0,
		`.{40}`:                                  0,
		`[ -z]{40}`:                              0,
		`(?i)k{12}`:                              12,
		`é{12}`:                                  12,
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		if r := longestRun(re); r != nil {
			got = r.length
		}
		if got != want {
			t.Errorf("the run of %s has %d characters, want %d", expr, got, want)
		}
	}
}

// A run is found wherever it begins, and nothing else is.
func TestRunNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &run{length: 4}
	r.addRange('a', 'b')
	for range 2000 {
		text := make([]byte, rng.IntN(40))
		for i := range text {
			text[i] = "aabbbc"[rng.IntN(6)]
		}
		for from := range len(text) + 1 {
			want := from
			for want < len(text) && (want+4 > len(text) || bytes.IndexByte(text[want:want+4], 'c') >= 0) {
				want++
			}
			if got := r.nextRun(text, from); got != want {
				t.Fatalf("a run in %s from %d on: %d, want %d", text, from, got, want)
			}
		}
	}
}
