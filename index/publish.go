package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"pigrep/index/bleve"
	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// keepGenerations is the number of published generations that are kept: the newest, and
// older ones whose number a reader may have just read from current.
const keepGenerations = 3

// Publish makes the last commit the generation that readers open, and returns it. In the
// background, even if the last commit is published already, it then removes old
// generations and renews the store for Bleve.
func (w *Writer) Publish() (id ID, err error) {
	err = w.alone("publish", func() error {
		if err := w.publish(); err != nil {
			return err
		}
		w.tidy()
		id = w.published.ID
		return nil
	})
	return id, err
}

// tidy removes old generations and renews the store for Bleve, in the background.
func (w *Writer) tidy() {
	w.pruning.Go(func() {
		_ = w.prune(keepGenerations)
		_ = w.renewStore()
	})
}

// publish writes the files derived from the segments of the head, and makes the head
// the newest generation.
func (w *Writer) publish() error {
	w.pruning.Wait()
	if err := w.ours(); err != nil {
		return err
	}
	if w.head.generation == nil {
		if err := w.advance(nil, w.head.table); err != nil {
			return err
		}
	}
	g := w.head.generation
	if w.published != nil && w.published.Number == g.Number {
		return nil
	}
	for _, s := range w.head.segments {
		// Trigrams are complete and on disk, or not there at all: a file that is there is not made again.
		name, data, err := s.NewTrigrams()
		if err == nil && data != nil {
			err = w.replace(path.Join(segmentsName, name), data)
		}
		if err != nil {
			return err
		}
	}
	if err := w.addDuplicates(g, w.head.segments, w.published); err != nil {
		return err
	}
	if err := w.replace(currentName, encodeCurrent(g.Number)); err != nil {
		return err
	}
	w.published = g
	return errors.Join(layout.Remove(w.root, rebuildName), files.SyncDir(w.path))
}

// addDuplicates makes the file copies of a new generation with these segments: that of the
// last one that was published, nil for none, unless more is to be marked.
func (w *Writer) addDuplicates(g *generation, segments []*segment.Segment, before *generation) (err error) {
	defer format.Contain(format.Guard(), "look for copies", &err)
	var known []segment.Duplicates
	if before != nil {
		known = g.duplicatesBefore(before, segments)
	}
	list := known
	if known == nil {
		list = make([]segment.Duplicates, len(segments))
	}
	marked, err := markDuplicates(segments, list)
	if err != nil {
		return err
	}
	name := path.Join(g.name(), duplicatesName)
	if known != nil && !marked && w.link(path.Join(before.name(), duplicatesName), name) == nil {
		return nil
	}
	file, err := w.create(name, encodeDuplicates(segments, list))
	if err != nil {
		return err
	}
	return file.Close() // without a sync: its hash reveals a file that a crash has damaged
}

// prune removes all but the newest published generations, the segments that only the
// removed ones name, and leftovers of crashes. A reader keeps the segments it has
// open; where open files cannot be removed, a later publish removes them.
func (w *Writer) prune(keep int) (failed error) {
	numbers, gone, err := generations(w.root.FS())
	if err != nil {
		w.logger.Debug("list generations", "error", err)
		return err
	}
	used := make(map[string]bool) // segments, by name without extension
	known := true                 // whether used is complete
	for _, n := range numbers {
		isHead, isPublished := n == w.head.generation.Number, n <= w.published.Number
		if !isHead && (!isPublished || keep <= 0) {
			gone = append(gone, fmt.Sprintf(generationName, n))
			continue
		}
		if isPublished {
			keep--
		}
		g, err := readManifest(w.path, n)
		switch {
		case err == nil:
			for _, f := range g.segments() {
				used[strings.TrimSuffix(f.name, segment.Ext)] = true
			}
		case !isHead && (errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) || errors.Is(err, fs.ErrNotExist)):
			gone = append(gone, fmt.Sprintf(generationName, n)) // no reader can open it
		default:
			known, failed = false, errors.Join(failed, err)
		}
	}
	entries, err := fs.ReadDir(w.root.FS(), segmentsName)
	if err != nil {
		w.logger.Debug("list segments", "error", err)
		failed = errors.Join(failed, err)
	}
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); known && !used[name] {
			gone = append(gone, path.Join(segmentsName, e.Name()))
		}
	}
	for _, name := range gone {
		if err := layout.Remove(w.root, name); err != nil {
			w.logger.Debug("remove what is old", "name", name, "error", err)
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// renewStore updates the store for Bleve to the head, which must be published. If it cannot
// make a store, it logs the reason. It returns an error only if an old store remains.
func (w *Writer) renewStore() error {
	published, err := w.root.Stat(currentName)
	if err == nil {
		err = bleve.Renew(w.root, snapshot(w.head.generation, published, w.head.segments))
	}
	if err != nil {
		w.logger.Debug("renew the store for Bleve", "error", err)
	}
	if errors.Is(err, bleve.ErrStale) {
		return err
	}
	return nil
}
