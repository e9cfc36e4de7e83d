package indexer

import (
	"context"
	"errors"

	"pigrep/index"
)

// Merge merges the segments that a bulk left, until no reader is Crowded. It takes a third
// of the CPU of indexing the files. Between the steps, other processes can write. If one is
// writing, or the index cannot be written, it does nothing.
func Merge(ctx context.Context, o Options) error {
	for {
		r, err := index.Open(o.Dir)
		if err != nil {
			return err
		}
		crowded := r.Crowded()
		if err := r.Close(); err != nil || !crowded {
			return err
		}
		if err := o.mergeStep(ctx); err != nil {
			if unwritable(err) {
				return nil
			}
			return err
		}
	}
}

func (o Options) mergeStep(ctx context.Context) (err error) {
	w, err := index.OpenWriter(o.Dir, index.WriterOptions{Logger: o.Logger, PID: o.PID})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	return w.MergeBulk(ctx)
}
