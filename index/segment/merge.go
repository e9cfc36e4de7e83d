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
		segments, drops = append(segments, s.zap), append(drops, s.deleted)
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
	if err := os.Chmod(path, fileMode); err != nil {
		return nil, err
	}
	return Open(path)
}
