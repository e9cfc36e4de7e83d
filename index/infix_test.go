package index_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
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
func checkInfix(t *testing.T, seg *index.Segment, rng randomWords, rounds int) {
	t.Helper()
	var terms []string
	if err := seg.Terms(index.FieldText, nil, func(term []byte, _ int) bool {
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
				docs, err := seg.Bitmap(index.FieldText, []byte(term))
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
		docs, ok, err := seg.Infix(index.FieldText, []byte(needle), atEnd, most)
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
	for round, alphabet := range []string{"ab", "abcdefghijklmnopqrstuvwxyz", "aéß日本語z_9", "\x7f~ab0123456789ghijk"} {
		rng := randomWords{rand.New(rand.NewPCG(3, uint64(round))), []rune(alphabet)}
		for range 3 {
			texts := make([]string, 1+rng.IntN(40))
			for i := range texts {
				texts[i] = rng.text(rng.IntN(60))
			}
			dir := tempDir(t)
			w := openWriter(t, dir)
			b := w.NewBatch()
			putFile(b, w.NextFile(), "/a.jsonl", texts...)
			commit(t, w, b)
			publish(t, w)
			for _, seg := range openReader(t, dir).Segments() {
				checkInfix(t, seg, rng, 60)
			}
		}
	}
}

// With many terms there are trigrams. They change no answer, and without them, or
// when they are not as they were written, the answers are the same too.
func TestTrigrams(t *testing.T) {
	rng := randomWords{rand.New(rand.NewPCG(5, 6)), []rune("abcdefghijklmnopqrstuvwxyz0123456789_é日")}
	dir := tempDir(t)
	w := openWriter(t, dir)
	number := 0
	add := func(texts int) {
		b := w.NewBatch()
		list := make([]string, texts)
		for i := range list {
			list[i] = rng.text(1000)
		}
		number++
		putFile(b, w.NextFile(), fmt.Sprintf("/%d.jsonl", number), list...)
		commit(t, w, b)
		publish(t, w)
	}
	files := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, "segments", "*.tri"))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no trigrams (%v)", err)
		}
		return found
	}
	add(60)
	first := files()[0]
	check := func() {
		t.Helper()
		for _, seg := range openReader(t, dir).Segments() {
			checkInfix(t, seg, rng, 10)
		}
	}
	check()

	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	add(1)
	if after, err := os.Stat(first); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("trigrams of a segment that stays were made anew (%v)", err)
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
	// Those of an older form are made anew too.
	older := append([]byte("pgtrigr1"), data[8:]...)
	if err := os.WriteFile(first, older, 0o600); err != nil {
		t.Fatal(err)
	}
	check()
	add(1)
	if now, err := os.ReadFile(first); err != nil || cmp.Diff(data, now) != "" {
		t.Errorf("trigrams of an older form were not made anew (%v)", err)
	}

	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	check()
	add(1)
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
