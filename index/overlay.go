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
	segment.Share(with.segments, func() []segment.Duplicates { return with.duplicatesWith(r) })
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

// duplicatesWith finds the possible duplicates of the reader's segments, based on those
// of the generation below it. It returns nil if these are not known.
func (r *Reader) duplicatesWith(below *Reader) []segment.Duplicates {
	known := below.generation.duplicates(below.segments)
	if len(below.segments) > 0 && known == nil {
		return nil
	}
	f := newFinder(make([]*segment.Segment, len(r.segments)))
	list := make([]segment.Duplicates, len(r.segments))
	for i, s := range r.segments {
		// Not the segment itself, which asks for its duplicates.
		f.segments[i] = s.Reference(s.Deleted())
		defer f.segments[i].Close()
		list[i] = segment.NewDuplicates(s.Len(), 0)
		if k := slices.IndexFunc(below.segments, func(o *segment.Segment) bool { return o.Path() == s.Path() }); k >= 0 {
			list[i], f.isNew[i] = known[k], false
		}
	}
	f.known = func() []segment.Duplicates { return list }
	if f.find() != nil {
		return nil
	}
	return f.all()
}
