package index

import (
	"errors"
	"slices"

	"pigrep/index/format"
	"pigrep/index/segment"
)

// retain adds a reference to each segment, which the caller must release.
func retain(segments ...*segment.Segment) []*segment.Segment {
	for _, s := range segments {
		s.Retain()
	}
	return slices.Clone(segments)
}

func release(segments []*segment.Segment) (err error) {
	defer format.Contain(format.Guard(), "close", &err)
	for _, s := range segments {
		err = errors.Join(err, s.Close())
	}
	return err
}

// without returns the segments after deleting the documents with these ids. It omits
// segments without live documents. The caller must release them.
func without(segments []*segment.Segment, ids []segment.IDRange) (left []*segment.Segment, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, release(left))
		}
	}()
	for _, s := range segments {
		deleted, err := s.DocumentsIn(ids)
		if err != nil {
			return left, err
		}
		if s.Deleted() != nil {
			deleted.Or(s.Deleted())
		}
		switch n := int(deleted.GetCardinality()); {
		case n >= s.Len():
		case n > s.Len()-s.Live():
			left = append(left, s.Reference(deleted))
		default:
			left = append(left, retain(s)...)
		}
	}
	return left, nil
}
