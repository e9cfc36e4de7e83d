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

	"pigrep/index/layout"
	"pigrep/index/segment"
)

// Dir is the name of the directory that Bleve opens.
const Dir = "store"

// Names in it.
const (
	metaName  = "index_meta.json"
	innerName = "store"
	rootName  = "root.bolt"
)

const inner = Dir + "/" + innerName

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
	err := layout.Remove(index, Dir)
	if err == nil {
		if err = renew(index, s); err == nil {
			return nil
		}
		if removed := layout.Remove(index, Dir); removed == nil {
			return fmt.Errorf("make the store for Bleve: %w", err)
		}
	}
	return fmt.Errorf("%w: %w", ErrStale, err)
}

// ErrStale reports that an old store is left.
var ErrStale = errors.New("cannot update or remove the store for Bleve")

func Exists(index string) bool {
	is := func(kind fs.FileMode, name string) bool {
		info, err := os.Lstat(filepath.Join(index, filepath.FromSlash(name)))
		return err == nil && info.Mode().Type() == kind
	}
	return is(fs.ModeDir, Dir) && is(fs.ModeDir, inner) && is(0, path.Join(inner, rootName))
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
	if err := errors.Join(layout.Mkdir(index, Dir), layout.Mkdir(index, inner)); err != nil {
		return err
	}
	old, err := link(index, s)
	if err != nil {
		return err
	}
	if err := layout.Free(index, path.Join(Dir, metaName), 0); err != nil {
		return err
	}
	if data, err := index.ReadFile(path.Join(Dir, metaName)); err != nil || string(data) != meta {
		err := layout.Replace(index, path.Join(Dir, metaName), func(f *os.File) error {
			_, err := f.WriteString(meta)
			return err
		})
		if err != nil {
			return err
		}
	}
	err = layout.Replace(index, path.Join(inner, rootName), func(*os.File) error {
		temp := path.Join(inner, rootName+layout.TempExt)
		return errors.Join(writeRoot(index, temp, s), index.Chtimes(temp, s.Time, s.Time)) // for Current
	})
	if err != nil {
		return err
	}
	for _, name := range old {
		err = errors.Join(err, layout.Remove(index, path.Join(inner, name)))
	}
	// Bleve would rename what it left of an unfinished write to index_meta.json.
	return errors.Join(err, layout.Remove(index, path.Join(Dir, metaName+"_temp")), layout.Remove(index, path.Join(Dir, metaName+layout.TempExt)))
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
		if err == nil && !linked[link] {
			err = errors.Join(layout.Remove(index, path.Join(inner, link)), index.Link(path.Join(s.Dir, name), path.Join(inner, link)))
		}
		if err != nil {
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
