package segment

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/internal/lab/testkit"
)

// randomWords draws texts of words of some letters, a few of them long.
type randomWords struct {
	*rand.Rand
	letters []rune
}

func (w randomWords) word(n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(w.letters[w.IntN(len(w.letters))])
	}
	return b.String()
}

func (w randomWords) text(n int) string {
	var b strings.Builder
	for range n {
		length := 1 + w.IntN(9)
		if w.IntN(12) == 0 {
			length = 50 + w.IntN(30)
		}
		b.WriteString(w.word(length) + " ")
	}
	return b.String()
}

// checkInfix compares what Infix finds with a look at every term.
func checkInfix(t *testing.T, seg *Segment, rng randomWords, rounds int) {
	t.Helper()
	var terms []string
	if err := seg.Terms(FieldText, nil, func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for range rounds {
		needle := rng.word(1 + rng.IntN(4))
		if len(terms) > 0 && rng.IntN(3) > 0 {
			term := terms[rng.IntN(len(terms))]
			from := rng.IntN(len(term))
			needle = term[from : from+1+rng.IntN(len(term)-from)]
		}
		if len(terms) > 10_000 && len(needle) < 3 {
			continue // nearly all terms have it
		}
		atEnd := rng.IntN(2) == 0
		want, n := map[uint32]bool{}, 0
		for _, term := range terms {
			if atEnd && strings.HasSuffix(term, needle) || !atEnd && strings.Contains(term, needle) {
				n++
				docs, err := seg.Bitmap(FieldText, []byte(term))
				if err != nil {
					t.Fatal(err)
				}
				for _, doc := range docs.ToArray() {
					want[doc] = true
				}
			}
		}
		most := n
		if rng.IntN(4) == 0 {
			most = max(0, n-rng.IntN(3))
		}
		docs, ok, err := seg.Infix(FieldText, []byte(needle), atEnd, most)
		if err != nil || ok != (n <= most) {
			t.Fatalf("Infix(%q, %t, %d): %t, %v, and %d terms have it", needle, atEnd, most, ok, err, n)
		}
		if !ok {
			continue
		}
		got := map[uint32]bool{}
		for _, doc := range docs.ToArray() {
			got[doc] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Infix(%q, %t) over %d terms (-want +got):\n%s", needle, atEnd, len(terms), diff)
		}
	}
}

func TestInfix(t *testing.T) {
	testkit.Unraced(t)
	for round, alphabet := range []string{"ab", "abcdefghijklmnopqrstuvwxyz", "aéß日本語z_9", "\x7f~ab0123456789ghijk"} {
		rng := randomWords{rand.New(rand.NewPCG(3, uint64(round))), []rune(alphabet)}
		for range 3 {
			texts := make([]string, 1+rng.IntN(40))
			for i := range texts {
				texts[i] = rng.text(rng.IntN(60))
			}
			checkInfix(t, openFile(t, textDocuments(texts...)...), rng, 60)
		}
	}
}

// With many terms there are trigrams. They change no answer, and without them, or
// when they are not as they were written, the answers are the same too.
func TestTrigrams(t *testing.T) {
	testkit.Unraced(t)
	rng := randomWords{rand.New(rand.NewPCG(5, 6)), []rune("abcdefghijklmnopqrstuvwxyz0123456789_é日")}
	texts := make([]string, 60)
	for i := range texts {
		texts[i] = rng.text(1000)
	}
	seg := openFile(t, textDocuments(texts...)...)
	add := func() {
		t.Helper()
		if err := seg.AddTrigrams(); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		checkInfix(t, seg, rng, 10)
	}
	check()
	add()
	first := trigramsPath(seg.Path())
	before, err := os.Stat(first)
	if err != nil {
		t.Fatalf("there are no trigrams: %v", err)
	}
	check()
	add()
	if after, err := os.Stat(first); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("trigrams that were there were made again (%v)", err)
	}

	data, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][]byte{nil, data[:len(data)-1], append([]byte("pgtrigr2"), make([]byte, len(data)-8)...), flip(data, len(data)/2), flip(data, 20)} {
		if err := os.WriteFile(first, damage, 0o600); err != nil {
			t.Fatal(err)
		}
		check()
	}
	for name, replaced := range map[string][]byte{"of an older form": append([]byte("pgtrigr1"), data[8:]...), "with a damaged head": flip(data, 20)} {
		if err := os.WriteFile(first, replaced, 0o600); err != nil {
			t.Fatal(err)
		}
		check()
		add()
		if now, err := os.ReadFile(first); err != nil || cmp.Diff(data, now) != "" {
			t.Errorf("trigrams %s were not replaced (%v)", name, err)
		}
	}

	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	check()
	add()
	if _, err := os.Stat(first); err != nil {
		t.Errorf("trigrams that are missing were not made: %v", err)
	}
	check()
}

func flip(data []byte, at int) []byte {
	data = append([]byte(nil), data...)
	data[at] ^= 4
	return data
}
