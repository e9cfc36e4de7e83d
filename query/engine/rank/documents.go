package rank

import (
	"context"

	"pigrep/query/engine/docset"
)

// Documents are the hits of a search as documents of the index, to count them by what they
// are. Of duplicates they have one.
type Documents struct {
	Counts
	Sets []docset.Set // of each segment; nil: none of it
}

// Collect returns the documents that lack nothing or, if there are none, all hits.
func Collect(ctx context.Context, in Input) (*Documents, error) {
	s := newSearch(ctx, in, Options{Limit: 1, PerSession: 1})
	for _, seg := range s.segs {
		seg.marks = &marks{whole: docset.New(seg.Len()), all: docset.New(seg.Len())}
	}
	if err := s.find(); err != nil {
		return nil, err
	}
	d := &Documents{Counts: s.counts()}
	for _, seg := range s.segs {
		switch {
		case !seg.prepared:
			d.Sets = append(d.Sets, nil)
		case d.Total > 0:
			d.Sets = append(d.Sets, seg.marks.whole)
		default:
			d.Sets = append(d.Sets, seg.marks.all)
		}
	}
	return d, s.err()
}

// marks are the hits of a segment.
type marks struct{ whole, all docset.Set }

func (m *marks) add(doc uint32, v verdict) {
	if m == nil || !v.hit {
		return
	}
	m.all.Add(doc)
	if v.whole {
		m.whole.Add(doc)
	}
}
