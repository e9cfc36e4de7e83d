package segment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"go/build"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/collector"
	"github.com/blevesearch/bleve/v2/search/searcher"
	engine "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"
	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/lab/testkit"
)

// ours builds the samples with an accumulator.
func ours(t testing.TB, a *Accumulator, samples []sample) *Image {
	t.Helper()
	a.Reset()
	for _, s := range samples {
		s.addTo(a)
	}
	s, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readOurs(t testing.TB, s *Image) contents {
	t.Helper()
	opened, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, part{Segment: opened})
}

func readStock(t testing.TB, samples []sample) contents {
	t.Helper()
	var docs []engine.Document
	for _, s := range samples {
		docs = append(docs, s.stock())
	}
	opened, _, err := (&zap.ZapPlugin{}).New(docs)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, part{Segment: opened})
}

// diff is cmp.Diff, which takes long over large values that are equal.
func diff(x, y any) string {
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return fmt.Sprintf("%.3000s", gocmp.Diff(x, y))
}

func compare(t testing.TB, samples []sample) {
	t.Helper()
	if d := diff(readStock(t, samples), readOurs(t, ours(t, NewAccumulator(), samples))); d != "" {
		t.Errorf("segment of %d documents (-stock +ours):\n%s", len(samples), d)
	}
}

func TestOneSegment(t *testing.T) {
	tests := map[string][]sample{
		"one":         {{id: "a", text: "hello hello World getUserName", keywords: []keywordTerm{{inKind, "prompt"}, {inHash, "xyz"}}}},
		"bare":        {{id: "a"}, {id: "b"}},
		"stored":      {{id: "r:1", value: []byte("some value")}, {id: "a", text: "x"}, {id: "r:2", value: []byte{}}},
		"only stored": {{id: "r:1", value: bytes.Repeat([]byte("some value "), 5000)}},
		"keyword twice in a document": {
			{id: "a", keywords: []keywordTerm{{inHash, "b"}}},
			{id: "b", keywords: []keywordTerm{{inHash, "b"}, {inKind, "x"}}, text: "中文 text"},
		},
		"binary": {{id: "\x01\xff", text: "a\x00b \xff", keywords: []keywordTerm{{inTool, "\x00"}, {inEntry, "é"}}}},
	}
	for name, samples := range tests {
		t.Run(name, func(t *testing.T) { compare(t, samples) })
	}
}

// A keyword field may have several values in a document; doc values come in the order of the terms.
func TestSeveralKeywords(t *testing.T) {
	a := NewAccumulator()
	a.add([]byte("a"), []keywordTerm{{inHash, "z"}, {inHash, "m"}, {inHash, "z"}}, nil)
	s, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	c := readOurs(t, s)
	if d := diff(map[string][]string{"a copy": {"m", "z"}}, c.Values); d != "" {
		t.Errorf("doc values (-want +got):\n%s", d)
	}
	if d := diff(map[string][]hitOf{"m": {{"a", 1, 3}}, "z": {{"a", 2, 3}}}, c.Postings["copy"]); d != "" {
		t.Errorf("postings (-want +got):\n%s", d)
	}
}

func TestKeyOf(t *testing.T) {
	token := []byte("abcdefghijklmnopqrst")
	for n := range len(token) {
		var want [8]byte
		copy(want[:], token[:n])
		if got := keyOf(token[:n]); got != binary.BigEndian.Uint64(want[:]) {
			t.Errorf("keyOf(%q) = %x, want %x", token[:n], got, want)
		}
	}
}

// Terms that share their keys, or all of their bytes but the last or the first, or that differ in zeros at the end.
func TestTermsAlike(t *testing.T) {
	var samples []sample
	for i := range 300 {
		b := bytes.Repeat([]byte("x"), i%20)
		if len(b) > 0 {
			b[(i*7)%len(b)] = byte('a' + i%26)
		}
		b = append(b, bytes.Repeat([]byte{0}, i%3)...)
		samples = append(samples, sample{id: fmt.Sprint(i), keywords: []keywordTerm{{inTool, string(b)}, {inHash, string(b) + "y"}}})
	}
	compare(t, samples)
}

