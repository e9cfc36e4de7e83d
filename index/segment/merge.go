package segment

import (
	"context"
	"errors"
	"os"

	"github.com/RoaringBitmap/roaring/v2"
	engine "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"pigrep/index/format"
)

// Merge writes the live documents of the segments as one segment into a new file,
// and opens it. What a failure leaves of the file is removed.
func Merge(ctx context.Context, list []*Segment, path string) (merged *Segment, err error) {
	defer format.Contain("merge segments", &err)()
	var segments []engine.Segment
	var drops []*roaring.Bitmap
	for _, s := range list {
		// The engine checks nothing, and the merged file gets new checksums: damage that
		// is copied would never be noticed.
		if err := s.compareAll(ctx); err != nil {
			return nil, err
		}
		opened, err := engineSegment(s.data, 0, &s.parts)
		if err != nil {
			return nil, err
		}
		segments, drops = append(segments, opened), append(drops, s.deleted)
	}
	stop := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(stop) })()
	defer func() {
		if err != nil {
			err = errors.Join(err, ctx.Err())
			_ = os.Remove(path) // which there may not be
		}
	}()
	if _, _, err := (&zap.ZapPlugin{}).Merge(segments, drops, path, stop, nil); err != nil {
		return nil, err
	}
	for _, s := range list {
		s.Trim()
	}
	if err := addTable(path); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, fileMode); err != nil {
		return nil, err
	}
	return Open(path)
}
