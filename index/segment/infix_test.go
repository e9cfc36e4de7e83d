package segment

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
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
	seg.Terms(FieldText, nil, func(term []byte, _ int) bool {
		terms = append(terms, string(term))
		return true
	})
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
				for _, doc := range seg.Bitmap(FieldText, []byte(term)).ToArray() {
					want[doc] = true
				}
			}
		}
		most := n
		if rng.IntN(4) == 0 {
			most = max(0, n-rng.IntN(3))
		}
		seg.infixes.walks, seg.infixes.terms = rng.IntN(2)*walksInTurn, nil // the terms get into memory, or do not
		docs, ok := seg.Infix(FieldText, []byte(needle), atEnd, most)
		if err := seg.Fault(); err != nil || ok != (n <= most) {
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

// What a caller does with the documents of a needle, and which documents a reference to the
// segment lacks, changes no later answer.
func TestInfixAgain(t *testing.T) {
	t.Parallel()
	seg := openFile(t, textDocuments("getUserName", "userName", "other", "aUserB")...)
	fewer := seg.Reference(roaring.BitmapOf(1))
	t.Cleanup(func() { _ = fewer.Close() })
	for range 3 {
		for s, want := range map[*Segment][]uint32{seg: {0, 1, 3}, fewer: {0, 3}} {
			docs, ok := s.Infix(FieldText, []byte("user"), false, 100)
			if err := s.Fault(); err != nil || !ok || !slices.Equal(docs.ToArray(), want) {
				t.Fatalf("documents %v, %t, %v; want %v", docs, ok, err, want)
			}
			docs.Clear()
		}
		if docs, ok := seg.Infix(FieldText, []byte("user"), false, 1); ok || seg.Fault() != nil {
			t.Errorf("documents %v, %v: more terms than allowed", docs, seg.Fault())
		}
	}
}

// Goroutines that look for the same needle get documents of their own.
// A text field without a term is asked as often as others.
func TestInfixOfNothing(t *testing.T) {
	t.Parallel()
	seg := openFile(t, textDocuments("", "!")...)
	for n := range byte(walksInTurn + 2) {
		if docs, ok := seg.Infix(FieldText, []byte{'a' + n}, false, 100); seg.Fault() != nil || !ok || !docs.IsEmpty() {
			t.Fatalf("documents %v, %t, %v; want none", docs, ok, seg.Fault())
		}
	}
}

func TestInfixAtTheSameTime(t *testing.T) {
	t.Parallel()
	seg := openFile(t, textDocuments("getUserName", "userName", "other", "aUserB")...)
	var all sync.WaitGroup
	for n := range uint32(8) {
		all.Go(func() {
			for range 100 {
				docs, ok := seg.Infix(FieldText, []byte("user"), false, 100)
				if err := seg.Fault(); err != nil || !ok || !slices.Equal(docs.ToArray(), []uint32{0, 1, 3}) {
					t.Errorf("documents %v, %t, %v", docs, ok, err)
					return
				}
				docs.Add(10 + n)
			}
		})
	}
	all.Wait()
}

// However many needles are looked for, a segment keeps little of them.
func TestInfixMemory(t *testing.T) {
	t.Parallel()
	seg := openFile(t, textDocuments("some words of a text")...)
	for i := range 1000 {
		seg.Infix(FieldText, fmt.Appendf(nil, "x%d", i), false, 10)
	}
	if err := seg.Fault(); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, found := range seg.infixes.latest {
		size += found.size()
	}
	if _, last := seg.infixes.get(infixKey{FieldText, "x999", false}); size > infixMemory || !last {
		t.Errorf("%d bytes are kept, want %d at most; with those of the last needle: %t", size, infixMemory, last)
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
		name, data, err := seg.NewTrigrams()
		if err == nil && data != nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(seg.Path()), name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		checkInfix(t, seg, rng, 10)
	}
	check()
	add()
	first := seg.trigramsPath()
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