// words gives a text in which some words are frequent and some are in no other text.
func words(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		switch x := r.ExpFloat64(); {
		case x > 4:
			fmt.Fprintf(&b, "%x ", r.Uint32())
		case x > 3:
			fmt.Fprintf(&b, "getWord%dName ", r.IntN(50))
		default:
			fmt.Fprintf(&b, "w%d ", int(x*20))
		}
	}
	return b.String()
}

func samplesOf(r *rand.Rand, n, textWords int) []sample {
	kinds := []string{"prompt", "reply", "call", "result"}
	list := make([]sample, n)
	for i := range list {
		s := sample{id: fmt.Sprintf("%06x:%04x", r.IntN(1<<24), i)}
		if r.IntN(10) == 0 {
			s.value = []byte(words(r, 10))
			list[i] = s
			continue
		}
		s.keywords = append(s.keywords, keywordTerm{inKind, kinds[r.IntN(len(kinds))]})
		if r.IntN(2) == 0 {
			s.keywords = append(s.keywords, keywordTerm{inTool, "bash"})
		}
		if r.IntN(3) > 0 {
			s.keywords = append(s.keywords, keywordTerm{inEntry, fmt.Sprintf("%08x", r.Uint32())})
		}
		if r.IntN(5) > 0 {
			s.keywords = append(s.keywords, keywordTerm{inHash, fmt.Sprintf("c%d", r.IntN(n))})
		}
		s.text = words(r, r.IntN(textWords))
		list[i] = s
	}
	return list
}

// Around the sizes at which chunks of frequencies, chunks of doc values and containers of a bitmap begin.
func TestSegmentSizes(t *testing.T) {
	testkit.Unraced(t)
	for _, n := range []int{2, 1023, 1024, 1025, 2048, 4097} {
		compare(t, samplesOf(rand.New(rand.NewPCG(1, uint64(n))), n, 6))
	}
}

// More documents than one container of a bitmap holds, with terms in all, in every other, in the first and last ones.
func TestManyDocuments(t *testing.T) {
	testkit.Slow(t)
	const n = 66_000
	list := make([]sample, n)
	for i := range list {
		text := "all"
		if i%2 == 0 {
			text += " even even"
		}
		if i < 65_536 {
			text += " low"
		} else {
			text += " high"
		}
		if i%20 == 0 {
			text += " twentieth"
		}
		if i == n-1 {
			text += " last"
		}
		list[i] = sample{id: fmt.Sprintf("%08x", i), text: text, keywords: []keywordTerm{{inKind, "k"}, {inHash, fmt.Sprintf("c%d", i/3)}}}
	}
	compare(t, list)
}

