package segment

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	engine "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"
)

// neighbours are texts of words, and the documents of a segment that have them.
func neighbours(t *testing.T, rnd *rand.Rand, docs int) (texts [][]string, image *Image) {
	t.Helper()
	a := NewAccumulator()
	for doc := range docs {
		var words []string
		for range rnd.IntN(1 + rnd.IntN(300)) {
			words = append(words, fmt.Sprintf("w%d", rnd.IntN(500)))
		}
		texts = append(texts, words)
		a.Add(&Document{ID: ID{File: 1, Offset: int64(doc)}, Text: []byte(strings.Join(words, " "))})
	}
	image, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	return texts, image
}

// checkAdjacent asks for pairs of words that are there, and for some that may not be. It
// returns how many pairs that are not there were asked, and how many of them passed.
func checkAdjacent(t *testing.T, rnd *rand.Rand, s *Segment, texts [][]string) (absent, passed int) {
	t.Helper()
	for doc, words := range texts {
		there := map[string]bool{}
		for i := range len(words) - 1 {
			there[words[i]+" "+words[i+1]] = true
		}
		for n := range 20 {
			phrase := fmt.Sprintf("w%d w%d", rnd.IntN(500), rnd.IntN(500))
			if n%2 == 0 && len(words) > 1 {
				i := rnd.IntN(len(words) - 1)
				phrase = words[i] + " " + words[i+1]
			}
			set := make([]uint64, (s.Len()+63)/64)
			set[doc/64] = 1 << (doc % 64)
			s.KeepAdjacent(set, Pairs([]byte(phrase)))
			if err := s.Fault(); err != nil {
				t.Fatal(err)
			}
			kept := set[doc/64] != 0
			if there[phrase] && !kept {
				t.Fatalf("document %d lost %q", doc, phrase)
			}
			if !there[phrase] && len(words) > 1 {
				absent++
				if kept {
					passed++
				}
			}
		}
	}
	return absent, passed
}

// Documents with a pair of neighbours are kept, and of the others at most half, in
// segments that were built and in those that were merged from what is left of others.
func TestKeepAdjacent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(31, 7))
	absent, passed := 0, 0
	check := func(s *Segment, texts [][]string) {
		t.Helper()
		a, p := checkAdjacent(t, rnd, s, texts)
		absent, passed = absent+a, passed+p
	}
	for range 5 {
		var list []*Segment
		var left [][]string
		for range 3 {
			texts, image := neighbours(t, rnd, 150)
			s := openImage(t, image)
			check(s, texts)
			deleted := roaring.New()
			for doc := range texts {
				if rnd.IntN(3) == 0 {
					deleted.Add(uint32(doc))
				} else {
					left = append(left, texts[doc])
				}
			}
			s = s.Reference(deleted)
			defer s.Close()
			list = append(list, s)
		}
		merged, err := mergeTo(t.Context(), list, filepath.Join(t.TempDir(), "1"+Ext))
		if err != nil {
			t.Fatal(err)
		}
		defer merged.Close()
		check(merged, left)
	}
	if passed*2 > absent {
		t.Errorf("%d of %d absent pairs pass", passed, absent)
	}
}

// Nothing is known of the neighbours in a huge text, so it is kept.
func TestKeepAdjacentHuge(t *testing.T) {
	a := NewAccumulator()
	for doc, text := range []string{strings.Repeat("a b ", maxPairs/2+1), strings.Repeat("a b ", maxPairs/2)} {
		a.Add(&Document{ID: ID{File: 1, Offset: int64(doc)}, Text: []byte(text)})
	}
	image, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	set := []uint64{3}
	s := openImage(t, image)
	if s.KeepAdjacent(set, Pairs([]byte("never seen"))); s.Fault() != nil || set[0] != 1 {
		t.Errorf("kept %b, %v, want the first text only", set, s.Fault())
	}
}

// Nothing is known of the neighbours in a segment that the engine wrote, so every document
// is kept.
func TestKeepAdjacentWithoutFilters(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var docs []engine.Document
	for _, s := range samplesOf(rnd, 70, 6) {
		docs = append(docs, s.stock())
	}
	stock, _, err := (&zap.ZapPlugin{}).New(docs)
	if err != nil {
		t.Fatal(err)
	}
	s := openImage(t, stockImage(t, stock))
	set := []uint64{^uint64(0), 1<<6 - 1}
	if s.KeepAdjacent(set, Pairs([]byte("never seen"))); s.Fault() != nil || set[0] != ^uint64(0) || set[1] != 1<<6-1 {
		t.Errorf("kept %x, %v, want all", set, s.Fault())
	}
}
