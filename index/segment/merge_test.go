package segment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	engine "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/lab/testkit"
)

// A merged segment has the terms that the engine indexes for the remaining documents, for our
// code and for the engine's. Merging its result again changes nothing.
func TestMergedHasWhatWasLeft(t *testing.T) {
	testkit.Unraced(t)
	for round := range testkit.Rounds(5, 60, 400) {
		rnd := rand.New(rand.NewPCG(19, uint64(round)))
		var list []*Segment
		var left []sample
		for n := range 1 + rnd.IntN(5) {
			samples := samplesOf(rnd, 1+rnd.IntN(1+rnd.IntN(4000)), 6)
			image := ours(t, NewAccumulator(), samples)
			if rnd.IntN(4) == 0 {
				var docs []engine.Document
				for _, s := range samples {
					docs = append(docs, s.stock())
				}
				stock, _, err := (&zap.ZapPlugin{}).New(docs)
				if err != nil {
					t.Fatal(err)
				}
				image = stockImage(t, stock)
			}
			deleted, keep := roaring.New(), rnd.IntN(12) // of 10: nothing, some or all is left
			for i, s := range samples {
				if rnd.IntN(10) < keep {
					left = append(left, s)
				} else {
					deleted.Add(uint32(i))
				}
			}
			s := openImage(t, image)
			if !deleted.IsEmpty() || n%2 == 0 {
				s = s.Reference(deleted)
				defer s.Close()
			}
			list = append(list, s)
		}
		dir := t.TempDir()
		merged, err := mergeTo(t.Context(), list, filepath.Join(dir, "1"+Ext))
		if err != nil {
			t.Fatal(err)
		}
		defer merged.Close()
		if err := merged.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if len(left) == 0 {
			if merged.Len() != 0 {
				t.Errorf("%d documents, want none", merged.Len())
			}
			continue
		}
		want := readStock(t, left)
		if d := diff(want, readFile(t, merged)); d != "" {
			t.Fatalf("round %d: merged (-engine +ours):\n%s", round, d)
		}
		opened, err := engineSegment(merged.data, &merged.parts)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(want, read(t, part{Segment: opened})); d != "" {
			t.Fatalf("round %d: merged, read by the engine (-engine +ours):\n%s", round, d)
		}
		again, err := mergeTo(t.Context(), []*Segment{merged}, filepath.Join(dir, "2"+Ext))
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if again.Fingerprint() != merged.Fingerprint() {
			t.Errorf("round %d: merging the merged segment: %v, want %v", round, again.Fingerprint(), merged.Fingerprint())
		}
	}
}

// mergeTo merges segments into a new file, which a failure leaves no trace of.
func mergeTo(ctx context.Context, list []*Segment, path string) (*Segment, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	merged, err := Merge(ctx, list, f)
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return merged, err
}

// A merge can be cancelled, and has closed its file then.
func TestMergeCancelled(t *testing.T) {
	s := openImage(t, ours(t, NewAccumulator(), samplesOf(rand.New(rand.NewPCG(1, 2)), 100, 5)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "1"+Ext)
	if _, err := mergeTo(ctx, []*Segment{s, s}, path); !errors.Is(err, context.Canceled) {
		t.Errorf("Merge: %v, want it cancelled", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

func BenchmarkMerge(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var list []*Segment
	for i := range 8 {
		samples := samplesOf(rnd, 20_000, 30)
		for k := range samples {
			samples[k].id = fmt.Sprint(i, samples[k].id)
		}
		list = append(list, openImage(b, ours(b, NewAccumulator(), samples)))
	}
	dir := b.TempDir()
	var size int64
	for b.Loop() {
		path := filepath.Join(dir, "merged"+Ext)
		m, err := mergeTo(b.Context(), list, path)
		if err != nil {
			b.Fatal(err)
		}
		size = m.Size()
		_ = m.Close()
		_ = os.Remove(path)
	}
	b.SetBytes(size)
}
