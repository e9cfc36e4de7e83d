package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pigrep/index/bleve"
	"pigrep/index/segment"
)

// renewStore updates the store for Bleve to the head, which must be published. If it cannot
// make a store, it logs the reason. It returns an error only if an old store remains.
func (w *Writer) renewStore() error {
	err := func() error {
		published, err := w.root.Stat(currentName)
		if err != nil {
			return err
		}
		return bleve.Renew(w.root, snapshot(w.head.generation, published, w.head.segments))
	}()
	if err != nil {
		w.logger.Debug("renew the store for Bleve", "error", err)
	}
	if errors.Is(err, bleve.ErrStale) {
		return err
	}
	return nil
}

// snapshot describes a published generation for Bleve; published is the FileInfo of the
// file current.
func snapshot(g *generation, published fs.FileInfo, segments []*segment.Segment) bleve.Snapshot {
	return bleve.Snapshot{Epoch: g.Number, Time: published.ModTime(), Dir: segmentsName, Segments: segments}
}

// StoreChanged reports whether the store is missing or has changed since this generation
// was published. While the generation is the newest, publishing again renews the store.
func (r *Reader) StoreChanged() bool {
	published, err := os.Stat(filepath.Join(r.dir, currentName))
	return err == nil && !bleve.Current(r.dir, snapshot(r.generation, published, r.segments))
}

// Store returns the directory that Bleve opens, "" if there is none.
func (r *Reader) Store() string {
	if !bleve.Exists(r.dir) {
		return ""
	}
	return filepath.Join(r.dir, bleve.Dir)
}
