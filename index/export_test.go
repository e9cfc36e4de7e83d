package index

import "context"

// MergeSmallBulk is MergeBulk for small segments.
func (w *Writer) MergeSmallBulk(ctx context.Context) error {
	return w.mergeBulk(ctx, bulkSizes{least: 1, most: 20 << 10, limit: 20 << 10, share: 8, few: 2})
}

// Settle waits for what Publish leaves running in the background.
func (w *Writer) Settle() { w.pruning.Wait() }

// Searched returns how many segments were searched for a record by its id.
func (r *Reader) Searched() int64 { return r.records.searched.Load() }
