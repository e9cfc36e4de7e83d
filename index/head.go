package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// The head of a writer is the generation of its last commit, which is open and may not be
// published yet. It is immutable. The next head shares the segments that a commit does
// not replace.
type head struct {
	generation *generation // nil before the first commit of a new index
	segments   []*segment.Segment
	table      *record.Table
}

// readHead opens the generation of the last writer, or an empty head if there is none or
// the index is rebuilt. It shares segments that are open in have.
func (w *Writer) readHead(rebuild bool, have []*segment.Segment) (*head, error) {
	numbers, _, err := generations(w.root.FS())
	if err != nil {
		return nil, fmt.Errorf("read the index directory: %w", err)
	}
	// If current cannot be read, the next publishing replaces it.
	current, _ := currentNumber(w.dir)
	if w.last = current; len(numbers) > 0 {
		w.last = max(w.last, numbers[0])
	}
	if w.last == 0 || rebuild {
		return &head{table: &record.Table{Next: 1}}, nil
	}
	h := &head{}
	if h.generation, err = readManifest(w.dir, w.last); err == nil {
		var state []byte
		if state, err = files.ReadFile(filepath.Join(h.generation.path, stateName)); err == nil {
			h.segments, h.table, err = h.generation.open(state, have)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = format.Damaged("generation %d is not complete: %v", w.last, err)
	}
	if err != nil {
		return nil, errors.Join(err, release(h.segments))
	}
	if current == w.last {
		w.published = h.generation
	} else if g, err := readManifest(w.dir, current); err == nil { // else nothing can be derived from it
		w.published = g
	}
	return h, nil
}

// advance makes a generation of the segments and the table, and makes it the head
// when it is on disk. If it fails, the segments are released. Written files are
// synced with the generation and closed.
func (w *Writer) advance(segments []*segment.Segment, t *record.Table, written ...*os.File) error {
	g := w.nextGeneration()
	if err := w.write(g, segments, t, written); err != nil {
		err = errors.Join(err, layout.Remove(w.root, g.name()+tempExt), release(segments))
		if !layout.Exists(w.root, g.name()) { // else it is complete, and names them
			for _, s := range segments {
				if !slices.ContainsFunc(w.head.segments, func(o *segment.Segment) bool { return o.Path() == s.Path() }) {
					_ = w.removeSegment(s.Path())
				}
			}
		}
		return err
	}
	w.mu.Lock()
	before := w.head
	w.head = &head{g, segments, t}
	w.mu.Unlock()
	if old := before.generation; old != nil && (w.published == nil || old.Number != w.published.Number) {
		if err := layout.Remove(w.root, old.name()); err != nil { // no reader knows of it
			w.logger.Debug("remove an old generation", "path", old.path, "error", err)
		}
	}
	return release(before.segments)
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

// superseded returns the ids of the older documents and stored values that a batch
// deletes or replaces.
func superseded(t *record.Table, b *Batch) (ids []segment.IDRange) {
	for i := range t.Len() {
		c := b.files[t.File(i)]
		if c == nil {
			continue
		}
		old := t.Summary(i)
		from := c.from
		if c.put && old.TailBytes > 0 &&
			(c.summary.Checkpoint.Offset != old.Checkpoint.Offset || c.summary.TailBytes != old.TailBytes) {
			// The unterminated last line has changed.
			from = min(from, old.Checkpoint.Offset)
		}
		if c.drop {
			from = 0
		}
		if from < math.MaxInt64 {
			ids = append(ids, segment.DocumentIDs(old.File, from))
		}
		ids = append(ids, segment.OneID(recordID(old.File)))
		for _, id := range c.facts {
			ids = append(ids, segment.OneID(id))
		}
		for _, kind := range record.FactKinds {
			ids = append(ids, segment.OneID(factsID(kind, old.File, record.Tail)))
			if c.drop {
				ids = append(ids, factIDs(kind, old.File))
			}
		}
	}
	return ids
}

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
