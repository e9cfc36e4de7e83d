package index

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pigrep/index/layout"
	"pigrep/internal/files"
)

// rootsName is a file with the session directories of an index, as JSON. It only serves to
// find indexes that nobody needs any more.
const rootsName = "roots"

// noteRoots writes the session directories of the index, unless they are there.
func (w *Writer) noteRoots(roots []string) error {
	data, err := json.Marshal(roots)
	if old, readErr := readIn(w.root, rootsName); err != nil || len(roots) == 0 || readErr == nil && string(old) == string(data) {
		return err
	}
	return w.replace(rootsName, data)
}

// Unused is an index whose session directories are all gone.
type Unused struct {
	Dir   string   `json:"indexDir"`
	Roots []string `json:"roots"`
	Size  int64    `json:"sizeBytes"` // of what pigrep made there
}

// ListUnused lists the unused indexes among the subdirectories of a directory. An index that
// does not say what its session directories are is not listed, nor one that is in use.
func ListUnused(parent string) (list []Unused, err error) {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		x := Unused{Dir: filepath.Join(parent, e.Name())}
		root, openErr := os.OpenRoot(x.Dir)
		if openErr != nil {
			continue // somebody else's
		}
		if x.read(root) {
			list = append(list, x)
		}
		err = errors.Join(err, root.Close())
	}
	return list, err
}

func (x *Unused) read(root *os.Root) bool {
	ours, err := hasMarker(root)
	data, readErr := readIn(root, rootsName)
	if !ours || errors.Join(err, readErr, json.Unmarshal(data, &x.Roots)) != nil || len(x.Roots) == 0 {
		return false
	}
	if slices.ContainsFunc(x.Roots, func(dir string) bool { _, err := os.Stat(dir); return !errors.Is(err, fs.ErrNotExist) }) {
		return false
	}
	for _, name := range []string{lockName, watchLockName} {
		if locked, err := files.Locked(filepath.Join(x.Dir, name)); locked || err != nil {
			return false
		}
	}
	_ = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && layout.Owns(name, e.Type()) {
			if info, err := e.Info(); err == nil {
				x.Size += info.Size()
			}
		}
		return nil
	})
	return true
}

// Prune removes what pigrep made in the directory of an unused index, and the directory if
// nothing else is in it. It fails with ErrLocked while the index is being written.
func (x *Unused) Prune(pid int) error {
	d, err := openDirectory(x.Dir, pid)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	for _, e := range entries {
		if e.Name() != lockName && e.Name() != markerName { // the last, so that it stays an index
			err = errors.Join(err, layout.Remove(d.root, e.Name()))
		}
	}
	if err = errors.Join(err, d.lock.Unlock()); err == nil {
		err = errors.Join(layout.Remove(d.root, lockName), layout.Remove(d.root, markerName))
	}
	if err = errors.Join(err, d.root.Close()); err != nil {
		return err
	}
	if left, err := os.ReadDir(x.Dir); err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(x.Dir)
}
