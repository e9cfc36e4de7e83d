package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"golang.org/x/sync/errgroup"

	"pigrep/index/segment"
	"pigrep/internal/lists"
)

const (
	// fewDocuments is the size that a merged segment may always have, however little
	// the writer wrote. Merging so many documents takes some tens of milliseconds.
	fewDocuments = 10_000
	// mergeShare is the largest size of a merged segment, as a multiple of what the
	// writer wrote.
	mergeShare = 4
	// spareSegments is the number of segments allowed beyond the planner's budget, so
	// that most writers that add a little have nothing to merge.
	spareSegments = 8
)

// Merge merges small segments if there are many. Its cost is proportional to what the
// writer wrote; only Compact merges all segments. Readers see the result after the next
// Publish. After an error the segments are unchanged.
func (w *Writer) Merge() error {
	return w.alone("merge", func() error {
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
		if err != nil || plan == nil {
			return err
		}
		for _, task := range plan.Tasks {
			list := lists.Map(task.Segments, func(p mergeplan.Segment) *segment.Segment { return p.(planned).Segment })
			if err := w.merge(context.Background(), list); err != nil {
				return err
			}
		}
		return nil
	})
}

// bulkSizes says which segments MergeBulk merges: segments of at least least bytes, into
// segments of up to most bytes, or up to a share of the index, but never more than limit
// bytes. It merges nothing if there are at most few segments. Each segment costs a search
// 0.2 to 0.5 ms of CPU time, and a search for a prefix 1.5 ms. Because of the share, their
// number hardly grows with the index.
type bulkSizes struct {
	least, most, limit int64
	share              int64 // a segment may have this part of the index: 8 is an eighth
	few                int
}

var bulkMerges = bulkSizes{least: 8 << 20, most: 80 << 20, limit: 512 << 20, share: 8, few: 6}

// lists returns which of the segments of these sizes to merge: at most two lists of their
// indices, of at least two each.
func (b bulkSizes) lists(sizes []int64) (lists [][]int) {
	if len(sizes) <= b.few {
		return nil
	}
	var total int64
	for _, n := range sizes {
		total += n
	}
	most := min(max(b.most, total/b.share), b.limit)
	var list []int
	var size int64
	for i, n := range sizes {
		if n < b.least || n > most/2 {
			continue
		}
		if size+n > most {
			lists = append(lists, list)
			list, size = nil, 0
		}
		list, size = append(list, i), size+n
	}
	if len(list) > 1 {
		lists = append(lists, list)
	}
	return lists[:min(len(lists), 2)]
}

func sizes(segments []*segment.Segment) []int64 {
	list := make([]int64, len(segments))
	for i, s := range segments {
		list[i] = s.Size()
	}
	return list
}

// Crowded reports whether a bulk left so many segments that MergeBulk merges some.
func (r *Reader) Crowded() bool { return len(bulkMerges.lists(sizes(r.segments))) > 0 }

// MergeBulk merges some of the segments that a bulk left, which takes two to ten seconds
// of CPU, and publishes. Call it again until no reader is Crowded. A cancelled merge leaves
// the segments as they were.
func (w *Writer) MergeBulk(ctx context.Context) error { return w.mergeBulk(ctx, bulkMerges) }

func (w *Writer) mergeBulk(ctx context.Context, bulk bulkSizes) error {
	return w.alone("merge", func() error {
		var bulks [][]*segment.Segment // none if another process has merged them
		for _, list := range bulk.lists(sizes(w.head.segments)) {
			bulks = append(bulks, lists.Map(list, func(i int) *segment.Segment { return w.head.segments[i] }))
		}
		if len(bulks) > 0 {
			if err := w.merge(ctx, bulks...); err != nil {
				return err
			}
		}
		if err := w.publish(); err != nil {
			return err
		}
		w.tidy()
		return nil
	})
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
// Afterwards no file of the index contains deleted text. Readers keep an older generation
// that they have open. On systems where open files cannot be removed, the next publishing
// removes it.
func (w *Writer) Compact(ctx context.Context) error {
	return w.alone("compact", func() error {
		list := w.head.segments
		if len(list) > 1 || len(list) == 1 && list[0].Deleted() != nil {
			if err := w.merge(ctx, list); err != nil {
				return err
			}
		}
		if err := w.publish(); err != nil {
			return err
		}
		err := errors.Join(w.prune(1), w.renewStore())
		if err == nil || runtime.GOOS == "windows" { // which keeps files that readers have open
			return nil
		}
		return fmt.Errorf("remove what was deleted: %w", err)
	})
}

// merge replaces each list of segments with one segment that has their live documents. It
// works on all lists at the same time.
func (w *Writer) merge(ctx context.Context, lists ...[]*segment.Segment) error {
	w.pruning.Wait()
	merged, outputs := make([]*segment.Segment, len(lists)), make([]*os.File, len(lists))
	for i := range lists {
		var err error
		if outputs[i], err = w.newSegment(); err != nil {
			for _, f := range outputs[:i] { // the next publishing removes them
				err = errors.Join(err, f.Close())
			}
			return err
		}
	}
	var group errgroup.Group
	for i, list := range lists {
		group.Go(func() (err error) {
			if merged[i], err = segment.Merge(ctx, list, outputs[i]); err != nil {
				_ = w.removeSegment(outputs[i].Name())
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		for _, s := range merged {
			if s != nil { // the next publishing removes the file
				err = errors.Join(err, s.Close())
			}
		}
		return err
	}
	replaced := slices.Concat(lists...)
	kept := slices.DeleteFunc(slices.Clone(w.head.segments), func(s *segment.Segment) bool { return slices.Contains(replaced, s) })
	return w.advance(append(retain(kept...), merged...), w.head.table)
}
