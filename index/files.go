package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	tempExt          = ".tmp" // of incomplete files and directories
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

// create writes a file and returns it open, for the caller to sync and close.
func create(path string, data []byte) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(fileMode)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readSegments makes the directory of the segments if it is missing, and finds the
// numbers in use.
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

// newSegment returns the path of a new segment, with a number that no file has.
func (w *Writer) newSegment() string {
	w.lastSegment++
	return filepath.Join(w.dir, segmentsName, fmt.Sprintf(segmentName, w.lastSegment)+segment.Ext)
}

// writeSegment writes a segment file and opens it. The caller must sync and close
// the file.
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
