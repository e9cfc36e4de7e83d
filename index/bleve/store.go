package bleve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pigrep/index/segment"
)

// Dir is the name of the directory that Bleve opens.
const Dir = "store"

// Names in it.
const (
	metaName  = "index_meta.json"
	innerName = "store"
	rootName  = "root.bolt"
	tempExt   = ".tmp" // of a file that is being written
)

const inner = Dir + "/" + innerName

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// meta is the content of index_meta.json.
const meta = `{"storage":"boltdb","index_type":"scorch"}` + "\n"

// Snapshot is a generation as Bleve is to see it.
type Snapshot struct {
	Epoch    uint64    // the number of the generation
	Time     time.Time // when it was published
	Dir      string    // of the segments, in the directory of the index
	Segments []*segment.Segment
}

// Renew makes the store of an index show the snapshot. If it cannot, as on a file system
// without hard links, it returns why, and removes the store: an old one would show what
// was deleted. Only if an old store cannot be removed does the error wrap ErrStale.
func Renew(index *os.Root, s Snapshot) error {
	if renew(index, s) == nil {
		return nil
	}
	// Remove what is at the path of the store.
	err := index.RemoveAll(Dir)
	if err == nil {
		if err = renew(index, s); err == nil {
			return nil
		}
		if removed := index.RemoveAll(Dir); removed == nil {
			return fmt.Errorf("make the store for Bleve: %w", err)
		}
	}
	return fmt.Errorf("%w: %w", ErrStale, err)
}

// ErrStale reports that an old store is left.
var ErrStale = errors.New("the store for Bleve can be neither renewed nor removed")

// Exists reports whether the index in a directory has a store.
func Exists(index string) bool {
	_, err := os.Lstat(filepath.Join(index, Dir, innerName, rootName))
	return err == nil
}

// Current reports whether the store is as Renew left it. It compares links and times, but
// no content, because all that Bleve writes is root.bolt and segments of its own.
func Current(index string, s Snapshot) bool {
	same := func(name, link string) bool {
		x, err := os.Lstat(filepath.Join(index, s.Dir, name))
		y, err2 := os.Lstat(filepath.Join(index, Dir, innerName, link))
		return err == nil && err2 == nil && os.SameFile(x, y)
	}
	for _, seg := range s.Segments {
		name := filepath.Base(seg.Path())
		if _, link, err := linkOf(name); err != nil || !same(name, link) {
			return false
		}
	}
	meta, err := os.Lstat(filepath.Join(index, Dir, metaName))
	root, err2 := os.Lstat(filepath.Join(index, Dir, innerName, rootName))
	return err == nil && err2 == nil && meta.Mode().IsRegular() && root.ModTime().Equal(s.Time)
}

// renew changes the store in such an order that Bleve can open it at any time.
func renew(index *os.Root, s Snapshot) error {
	if err := makeDirs(index); err != nil {
		return err
	}
	old, err := link(index, s)
	if err != nil {
		return err
	}
	if data, err := index.ReadFile(path.Join(Dir, metaName)); err != nil || string(data) != meta {
		err := replace(index, path.Join(Dir, metaName), func(temp string) error { return index.WriteFile(temp, []byte(meta), fileMode) })
		if err != nil {
			return err
		}
	}
	err = replace(index, path.Join(inner, rootName), func(temp string) error {
		return errors.Join(writeRoot(index, temp, s), index.Chtimes(temp, s.Time, s.Time)) // for Current
	})
	if err != nil {
		return err
	}
	for _, name := range old {
		err = errors.Join(err, index.RemoveAll(path.Join(inner, name)))
	}
	return errors.Join(err, removeUnknown(index))
}

func makeDirs(index *os.Root) error {
	for _, dir := range []string{Dir, inner} {
		err := index.Mkdir(dir, dirMode)
		switch {
		case err == nil:
			err = index.Chmod(dir, dirMode) // whatever the umask
		case errors.Is(err, fs.ErrExist):
			var info fs.FileInfo
			if info, err = index.Lstat(dir); err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is not a directory", dir)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link links the segments of the snapshot. It returns the names that are to be removed
// once root.bolt no longer has them. Links to segments that the index keeps for older
// generations are not among these: a program may have read the last root.bolt, but not
// opened the segments yet.
func link(index *os.Root, s Snapshot) (old []string, err error) {
	have, err := list(index, inner)
	if err != nil {
		return nil, err
	}
	segments, err := list(index, s.Dir)
	if err != nil {
		return nil, err
	}
	linked := make(map[string]bool)
	for name, entry := range segments {
		_, link, err := linkOf(name)
		if err != nil || have[link] == nil {
			continue
		}
		x, err := entry.Info()
		y, err2 := have[link].Info()
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		linked[link] = os.SameFile(x, y)
	}
	for _, seg := range s.Segments {
		name := filepath.Base(seg.Path())
		_, link, err := linkOf(name)
		if err != nil {
			return nil, err
		}
		if linked[link] {
			continue
		}
		if have[link] != nil {
			if err := index.RemoveAll(path.Join(inner, link)); err != nil {
				return nil, err
			}
		}
		if err := index.Link(path.Join(s.Dir, name), path.Join(inner, link)); err != nil {
			return nil, err
		}
		linked[link] = true
	}
	for name := range have {
		if name != rootName && !linked[name] {
			old = append(old, name)
		}
	}
	return old, nil
}

// firstLink is the number of the link to segment 0. The package comment says why links
// are numbered downwards from it.
const firstLink = 1 << 47

// linkOf returns the number and the name of the link to a segment file.
func linkOf(name string) (number uint64, link string, err error) {
	digits, ok := strings.CutSuffix(name, segment.Ext)
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || n >= firstLink {
		return 0, "", fmt.Errorf("%s is not the name of a segment", name)
	}
	number = firstLink - n
	return number, fmt.Sprintf("%012x%s", number, segment.Ext), nil
}

// list returns the entries of a directory by name.
func list(index *os.Root, dir string) (map[string]fs.DirEntry, error) {
	f, err := index.Open(dir)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	byName := make(map[string]fs.DirEntry, len(entries))
	for _, e := range entries {
		byName[e.Name()] = e
	}
	return byName, nil
}

// replace writes a file under another name and renames it.
func replace(index *os.Root, name string, write func(temp string) error) error {
	temp := name + tempExt
	if err := index.RemoveAll(temp); err != nil {
		return err
	}
	return errors.Join(write(temp), index.Chmod(temp, fileMode), index.Rename(temp, name))
}

// removeUnknown removes what renew did not put beside the meta file. Bleve would rename an
// index_meta.json_temp, for example, to index_meta.json.
func removeUnknown(index *os.Root) error {
	entries, err := list(index, Dir)
	for name := range entries {
		if name != metaName && name != innerName {
			err = errors.Join(err, index.RemoveAll(path.Join(Dir, name)))
		}
	}
	return err
}
