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
	docset.EachSegment(g.reader.Segments(), func(i int, seg *segment.Segment) {
		if ctx.Err() == nil && !g.indexUseless.Load() {
			g.lookups[i] = segmentLookup{seg, g.lookUpIn(seg)}
		}
	})
	return cmp.Or(g.fault(), ctx.Err())
}

// fault returns the damage of the index that was found, nil if there is none.
func (g *run) fault() error {
	if g.reader == nil {
		return nil
	}
	return g.reader.Fault()
}

func (g *run) lookUpIn(seg *segment.Segment) map[uint32][]uint32 {
	passing := g.filter.Keywords(seg)
	var found docset.Set
	for _, pieces := range []bool{false, true} {
		look := literal.Lookup{Segment: seg, Limits: g.limits.Limits, Pieces: pieces}
		if found = look.Documents(g.Required); found == nil {
			continue
		}
		if found = docset.Both(found, passing); look.IsFew(found) {
			break
		}
	}
	if found == nil {
		g.indexUseless.Store(true)
		return nil
	}
	files := seg.Files()
	docs := make(map[uint32][]uint32)
	for doc := range found.All() {
		file := files.File(doc)
		docs[file] = append(docs[file], doc)
	}
	return docs
}

// candidates sets the candidate entries of a task, or scan.
func (g *run) candidates(t *task) {
	if t.scan = t.scan || g.indexUseless.Load(); t.scan {
		return
	}
	n := 0
	for _, l := range g.lookups {
		n += len(l.docs[t.Known.File])
	}
	if t.scan = float64(n) > g.limits.scanShare*float64(t.Known.Documents)+float64(g.limits.scanExtra); t.scan {
		return
	}
	t.entries = make([]int64, 0, n)
	for _, l := range g.lookups {
		for _, doc := range l.docs[t.Known.File] {
			id := l.ID(doc)
			if t.last = l.Segment; id.Offset < t.Indexed {
				t.entries = append(t.entries, id.Offset)
			}
		}
	}
	slices.Sort(t.entries)
	t.entries = slices.Compact(t.entries)
}
