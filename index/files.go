package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pigrep/internal/files"
)

// Permissions of all that is in the index: it holds what people said.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// makeDirs makes a directory and those above it that are missing. What it makes
// has dirMode whatever the umask; what is there is left as it is.
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

// tighten gives a directory of ours and the files in it their modes.
func tighten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Chmod(filepath.Join(dir, e.Name()), fileMode); err != nil {
			return err
		}
	}
	return os.Chmod(dir, dirMode)
}

// create writes a file, whose bytes are on disk only when the caller has synced
// it.
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

// removeAside removes a directory such that a crash leaves all of it or a name
// that means nothing.
func removeAside(path string) error {
	aside := path + oldExt
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := files.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.RemoveAll(aside)
}

// replaceDir puts a directory in the place of another. A crash leaves one of them
// there, or the new one under its old name and none in the place.
func replaceDir(from, to string) error {
	aside := to + oldExt
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := files.Rename(to, aside); err != nil {
		return err
	}
	if err := files.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(files.SyncDir(filepath.Dir(to)), os.RemoveAll(aside))
}

// segmentFiles lists the segments in a directory of the engine, none when there
// is no such directory.
func segmentFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), segmentExt) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
