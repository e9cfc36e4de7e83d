package index

import (
	"errors"
	"path/filepath"

	"pigrep/index/bleve"
)

// renewStore makes the store for Bleve show the head, which is published. Where there
// can be none, it only logs why; the error is about an old store that is left.
func (w *Writer) renewStore() error {
	err := func() error {
		published, err := w.root.Stat(currentName)
		if err != nil {
			return err
		}
		return bleve.Renew(w.root, bleve.Snapshot{
			Epoch: w.head.generation.number, Time: published.ModTime(), Dir: segmentsName, Segments: w.head.segments,
		})
	}()
	if err != nil {
		w.logger.Debug("renew the store for Bleve", "error", err)
	}
	if errors.Is(err, bleve.ErrStale) {
		return err
	}
	return nil
}

// Store returns the directory that Bleve opens, "" where there is none.
func (r *Reader) Store() string {
	if !bleve.Exists(r.dir) {
		return ""
	}
	return filepath.Join(r.dir, bleve.Dir)
}
