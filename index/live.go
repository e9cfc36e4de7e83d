package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/internal/session"
)

// The live state of a writer is what its last commit left: a generation, open,
// which may not be published yet. Its segments never change; the next commit
// shares those that it does not replace.
type liveState struct {
	generation *generation // nil before the first commit of a new index
	segments   []*segment.Segment
	table      *record.Table
}

// readLive opens the state that the writers of before left, an empty one when
// there is none or the index is to be built anew. Of what is in these segments, which
// are open, nothing is read again.
func (w *Writer) readLive(rebuild bool, have []*segment.Segment) (*liveState, error) {
	numbers, _, err := generations(w.dir)
	if err != nil {
		return nil, fmt.Errorf("read the index directory: %w", err)
	}
	// A current that cannot be read says nothing; the next publishing replaces it.
	current, _ := currentNumber(w.dir)
	if w.last = current; len(numbers) > 0 {
		w.last = max(w.last, numbers[0])
	}
	if w.last == 0 || rebuild {
		return &liveState{table: &record.Table{Next: 1}}, nil
	}
	l := &liveState{}
	var table []byte
	if l.generation, err = readManifest(w.dir, w.last); err == nil {
		l.segments, table, err = l.generation.open(have)
	}
	if err == nil {
		l.table, err = record.DecodeTable(table)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = format.Damaged("generation %d is not complete: %v", w.last, err)
	}
	if err != nil {
		return nil, errors.Join(err, release(l.segments))
	}
	if current == w.last {
		w.published = l.generation
	} else if g, err := readManifest(w.dir, current); err == nil { // else nothing is taken over from it
		w.published = g
	}
	return l, nil
}

// retain makes the segments stay open until they are released once more.
func retain(segments ...*segment.Segment) []*segment.Segment {
	for _, s := range segments {
		s.Retain()
	}
	return slices.Clone(segments)
}

func release(segments []*segment.Segment) (err error) {
	defer format.Contain("close", &err)()
	for _, s := range segments {
		err = errors.Join(err, s.Close())
	}
	return err
}

// advance makes a generation of the segments and the table, and when that is on
// disk the live state. The segments are released when it fails. Files that are
// written to disk with it are closed.
func (w *Writer) advance(segments []*segment.Segment, t *record.Table, written ...*os.File) error {
	w.last++ // even if this fails: its directory may be there
	g := &generation{number: w.last}
	g.path = filepath.Join(w.dir, fmt.Sprintf(generationName, g.number))
	if err := w.write(g, segments, t, written); err != nil {
		err = errors.Join(err, os.RemoveAll(g.path+tempExt), release(segments))
		if _, err2 := os.Lstat(g.path); errors.Is(err2, fs.ErrNotExist) { // else it is complete, and names them
			for _, s := range segments {
				if !slices.ContainsFunc(w.live.segments, func(o *segment.Segment) bool { return o.Path() == s.Path() }) {
					_ = os.Remove(s.Path())
				}
			}
		}
		return err
	}
	w.mu.Lock()
	before := w.live
	w.live = &liveState{g, segments, t}
	w.mu.Unlock()
	if old := before.generation; old != nil && (w.published == nil || old.number != w.published.number) {
		if err := os.RemoveAll(old.path); err != nil { // no reader knows of it
			w.logger.Debug("remove an old generation", "path", old.path, "error", err)
		}
	}
	return release(before.segments)
}

// write makes a generation. All of that must be on disk before it has its name;
// what can be waited for together is.
func (w *Writer) write(g *generation, segments []*segment.Segment, t *record.Table, written []*os.File) error {
	if err := w.ours(); err != nil {
		for _, f := range written {
			err = errors.Join(err, f.Close())
		}
		return err
	}
	temp := g.path + tempExt
	var settled errgroup.Group
	sync := func(f *os.File) {
		settled.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	}
	for _, f := range written {
		sync(f)
	}
	settled.Go(func() error { return files.SyncDir(filepath.Join(w.dir, segmentsName)) })
	err := func() error {
		if err := os.RemoveAll(temp); err != nil {
			return err
		}
		if err := makeDirs(temp); err != nil {
			return err
		}
		content, err := encodeState(segments, t)
		if err != nil {
			return err
		}
		for _, s := range segments {
			g.files = append(g.files, markOf(s))
		}
		g.files = append(g.files, fileMark{stateName, segment.Fingerprint{Size: int64(len(content)), Hash: xxhash.Sum64(content)}})
		state, err := create(filepath.Join(temp, stateName), content)
		if err != nil {
			return err
		}
		sync(state)
		manifest, err := create(filepath.Join(temp, manifestName), g.encode())
		if err != nil {
			return err
		}
		sync(manifest)
		settled.Go(func() error { return files.SyncDir(temp) })
		return nil
	}()
	if err := errors.Join(err, settled.Wait()); err != nil {
		return err
	}
	if err := files.Rename(temp, g.path); err != nil {
		return err
	}
	return files.SyncDir(w.dir)
}

