package bytescan

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// A pair is found at its first place, wherever that is in the steps of the search.
func TestPairNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, rng.IntN(150))
		for i := range text {
			text[i] = "aaaaaaaaaaaAbB\x01!\xe2"[rng.IntN(17)]
		}
		a, b, fold := "abc!\xe2"[rng.IntN(5)], "abcB"[rng.IntN(4)], rng.IntN(2) == 0
		p := NewPair(a, b, rng.IntN(4), fold)
		same := func(x, y byte) bool { return (x^y)&^byte(p.anyCase) == 0 }
		for from := range len(text) + 1 {
			want := from
			for want < len(text) && (want+p.distance >= len(text) || !same(text[want], a) || !same(text[want+p.distance], b)) {
				want++
			}
			if got := p.Next(text, from); got != want {
				t.Fatalf("%q and %q, %d bytes apart, in %q from %d on: %d, want %d", a, b, p.distance, text, from, got, want)
			}
		}
	}
}

// A quote is found unless a single backslash is before it.
func TestQuote(t *testing.T) {
	single := regexp.MustCompile(`(?:^|[^\\])\\"$`)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		data := make([]byte, rng.IntN(150))
		for i := range data {
			data[i] = `aaaaaaaaaaaaaaaaa\\\"b`[rng.IntN(22)]
		}
		for from := 2; from <= len(data); from++ {
			want := from
			for want < len(data) && (data[want] != '"' || single.Match(data[want-2:want+1])) {
				want++
			}
			if got := Quote(data, from); got != want {
				t.Fatalf("a quote in %s from %d on: %d, want %d", data, from, got, want)
			}
		}
	}
}
