package segment

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	engine "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/lab/testkit"
)

// readFile reads with a Segment all that read does with the engine.
func readFile(t testing.TB, s *Segment) contents {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := contents{Postings: map[string]map[string][]hitOf{}, Values: map[string][]string{}, Stored: map[string]string{}}
	ids, docs := make([]string, s.Len()), make([]uint32, s.Len())
	for i := range docs {
		docs[i] = uint32(i)
		id, _, _ := s.storedParts(uint32(i))
		ids[i] = string(id)
		c.Stored[ids[i]+" _id"] = fmt.Sprintf("t 0 %s", id)
		if value := s.storedAt(uint32(i), nil); value != nil {
			c.Stored[ids[i]+" "+string(fieldRecord)] = fmt.Sprintf("t 0 %s", value)
		}
	}
	c.Documents = slices.Sorted(slices.Values(ids))
	s.docValues(FieldEntryHash, docs, func(doc uint32, value []byte) {
		name := ids[doc] + " " + string(FieldEntryHash)
		c.Values[name] = append(c.Values[name], string(value))
	})
	for _, f := range append(Fields(), fieldID, fieldRecord) {
		s.Terms(f, nil, func(term []byte, count int) bool {
			p := s.Postings(f, term)
			var hits []hitOf
			for doc, freq, length, ok := p.Next(); ok; doc, freq, length, ok = p.Next() {
				hits = append(hits, hitOf{ids[doc], uint64(freq), uint64(length)})
			}
			must(s.Fault())
			if count != len(hits) {
				t.Fatalf("%s: %q has %d postings, want %d", f, term, len(hits), count)
			}
			slices.SortFunc(hits, func(x, y hitOf) int { return strings.Compare(x.ID, y.ID) })
			if c.Postings[string(f)] == nil {
				c.Postings[string(f)] = map[string][]hitOf{}
			}
			c.Postings[string(f)][string(term)] = hits
			return true
		})
	}
	return c
}

// A Segment reads the same as the engine does, from our files and from the engine's.
func TestSegmentReadsWhatTheEngineReads(t *testing.T) {
	testkit.Unraced(t)
	for _, n := range []int{1, 30, 3000} {
		samples := samplesOf(rand.New(rand.NewPCG(2, uint64(n))), n, 8)
		var docs []engine.Document
		for _, s := range samples {
			docs = append(docs, s.stock())
		}
		stock, _, err := (&zap.ZapPlugin{}).New(docs)
		if err != nil {
			t.Fatal(err)
		}
		want := readStock(t, samples)
		for name, image := range map[string]*Image{"ours": ours(t, NewAccumulator(), samples), "stock": stockImage(t, stock)} {
			got := readFile(t, openImage(t, image))
			if d := diff(want, got); d != "" {
				t.Errorf("%d documents, %s (-engine +Segment):\n%s", n, name, d)
			}
		}
	}
}

// stockImage returns a segment that the engine made.
func stockImage(t testing.TB, stock any) *Image {
	t.Helper()
	var b bytes.Buffer
	if _, err := stock.(io.WriterTo).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	p, ok := readParts(b.Bytes()[b.Len()-footerSize:])
	if !ok {
		t.Fatal("unknown kind of footer")
	}
	return &Image{bytes: b.Bytes()[:b.Len()-footerSize], parts: p}
}

// KeywordsOf finds the keywords of some documents, as the postings have them.
func TestKeywordsOf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	docs := make([]Document, 9000)
	for i := range docs {
		docs[i] = Document{ID: ID{File: 1, Offset: int64(i)}, Role: []string{"", "a", "b"}[rnd.IntN(3)]}
	}
	docs[7].Role = "only one"
	s := openFile(t, docs...)
	var some []uint32
	for range 500 {
		some = append(some, rnd.Uint32N(uint32(len(docs))))
	}
	some = append(some, 7)
	want, got := make([]string, len(some)), make([]string, len(some))
	for i, doc := range some {
		want[i] = docs[doc].Role
	}
	s.KeywordsOf(FieldRole, some, func(i int, term []byte) { got[i] += string(term) })
	if !slices.Equal(want, got) {
		t.Errorf("KeywordsOf: %q, want %q", got, want)
	}
}
