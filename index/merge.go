package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"

	"pigrep/index/segment"
)

const (
	// fewDocuments is how large a merged segment may become however little the
	// writer wrote. Merging so much takes some tens of milliseconds.
	fewDocuments = 10_000
	// mergeShare is how many times as large as what the writer wrote a merged
	// segment may become.
	mergeShare = 4
	// spareSegments is how many segments there may be beyond the planner's budget,
	// so that most writers that add a little have nothing to merge.
	spareSegments = 8
)

// Merge merges small segments if there are many. Its cost is in proportion to what
// the writer wrote; only Compact merges all segments. Readers see the result after the
// next Publish. An error leaves the segments as they were.
func (w *Writer) Merge() error {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if w.added == 0 {
		return nil
	}
	options := mergeplan.DefaultMergePlanOptions
	options.MaxSegmentSize = int64(max(fewDocuments, mergeShare*w.added))
	options.CalcBudget = func(total, first int64, o *mergeplan.MergePlanOptions) int {
		return mergeplan.CalcBudget(total, first, o) + spareSegments
	}
	var segments []mergeplan.Segment
	for i, s := range w.head.segments {
		segments = append(segments, planned{s, uint64(i)})
	}
	plan, err := mergeplan.Plan(segments, &options)
	if err == nil && plan != nil {
		for _, task := range plan.Tasks {
			var list []*segment.Segment
			for _, p := range task.Segments {
				list = append(list, p.(planned).Segment)
			}
			if err = w.merge(context.Background(), list); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("merge: %w", w.explain(err))
	}
	return nil
}

// planned is a segment as the planner sees it.
type planned struct {
	*segment.Segment
	number uint64
}

func (p planned) Id() uint64          { return p.number }
func (p planned) FullSize() int64     { return int64(p.Len()) }
func (p planned) LiveSize() int64     { return int64(p.Live()) }
func (p planned) HasVector() bool     { return false }
func (p planned) FileSize() int64     { return p.Size() }
func (p planned) LiveFileSize() int64 { return p.Size() }

// Compact merges all segments into one and publishes that as the only generation.
// Afterwards no file of the index has anything that was deleted. Readers keep an older
// generation that they have open; on systems where open files cannot be removed, the
// next publishing removes it.
func (w *Writer) Compact(ctx context.Context) error {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return w.failed
	}
	list := w.head.segments
	var err error
	if len(list) > 1 || len(list) == 1 && list[0].Deleted() != nil {
		err = w.merge(ctx, list)
	}
	if err == nil {
		err = w.publish()
	}
	if err != nil {
		return fmt.Errorf("compact: %w", w.explain(err))
	}
	if err := errors.Join(w.prune(1), w.renewStore()); err != nil && runtime.GOOS != "windows" { // which keeps files that readers have open
		return fmt.Errorf("compact: remove what was deleted: %w", err)
	}
	return nil
}

// merge replaces segments with one that has their live documents.
func (w *Writer) merge(ctx context.Context, list []*segment.Segment) error {
	w.pruning.Wait()
	merged, err := segment.Merge(ctx, list, w.newSegment())
	if err != nil {
		return err
	}
	var segments []*segment.Segment
	for _, s := range w.head.segments {
		if !slices.Contains(list, s) {
			segments = append(segments, s)
		}
	}
	return w.advance(append(retain(segments...), merged), w.head.table)
}