// corpus returns the texts of real files: source code of a package next to this one, and the session files of
// $PIGREP_FIXTURES/real when there are any.
func corpus(t testing.TB) []sample {
	t.Helper()
	var list []sample
	add := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// The beginning of a session has everything; reading all postings of all of it takes long.
		for i, line := range bytes.SplitAfter(data[:min(len(data), 50_000)], []byte("\n")) {
			list = append(list, sample{
				id: fmt.Sprintf("%06x:%010x", len(list), i), text: string(line),
				keywords: []keywordTerm{{inKind, filepath.Ext(path)}, {inEntry, fmt.Sprint(len(list))}, {inHash, fmt.Sprint(len(line))}},
			})
		}
	}
	walk := func(root, ext string) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ext {
				add(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	walk("../analysis", ".go")
	if dir := os.Getenv("PIGREP_FIXTURES"); dir != "" {
		walk(filepath.Join(dir, "real"), ".jsonl")
	}
	return list
}

func TestRealTexts(t *testing.T) {
	testkit.Unraced(t)
	compare(t, corpus(t))
}

// What was used before leaves no trace, and the order of the hash tables does not show.
func TestReuse(t *testing.T) {
	testkit.Unraced(t)
	r := rand.New(rand.NewPCG(1, 2))
	a := NewAccumulator()
	for range 5 {
		samples := samplesOf(r, 1+r.IntN(3000), 1+r.IntN(30))
		again := ours(t, a, samples)
		fresh := ours(t, NewAccumulator(), samples)
		if !bytes.Equal(again.bytes, fresh.bytes) {
			t.Fatalf("segment of %d documents differs when the accumulator was used before", len(samples))
		}
	}
	a.Reset()
	if _, err := a.Build(); err == nil {
		t.Error("Build without documents: no error")
	}
}

// memory estimates the bytes of memory that the documents take.
func (a *Accumulator) memory() int {
	n := len(a.values)
	for _, f := range a.fields {
		n += len(f.bytes) + 24*len(f.terms) + 8*len(f.slots) + 8*len(f.postings) + 4*len(f.ends) + 4*len(f.lengths)
	}
	return n
}

func TestSizeEstimates(t *testing.T) {
	testkit.Unraced(t)
	a := NewAccumulator()
	for _, s := range samplesOf(rand.New(rand.NewPCG(1, 1)), 2000, 200) {
		s.addTo(a)
	}
	image, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	full := a.memory()
	if a.sizeOfOutput() < len(image.bytes) || a.sizeOfOutput() > 5*len(image.bytes) {
		t.Errorf("memory %d, expects %d bytes for a segment of %d", full, a.sizeOfOutput(), len(image.bytes))
	}
	a.Reset()
	a.add([]byte("x"), nil, []byte("small"))
	a.Reset()
	if a.memory() > full/8 || cap(a.text.postings) > 1<<12 {
		t.Errorf("%d bytes after one small document, %d before: memory is kept", a.memory(), full)
	}
}

// The check that Build makes sees a segment that is not what was put in.
func TestCheck(t *testing.T) {
	base := []sample{{id: "a", text: "one two two"}, {id: "b", text: "two"}, {id: "r", value: []byte("v")}}
	other := map[string][]sample{
		"document missing": base[:2],
		"term missing":     {{id: "a", text: "two two"}, base[1], base[2]},
		"posting missing":  {base[0], {id: "b", text: "one"}, base[2]},
		"other frequency":  {{id: "a", text: "one two"}, {id: "b", text: "two two"}, base[2]},
		"other id":         {{id: "c", text: "one two two"}, base[1], base[2]},
		"other value":      {base[0], base[1], {id: "r", value: []byte("w")}},
	}
	a := NewAccumulator()
	s := ours(t, a, base)
	if err := s.check(a); err != nil {
		t.Fatalf("check of a good segment: %v", err)
	}
	for name, samples := range other {
		b := NewAccumulator()
		ours(t, b, samples)
		if err := s.check(b); err == nil {
			t.Errorf("%s: check finds nothing", name)
		}
	}
	s.bytes[10] ^= 1
	if err := s.check(a); err == nil {
		t.Error("flipped bit: check finds nothing")
	}
}

func TestMixedBatchIsRefused(t *testing.T) {
	s := ours(t, NewAccumulator(), []sample{{id: "a"}})
	if _, _, err := (&plugin{}).NewUsing([]engine.Document{&carrier{s}, sample{id: "b"}.stock()}, nil); err == nil {
		t.Error("a batch with a segment and a document: no error")
	}
}

func openIndex(t testing.TB, dir string) *scorch.Scorch {
	t.Helper()
	index, err := scorch.NewScorch(scorch.Name, map[string]any{"path": dir}, engine.NewAnalysisQueue(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Open(); err != nil {
		t.Fatal(err)
	}
	return index.(*scorch.Scorch)
}

// apply makes one batch: with the engine's builder, or with ours.
func apply(t testing.TB, index *scorch.Scorch, a *Accumulator, samples []sample, deleted []string) {
	t.Helper()
	b := engine.NewBatch()
	for _, id := range deleted {
		b.Delete(id)
	}
	switch {
	case len(samples) == 0:
	case a != nil:
		for _, s := range samples {
			b.Delete(s.id)
		}
		b.Update(&carrier{ours(t, a, samples)})
	default:
		for _, s := range samples {
			b.Update(s.stock())
		}
	}
	if err := index.Batch(b); err != nil {
		t.Fatal(err)
	}
}

// sorted are the ids of a search, sorted by doc values and then by id, and the number of hits.
func sorted(t testing.TB, index *scorch.Scorch, word string) []string {
	t.Helper()
	reader, err := index.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx := context.Background()
	s, err := searcher.NewTermSearcher(ctx, reader, word, "text", 1, search.SearcherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := collector.NewTopNCollector(1000, 0, search.SortOrder{&search.SortField{Field: "copy", Desc: true}, &search.SortDocID{}})
	if err := c.Collect(ctx, s, reader); err != nil {
		t.Fatal(err)
	}
	ids := []string{fmt.Sprint(c.Total())}
	for _, hit := range c.Results() {
		ids = append(ids, hit.ID)
	}
	return ids
}

// Whatever batches add, replace and delete, an index of our segments, one of the engine's and one of both hold the same:
// as written, opened again, and merged by the engine.
func TestIndexes(t *testing.T) {
	for seed := range testkit.Rounds(2, 6, 10) {
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		const indexes = 3
		var (
			dirs  [indexes]string
			index [indexes]*scorch.Scorch
			known []string
			a     = NewAccumulator()
		)
		for i := range index {
			dirs[i] = t.TempDir()
			index[i] = openIndex(t, dirs[i])
		}
		same := func(when string) {
			want, wantSorted := readIndex(t, index[0]), sorted(t, index[0], "w1")
			for i, name := range []string{1: "ours", 2: "both"} {
				if i == 0 {
					continue
				}
				if d := diff(want, readIndex(t, index[i])); d != "" {
					t.Fatalf("seed %d: %s (-stock +%s):\n%s", seed, when, name, d)
				}
				if d := diff(wantSorted, sorted(t, index[i], "w1")); d != "" {
					t.Fatalf("seed %d: %s: sorted (-stock +%s):\n%s", seed, when, name, d)
				}
			}
		}
		for batch := range 1 + r.IntN(6) {
			samples := samplesOf(r, r.IntN(60), 20)
			var deleted []string
			if len(known) > 0 {
				for range r.IntN(10) {
					deleted = append(deleted, known[r.IntN(len(known))])
				}
				for i := range samples { // replaced
					if r.IntN(4) == 0 {
						samples[i].id = known[r.IntN(len(known))]
					}
				}
				slices.SortFunc(samples, func(x, y sample) int { return cmp.Compare(x.id, y.id) })
				samples = slices.CompactFunc(samples, func(x, y sample) bool { return x.id == y.id })
			}
			for _, s := range samples {
				known = append(known, s.id)
			}
			apply(t, index[0], nil, samples, deleted)
			apply(t, index[1], a, samples, deleted)
			both := a
			if batch%2 == 0 {
				both = nil
			}
			apply(t, index[2], both, samples, deleted)
		}
		same("as written")
		for i := range index {
			if err := index[i].Close(); err != nil {
				t.Fatal(err)
			}
			index[i] = openIndex(t, dirs[i])
		}
		same("opened again")
		for _, x := range index {
			if err := x.ForceMerge(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
		same("merged")
		for _, x := range index {
			x.Close()
		}
	}
}

// Real texts in several segments, merged by the engine.
func TestRealTextsMerged(t *testing.T) {
	testkit.Unraced(t)
	list := corpus(t)
	stock, plugin := openIndex(t, t.TempDir()), openIndex(t, t.TempDir())
	defer stock.Close()
	defer plugin.Close()
	a := NewAccumulator()
	for part := range slices.Chunk(list, len(list)/4+1) {
		apply(t, stock, nil, part, nil)
		apply(t, plugin, a, part, nil)
	}
	var gone []string
	for i := 0; i < len(list); i += 7 {
		gone = append(gone, list[i].id)
	}
	apply(t, stock, nil, nil, gone)
	apply(t, plugin, nil, nil, gone)
	for _, when := range []string{"written", "merged"} {
		if d := diff(readIndex(t, stock), readIndex(t, plugin)); d != "" {
			t.Fatalf("%s (-stock +ours):\n%s", when, d)
		}
		for _, x := range []*scorch.Scorch{stock, plugin} {
			if err := x.ForceMerge(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Several goroutines build while one index takes their segments one at a time.
func TestParallelBuilds(t *testing.T) {
	index := openIndex(t, t.TempDir())
	defer index.Close()
	var (
		commit sync.Mutex
		wg     sync.WaitGroup
		want   = make(chan []sample, 16)
	)
	for g := range 4 {
		wg.Go(func() {
			a := NewAccumulator()
			for batch := range 4 {
				samples := samplesOf(rand.New(rand.NewPCG(uint64(g), uint64(batch))), 50, 20)
				for i := range samples {
					samples[i].id = fmt.Sprintf("%d-%d-%s", g, batch, samples[i].id)
				}
				s := ours(t, a, samples)
				b := engine.NewBatch()
				b.Update(&carrier{s})
				commit.Lock()
				err := index.Batch(b)
				commit.Unlock()
				if err != nil {
					t.Error(err)
				}
				want <- samples
			}
		})
	}
	wg.Wait()
	close(want)
	var all []sample
	for samples := range want {
		all = append(all, samples...)
	}
	if d := diff(readStock(t, all), readIndex(t, index)); d != "" {
		t.Errorf("(-stock +ours):\n%s", d)
	}
}

// sourceTexts cuts the standard library's source into documents of the sizes that parts of entries have.
func sourceTexts(b *testing.B) (list []sample, size int) {
	b.Helper()
	const enough = 16 << 20
	r := rand.New(rand.NewPCG(3, 3))
	err := filepath.WalkDir(filepath.Join(build.Default.GOROOT, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for len(text) > 0 && size < enough {
			n := min(len(text), 64+int(500*math.Exp(1.5*r.NormFloat64())))
			list = append(list, sample{
				id: fmt.Sprintf("%06x:%010x:%04x", size>>20, size, 0), text: string(text[:n]),
				keywords: []keywordTerm{{inKind, "result"}, {inTool, "bash"}, {inEntry, fmt.Sprintf("%08x", r.Uint32())}, {inHash, fmt.Sprintf("%011x", r.Uint64()>>20)}},
			})
			size += n
			text = text[n:]
		}
		if size >= enough {
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return list, size
}

func BenchmarkBuild(b *testing.B) {
	list, size := sourceTexts(b)
	run := func(name string, f func() int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			n := 0
			for b.Loop() {
				n = f()
			}
			b.ReportMetric(float64(n)/float64(size), "ratio")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/(float64(size)/1e6), "ms/MB")
		})
	}
	a := NewAccumulator()
	accumulate := func() int {
		a.Reset()
		for _, s := range list {
			s.addTo(a)
		}
		return a.memory()
	}
	accumulate()
	run("accumulate", accumulate)
	run("build", func() int {
		s, err := a.Build()
		if err != nil {
			b.Fatal(err)
		}
		return len(s.bytes)
	})
	run("stock", func() int {
		docs := make([]engine.Document, len(list))
		for i, s := range list {
			docs[i] = s.stock()
		}
		_, n, err := (&zap.ZapPlugin{}).New(docs)
		if err != nil {
			b.Fatal(err)
		}
		return int(n)
	})
}

// One line that was appended to one file.
func BenchmarkBuildSmall(b *testing.B) {
	samples := []sample{
		{id: "000001:0000000001:0000", text: "a short line", keywords: []keywordTerm{{inKind, "prompt"}, {inHash, "copy"}}},
		{id: "r:000001", value: make([]byte, 2000)},
	}
	a := NewAccumulator()
	for b.Loop() {
		ours(b, a, samples)
	}
}
