//go:build !linux

package indexer

import (
	"errors"
	"io/fs"
	"os"
)

// readDir visits the entries of an open directory: their names and types.
func readDir(d *os.File, visit func(name []byte, typ fs.FileMode)) error {
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		visit([]byte(e.Name()), e.Type())
	}
	return err
}

// reportsChanges and mountPoints are not known here: no watcher vouches.
func reportsChanges(string) bool { return false }

func mountPoints() ([]string, error) { return nil, errors.ErrUnsupported }
