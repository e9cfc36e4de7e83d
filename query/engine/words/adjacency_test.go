package words

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/query/engine/match"
)

// Whatever piece of a text is searched as a phrase, the index does not rule the text out:
// where the phrase begins and ends, how it is written, and what is between its words do not
// matter.
func TestNoPhraseIsRuledOut(t *testing.T) {
	pieces := []string{
		"get", "getUserName", "get_user_name", "__init__", "HTTPServer2", "x", "_", "Ünïcode", "straße", "Łódź", "ﬁle", "½", "²", "…", "™", "日本", "語", "한국어", "ไทย", "नमस्ते", "e\u0301", "\u0301", "❯", "😀",
		strings.Repeat("long", 20), strings.Repeat("é", 40), "\x1b[31m", "\x1b[1;31m", "\x1b[mget x", "\xff", " ", "  ", "\n", "\t", "\u00a0", ".", "/", "->", "::", "\"", "\\", "-", "42", "v1.2",
	}
	rnd := rand.New(rand.NewPCG(8, 15))
	var analyzer analysis.Analyzer
	asked := 0
	for range 40 {
		a := segment.NewAccumulator()
		var texts []string
		for doc := range 60 {
			var b strings.Builder
			for range 1 + rnd.IntN(30) {
				b.WriteString(pieces[rnd.IntN(len(pieces))])
				if rnd.IntN(2) == 0 {
					b.WriteByte(' ')
				}
			}
			texts = append(texts, b.String())
			a.Add(&segment.Document{ID: segment.ID{File: 1, Offset: int64(doc)}, Text: []byte(b.String())})
		}
		image, err := a.Build()
		if err != nil {
			t.Fatal(err)
		}
		seg, err := image.Segment()
		if err != nil {
			t.Fatal(err)
		}
		for doc, text := range texts {
			folded := analyzer.FoldText([]byte(text)).Text
			for range 60 {
				from := rnd.IntN(len(text))
				phrase := text[from : from+1+rnd.IntN(len(text)-from)]
				needle := match.NewNeedle(phrase)
				if _, _, ok := needle.Find(folded, 0); !ok {
					continue
				}
				pairs := segment.Pairs(needle.Text)
				if len(pairs) == 0 {
					continue
				}
				asked++
				set := []uint64{1 << doc}
				seg.KeepAdjacent(set, pairs)
				if set[0] == 0 {
					t.Fatalf("%q in %q is ruled out", phrase, text)
				}
			}
		}
		if err := seg.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if asked < 1000 {
		t.Errorf("only %d phrases were asked", asked)
	}
}
