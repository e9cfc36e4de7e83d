package index

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Merging ends, with few segments of the sizes that it merges, and writes no byte more than
// twice. No merged segment is larger than it may be.
func TestBulkMergesEnd(t *testing.T) {
	t.Parallel()
	b := bulkMerges
	rapid.Check(t, func(rt *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		sizes := make([]int64, rapid.IntRange(0, 1000).Draw(rt, "segments"))
		var total, written int64
		for i := range sizes {
			sizes[i] = 1<<20 + rnd.Int64N(30<<20)
			total += sizes[i]
		}
		most := min(max(b.most, total/b.share), b.limit)
		for lists := b.lists(sizes); len(lists) > 0; lists = b.lists(sizes) {
			merged := map[int]bool{}
			var results []int64
			for _, list := range lists {
				if len(list) < 2 {
					rt.Fatalf("a list of %d segments", len(list))
				}
				var size int64
				for _, i := range list {
					if merged[i] || sizes[i] < b.least {
						rt.Fatalf("segment %d of %d bytes is merged, again: %t", i, sizes[i], merged[i])
					}
					merged[i] = true
					size += sizes[i]
				}
				if size > most {
					rt.Fatalf("a segment of %d bytes, may have %d", size, most)
				}
				results = append(results, size)
				written += size
			}
			var next []int64
			for i, n := range sizes {
				if !merged[i] {
					next = append(next, n)
				}
			}
			sizes = append(next, results...)
		}
		if written > 2*total {
			rt.Errorf("%d bytes were written of %d", written, total)
		}
		large := 0
		for _, n := range sizes {
			if n >= b.least {
				large++
			}
		}
		if few := int(2*total/most) + b.few; large > few {
			rt.Errorf("%d segments of %d bytes remain, at most %d should", large, total, few)
		}
	})
}
