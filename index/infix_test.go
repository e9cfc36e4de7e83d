package index_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
)

// What Inside finds is compared with a look at every term, on dictionaries of
// many shapes.
func TestInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabets := []string{"ab", "abcdefghijklmnopqrstuvwxyz", "aéß日本語z_9", "\x7f~ab0123456789ghijk"}
	for round := range 12 {
		letters := []rune(alphabets[round%len(alphabets)])
		word := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteRune(letters[rng.IntN(len(letters))])
			}
			return b.String()
		}
		texts := make([]string, 1+rng.IntN(40))
		for i := range texts {
			var b strings.Builder
			for range rng.IntN(60) {
				n := 1 + rng.IntN(9)
				if rng.IntN(12) == 0 {
					n = 50 + rng.IntN(30)
				}
				b.WriteString(word(n) + " ")
			}
			texts[i] = b.String()
		}
		dir := tempDir(t)
		w := openWriter(t, dir)
		b := w.NewBatch()
		putFile(b, w.NextFile(), "/a.jsonl", texts...)
		commit(t, w, b)
		publish(t, w)
		r := openReader(t, dir)
		for _, seg := range r.Segments() {
			var terms []string
			if err := seg.Terms(index.FieldText, nil, func(term []byte, _ int) bool {
				terms = append(terms, string(term))
				return true
			}); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				needle := word(1 + rng.IntN(4))
				if len(terms) > 0 && rng.IntN(2) == 0 {
					term := terms[rng.IntN(len(terms))]
					from := rng.IntN(len(term))
					needle = term[from : from+1+rng.IntN(len(term)-from)]
				}
				long := []int{1, 5, 61, 64}[rng.IntN(4)]
				want := map[string]bool{}
				for _, term := range terms {
					i := strings.Index(term, needle)
					if i >= 0 && i+len(needle) <= long {
						want[fmt.Sprint(term[:i+len(needle)], true)] = true
					} else if len(term) >= long {
						want[fmt.Sprint(term[:long], false)] = true
					}
				}
				got := map[string]bool{}
				last := []byte(nil)
				if err := seg.Inside(index.FieldText, []byte(needle), long, func(beginning []byte, holds bool) bool {
					if last != nil && bytes.Compare(last, beginning) >= 0 {
						t.Errorf("%q comes after %q", beginning, last)
					}
					last = bytes.Clone(beginning)
					got[fmt.Sprint(string(beginning), holds)] = true
					return true
				}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("Inside(%q, %d) over %d terms (-want +got):\n%s", needle, long, len(terms), diff)
				}
			}
		}
	}
}
