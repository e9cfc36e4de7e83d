package grep

import (
	"cmp"
	"context"
	"slices"

	"pigrep/index/segment"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/literal"
)

// limits say when the index does not pay any more.
type limits struct {
	literal.Limits
	// A file is scanned from its beginning to its end if more than scanShare of its
	// documents, plus scanExtra, are candidates.
	scanShare float64
	scanExtra int
	// window is how many bytes of a candidate's line are read at a time to rule it
	// out.
	window int
}

var defaultLimits = limits{Limits: literal.DefaultLimits, scanShare: 0.5, scanExtra: 8, window: 64 << 10}

// A segmentLookup has the candidates of a segment of the index.
type segmentLookup struct {
	*segment.Segment
	docs map[uint32][]uint32 // by file
}

// lookUp looks up in all segments what every match contains.
func (g *run) lookUp(ctx context.Context) error {
	if g.reader == nil || g.Required == nil {
		return nil
	}
	g.lookups = make([]segmentLookup, len(g.reader.Segments()))
	return docset.EachSegment(g.reader.Segments(), func(i int, seg *segment.Segment) (err error) {
		if g.indexUseless.Load() {
			return nil
		}
		g.lookups[i] = segmentLookup{Segment: seg}
		g.lookups[i].docs, err = g.lookUpIn(seg)
		return cmp.Or(err, ctx.Err())
	})
}

func (g *run) lookUpIn(seg *segment.Segment) (map[uint32][]uint32, error) {
	passing, err := g.filter.Keywords(seg)
	if err != nil {
		return nil, err
	}
	var found docset.Set
	for _, pieces := range []bool{false, true} {
		look := literal.Lookup{Segment: seg, Limits: g.limits.Limits, Pieces: pieces}
		if found, err = look.Documents(g.Required); err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if found = docset.Both(found, passing); look.IsFew(found) {
			break
		}
	}
	if found == nil {
		g.indexUseless.Store(true)
		return nil, nil
	}
	files, err := seg.Files()
	if err != nil {
		return nil, err
	}
	docs := make(map[uint32][]uint32)
	for doc := range found.All() {
		file := files.File(doc)
		docs[file] = append(docs[file], doc)
	}
	return docs, nil
}

// candidates sets the candidate entries of a task, or scan.
func (g *run) candidates(t *task) error {
	if t.scan = t.scan || g.indexUseless.Load(); t.scan {
		return nil
	}
	n := 0
	for _, l := range g.lookups {
		n += len(l.docs[t.Known.File])
	}
	if t.scan = float64(n) > g.limits.scanShare*float64(t.Known.Documents)+float64(g.limits.scanExtra); t.scan {
		return nil
	}
	t.entries = make([]int64, 0, n)
	for _, l := range g.lookups {
		for _, doc := range l.docs[t.Known.File] {
			id, err := l.ID(doc)
			if err != nil {
				return err
			}
			if t.last = l.Segment; id.Offset < t.Indexed {
				t.entries = append(t.entries, id.Offset)
			}
		}
	}
	slices.Sort(t.entries)
	t.entries = slices.Compact(t.entries)
	return nil
}
