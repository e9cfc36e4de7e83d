package grep

import (
	"context"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/segment"
	"pigrep/query/engine/literal"
)

// Each segment of the index is looked up once, in the order of the first file that
// has documents in it, once a file needs it. A file is searched as soon as all of its
// segments are looked up.

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

type segmentLookup struct {
	segment *segment.Segment
	tasks   []int // indexes of the tasks whose files have documents in the segment
	first   int   // the smallest of them

	done chan struct{}       // closed once the fields below are set
	docs map[uint32][]uint32 // candidates by file
	all  bool                // every document is a candidate
	err  error
}

// findLookups makes the lookups of the segments with documents of the tasks' files.
func (g *run) findLookups() error {
	if g.reader == nil || g.Required == nil {
		return nil
	}
	taskOf := make(map[uint32]int) // by file
	for i, t := range g.tasks {
		if t.Known != nil && t.Indexed > 0 {
			taskOf[t.Known.File] = i
		}
	}
	g.lookups = make([]*segmentLookup, len(g.reader.Segments()))
	var eg errgroup.Group
	eg.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range g.reader.Segments() {
		eg.Go(func() error {
			runs, err := s.Files()
			if err != nil {
				return err
			}
			l := &segmentLookup{segment: s, first: len(g.tasks), done: make(chan struct{})}
			seen := make([]bool, len(g.tasks))
			for _, run := range runs {
				if task, ok := taskOf[run.File]; ok && !seen[task] {
					seen[task] = true
					l.tasks = append(l.tasks, task)
					l.first = min(l.first, task)
				}
			}
			g.lookups[i] = l
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	g.lookups = slices.DeleteFunc(g.lookups, func(l *segmentLookup) bool { return len(l.tasks) == 0 })
	for _, l := range g.lookups {
		for _, task := range l.tasks {
			g.tasks[task].last = l.segment
		}
	}
	slices.SortStableFunc(g.lookups, func(a, b *segmentLookup) int { return a.first - b.first })
	for _, l := range g.lookups {
		for _, task := range l.tasks {
			t := g.tasks[task]
			t.lookups = append(t.lookups, l)
		}
	}
	return nil
}

// await waits until a segment is looked up. Meanwhile it performs lookups that nobody has
// begun.
func (g *run) await(ctx context.Context, l *segmentLookup) {
	for {
		select {
		case <-l.done:
			return
		default:
		}
		i := int(g.nextLookup.Add(1)) - 1
		if i >= len(g.lookups) {
			<-l.done
			return
		}
		next := g.lookups[i]
		if next.err = ctx.Err(); next.err == nil {
			next.err = g.lookUpIn(next)
		}
		close(next.done)
	}
}

func (g *run) lookUpIn(l *segmentLookup) error {
	if g.indexUseless.Load() {
		l.all = true
		return nil
	}
	defer l.segment.Trim()
	var found *roaring.Bitmap
	for _, pieces := range []bool{false, true} {
		look := literal.Lookup{Segment: l.segment, Limits: g.limits.Limits, Pieces: pieces}
		var err error
		if found, err = look.Documents(g.Required); err != nil {
			return err
		}
		if found != nil {
			if err := g.filter.Narrow(l.segment, found); err != nil {
				return err
			}
			if look.IsFew(found) {
				break
			}
		}
	}
	if found == nil {
		l.all = true
		g.indexUseless.Store(true)
		return nil
	}
	files, err := l.segment.Files()
	if err != nil {
		return err
	}
	l.docs = make(map[uint32][]uint32, len(l.tasks))
	for it := found.Iterator(); it.HasNext(); {
		doc := it.Next()
		file := files.File(doc)
		l.docs[file] = append(l.docs[file], doc)
	}
	return nil
}

// candidates waits for the lookups of a task and sets its candidate entries, or scan.
func (g *run) candidates(ctx context.Context, t *task) error {
	if t.scan {
		return nil
	}
	n := 0
	for _, l := range t.lookups {
		g.await(ctx, l)
		if l.err != nil {
			return l.err
		}
		t.scan = t.scan || l.all
		n += len(l.docs[t.Known.File])
	}
	if t.scan = t.scan || float64(n) > g.limits.scanShare*float64(t.Known.Documents)+float64(g.limits.scanExtra); t.scan {
		return nil
	}
	t.entries = make([]int64, 0, n)
	for _, l := range t.lookups {
		for _, doc := range l.docs[t.Known.File] {
			id, err := l.segment.ID(doc)
			if err != nil {
				return err
			}
			if id.Offset < t.Indexed {
				t.entries = append(t.entries, id.Offset)
			}
		}
	}
	slices.Sort(t.entries)
	t.entries = slices.Compact(t.entries)
	return nil
}
