package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
