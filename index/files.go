package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"pigrep/index/layout"
	"pigrep/index/segment"
)

// Names in an index directory.
const (
	lockName         = "lock"
	segmentsName     = "segments"
	segmentName      = "%012x" // and segment.Ext
	currentName      = "current"
	generationPrefix = "gen-"
	generationName   = generationPrefix + "%06d"
	manifestName     = "manifest"
	stateName        = "state"
	duplicatesName   = "copies"
	tempExt          = layout.TempExt
)

// Permissions of everything in an index: it holds what people said.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// makeDirs makes a directory and its missing parents, with dirMode whatever the
// umask. Directories that exist are left as they are.
func makeDirs(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := makeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, dirMode)
}

// create writes a file, in place of an older one, and returns it open, for the caller to
// sync and close.
func create(root *os.Root, name string, data []byte) (*os.File, error) {
	f, err := layout.Create(root, name)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readSegments makes the directory of the segments if it is missing, and finds the
// numbers in use.
func (w *Writer) readSegments() error {
	if err := layout.Mkdir(w.root, segmentsName); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), segmentsName)
	for _, e := range entries {
		digits, _, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.ParseUint(digits, 16, 64); err == nil && layout.Owns(path.Join(segmentsName, e.Name()), e.Type()) {
			w.lastSegment = max(w.lastSegment, n)
		}
	}
	return err
}

// newSegment creates the file of a new segment, with a number that nothing has.
func (w *Writer) newSegment() (*os.File, error) {
	for {
		w.lastSegment++
		name := path.Join(segmentsName, fmt.Sprintf(segmentName, w.lastSegment))
		if !layout.Exists(w.root, name+segment.Ext) && !layout.Exists(w.root, name+segment.TrigramsExt) {
			return layout.Create(w.root, name+segment.Ext)
		}
	}
}

// removeSegment removes the file of a segment.
func (w *Writer) removeSegment(file string) error {
	return layout.Remove(w.root, path.Join(segmentsName, filepath.Base(file)))
}

// writeSegment writes a segment file and opens it. The caller must sync and close
// the file.
func (w *Writer) writeSegment(image *segment.Image) (*segment.Segment, *os.File, error) {
	f, err := w.newSegment()
	if err != nil {
		return nil, nil, err
	}
	if _, err = image.WriteTo(f); err == nil {
		var s *segment.Segment
		if s, err = segment.Open(f.Name()); err == nil {
			return s, f, nil
		}
	}
	return nil, nil, errors.Join(err, f.Close(), w.removeSegment(f.Name()))
}

// mergeSegments merges segments into a new file.
func (w *Writer) mergeSegments(ctx context.Context, list []*segment.Segment, f *os.File) (*segment.Segment, error) {
	s, err := segment.Merge(ctx, list, f)
	if err != nil {
		_ = w.removeSegment(f.Name())
	}
	return s, err
}
