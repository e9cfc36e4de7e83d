package index

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"pigrep/index/segment"
)

// With returns a reader of the index as if the batches were committed. It writes nothing
// to disk. The batches can still be committed, but nothing can be added to them. No file
// may be in two batches, and new files must be numbered from r.NextFile() on. The caller
// must close both readers.
func (r *Reader) With(batches ...*Batch) (_ *Reader, err error) {
	with := &Reader{dir: r.dir, generation: r.generation, unmap: func() error { return nil }, table: r.table}
	for _, s := range r.segments {
		with.segments = append(with.segments, s.Reference(s.Deleted())) // the readers must not share what segment.Share sets
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, with.Close())
		}
	}()
	var finishing errgroup.Group
	for _, b := range batches {
		finishing.Go(func() error { _, err := b.finish(); return err })
	}
	if err := finishing.Wait(); err != nil {
		return nil, fmt.Errorf("index in memory: %w", err)
	}
	var added []*segment.Segment
	for _, b := range batches {
		if b.image != nil {
			s, err := b.image.Segment()
			if err != nil {
				return nil, err
			}
			added = append(added, s)
		}
		if err := with.change(b); err != nil {
			return nil, err
		}
	}
	if len(batches) == 0 {
		// The table must not share memory that r unmaps when it is closed.
		with.table = with.table.With(nil, func(uint32) bool { return false }, 0)
	}
	with.segments = append(with.segments, added...)
	segment.Share(with.segments, with.findDuplicates)
	return with, nil
}

// change deletes what a batch supersedes, and adds its summaries.
func (r *Reader) change(b *Batch) error {
	left, err := without(r.segments, superseded(r.table, b))
	if err != nil {
		return err
	}
	err = release(r.segments)
	r.segments, r.table = left, b.table(r.table, r.table.Next)
	return err
}

// findDuplicates finds the possible duplicates of the reader's segments, based on those of the
// generation below what is in memory. It returns nil if these are not known.
func (r *Reader) findDuplicates() []segment.Duplicates {
	segments := make([]*segment.Segment, len(r.segments))
	for i, s := range r.segments {
		segments[i] = s.Reference(s.Deleted()) // not the segment itself, which asks for its duplicates
		defer segments[i].Close()
	}
	onDisk := func(s *segment.Segment) bool { return s.Path() != "" }
	list := r.generation.duplicates(segments)
	if list == nil {
		if slices.ContainsFunc(segments, onDisk) {
			return nil
		}
		list = make([]segment.Duplicates, len(segments))
	}
	for i, s := range segments {
		if !onDisk(s) {
			list[i] = segment.Duplicates{}
		}
	}
	if _, err := markDuplicates(segments, list); err != nil {
		return nil
	}
	return list
}
