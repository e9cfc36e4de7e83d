package index

import (
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	engineapi "github.com/blevesearch/bleve_index_api"
)

const (
	// fewDocuments is how large a segment may become whatever the writer wrote.
	// Merging so much takes some tens of milliseconds.
	fewDocuments = 10_000
	// mergeShare is how many times as large as what the writer wrote a segment may
	// become.
	mergeShare = 4
	// spareSegments is how many segments there may be beyond what is aimed at, so
	// that most writers that add a little have nothing to merge.
	spareSegments = 8
)

// Merge merges small segments when there are many. What that takes is in
// proportion to what the writer wrote; all segments are only merged by Compact.
// Readers see it with the next commit that is published. An error that does not end the writer
// leaves the segments as they were.
func (w *Writer) Merge() error {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if w.added == 0 {
		return nil
	}
	if err := w.mergeSmall(); err != nil {
		if w.engine.failure() != nil {
			err = w.fail(err)
		}
		return fmt.Errorf("merge: %w", err)
	}
	return nil
}

func (w *Writer) mergeSmall() error {
	options := mergeplan.DefaultMergePlanOptions
	options.MaxSegmentSize = int64(max(fewDocuments, mergeShare*w.added))
	options.CalcBudget = func(total, first int64, o *mergeplan.MergePlanOptions) int {
		return mergeplan.CalcBudget(total, first, o) + spareSegments
	}
	before, _, err := w.segmentCounts()
	if err != nil {
		return err
	}
	if err := w.mergeBy(context.Background(), &options); err != nil {
		return err
	}
	if after, _, err := w.segmentCounts(); err != nil || after == before {
		return err
	}
	// What the engine has merged it writes down with the next batch.
	return w.engine.apply(engineapi.NewBatch())
}