// readSegments makes the directory of the segments if it is missing, and finds out
// which numbers are in use.
func (w *Writer) readSegments() error {
	dir := filepath.Join(w.dir, segmentsName)
	if err := makeDirs(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var n uint64
		if _, err := fmt.Sscanf(e.Name(), segmentName, &n); err == nil {
			w.lastSegment = max(w.lastSegment, n)
		}
	}
	return nil
}

// newSegment returns the path of a segment to be made, whose number no file has.
func (w *Writer) newSegment() string {
	w.lastSegment++
	return filepath.Join(w.dir, segmentsName, fmt.Sprintf(segmentName, w.lastSegment)+segment.Ext)
}

// writeSegment writes a segment into a file, which is the caller's to sync, and
// opens it.
func (w *Writer) writeSegment(image *segment.Image) (*segment.Segment, *os.File, error) {
	path := w.newSegment()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, nil, err
	}
	_, err = image.WriteTo(f)
	if err = errors.Join(err, f.Chmod(fileMode)); err == nil {
		var s *segment.Segment
		if s, err = segment.Open(path); err == nil {
			return s, f, nil
		}
	}
	return nil, nil, errors.Join(err, f.Close(), os.Remove(path))
}

// without returns the segments without the documents that have one of the ids;
// those that have none left go. They are the caller's to release.
func (l *liveState) without(ids []segment.IDRange) (left []*segment.Segment, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, release(left))
		}
	}()
	for _, s := range l.segments {
		gone, err := s.DocumentsIn(ids)
		if err != nil {
			return left, err
		}
		if len(ids) > 0 {
			s.Trim()
		}
		if s.Deleted() != nil {
			gone.Or(s.Deleted())
		}
		n := int(gone.GetCardinality())
		if n >= s.Len() {
			continue
		}
		if n > s.Len()-s.Live() {
			left = append(left, s.Reference(gone))
		} else {
			left = append(left, retain(s)...)
		}
	}
	return left, nil
}

// going returns the ids of the older documents that a batch takes out, or takes
// the place of.
func going(t *record.Table, b *Batch) (ids []segment.IDRange) {
	for i := range t.Rows {
		old := &t.Rows[i].Summary
		c := b.files[old.File]
		if c == nil {
			continue
		}
		from := c.from
		if c.put && old.TailBytes > 0 &&
			(c.summary.Checkpoint.Offset != old.Checkpoint.Offset || c.summary.TailBytes != old.TailBytes) {
			// The unterminated last line is another one now.
			from = min(from, old.Checkpoint.Offset)
		}
		if c.drop {
			from = 0
		}
		if from < math.MaxInt64 {
			ids = append(ids, segment.DocumentIDs(old.File, from))
		}
		ids = append(ids, segment.OneID(recordID(old.File)))
		for _, id := range append(c.stored, factTails(old.File)...) {
			ids = append(ids, segment.OneID(id))
		}
		if c.drop {
			for _, kind := range record.FactKinds {
				ids = append(ids, factIDs(kind, old.File))
			}
		}
	}
	return ids
}

// explain finds out what a failure to write means: a full disk, or segments that
// are not as they were written.
func (w *Writer) explain(err error) error {
	if err == nil || errors.Is(err, ErrDamaged) || errors.Is(err, context.Canceled) {
		return err
	}
	if files.NoSpace(err) {
		return ErrFull
	}
	for _, s := range w.live.segments {
		if err2 := s.Verify(context.Background()); errors.Is(err2, ErrDamaged) {
			return fmt.Errorf("%w (%v)", err2, err)
		}
	}
	return err
}

// Record returns the session record as of the checkpoint, without an
// unterminated last line, with its facts, for reading on. It is nil when there is
// none.
func (w *Writer) Record(file uint32) (r *session.Record, err error) {
	w.mu.Lock()
	if w.failed != nil {
		defer w.mu.Unlock()
		return nil, w.failed
	}
	segments := retain(w.live.segments...)
	w.mu.Unlock()
	defer func() { err = errors.Join(err, release(segments)) }()
	b, err := storedIn(segments, recordID(file), nil)
	if err != nil || b == nil {
		return nil, err
	}
	if r, err = record.Decode(b, true); r != nil {
		r.Facts, err = readFacts(segments, file)
	}
	return r, err
}

// storedIn returns what is stored under an id in one of the segments, nil when
// there is nothing. It looks into near first, when that is not nil.
func storedIn(segments []*segment.Segment, id string, near *segment.Segment) ([]byte, error) {
	if near != nil {
		if b, err := near.Stored(id); err != nil || b != nil {
			return b, err
		}
	}
	for _, s := range slices.Backward(segments) {
		if s == near {
			continue
		}
		if b, err := s.Stored(id); err != nil || b != nil {
			return b, err
		}
		s.Trim() // of many segments that have it not
	}
	return nil, nil
}
