package search

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/query/engine/docset"
)

// Rarity returns BM25's inverse document frequency of each term. Terms that no document
// contains are omitted.
func Rarity(ctx context.Context, r *index.Reader, terms []string) (map[string]float64, error) {
	terms = slices.Compact(slices.Sorted(slices.Values(terms)))
	found := make([]atomic.Int64, len(terms))
	err := docset.EachSegment(r.Segments(), func(_ int, seg *segment.Segment) error {
		for i, t := range terms {
			if i%1000 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			at, err := seg.PostingsOffset(segment.FieldText, []byte(t))
			if err != nil {
				return err
			}
			n, err := seg.CountAt(at)
			if err != nil {
				return err
			}
			found[i].Add(int64(n))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rarity := make(map[string]float64, len(terms))
	for i, t := range terms {
		df := float64(found[i].Load())
		if df == 0 {
			continue
		}
		rarity[t] = math.Log(1 + (float64(r.Documents())-df+0.5)/(df+0.5))
	}
	return rarity, nil
}
