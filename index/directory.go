package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// directory is an index directory that is open for writing, which one writer at a time can
// do. It must not be used by several goroutines at once.
type directory struct {
	path        string
	root        *os.Root // for all writing: the path may lead to another directory by now
	lock        *files.Lock
	locked      fs.FileInfo // the lock file; it may be deleted along with the directory
	last        uint64      // the highest generation number ever used
	lastSegment uint64      // the highest number of a segment file
}

// openDirectory claims a directory and takes its lock for the process.
func openDirectory(path string, pid int) (*directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	root, err := Claim(path)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(root, pid)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d := &directory{path: path, root: root, lock: lock}
	if d.locked, err = root.Stat(lockName); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *directory) close() error { return errors.Join(d.root.Close(), d.lock.Unlock()) }

// ours fails if the directory was deleted: the one there now may be another writer's.
func (d *directory) ours() error {
	if now, err := os.Stat(filepath.Join(d.path, lockName)); err != nil || !os.SameFile(now, d.locked) {
		return format.Damaged("its directory was deleted")
	}
	return nil
}

// readSegments makes the directory of the segments if it is missing, and finds the
// numbers in use.
func (d *directory) readSegments() error {
	if err := layout.Mkdir(d.root, segmentsName); err != nil {
		return err
	}
	entries, err := fs.ReadDir(d.root.FS(), segmentsName)
	for _, e := range entries {
		digits, _, _ := strings.Cut(e.Name(), ".")
		if n, err := strconv.ParseUint(digits, 16, 64); err == nil && layout.Owns(path.Join(segmentsName, e.Name()), e.Type()) {
			d.lastSegment = max(d.lastSegment, n)
		}
	}
	return err
}

// newSegment creates the file of a new segment, with a number that nothing has.
func (d *directory) newSegment() (*os.File, error) {
	for {
		d.lastSegment++
		name := path.Join(segmentsName, fmt.Sprintf(segmentName, d.lastSegment))
		if !layout.Exists(d.root, name+segment.Ext) && !layout.Exists(d.root, name+segment.TrigramsExt) {
			return layout.Create(d.root, name+segment.Ext)
		}
	}
}

func (d *directory) removeSegment(file string) error {
	return layout.Remove(d.root, path.Join(segmentsName, filepath.Base(file)))
}

// writeSegment writes a segment file and opens it. The caller must sync and close
// the file.
func (d *directory) writeSegment(image *segment.Image) (*segment.Segment, *os.File, error) {
	f, err := d.newSegment()
	if err != nil {
		return nil, nil, err
	}
	if _, err = image.WriteTo(f); err == nil {
		var s *segment.Segment
		if s, err = segment.Open(f.Name()); err == nil {
			return s, f, nil
		}
	}
	return nil, nil, errors.Join(err, f.Close(), d.removeSegment(f.Name()))
}

// create writes a file, in place of an older one, and returns it open, for the caller to
// sync and close.
func (d *directory) create(name string, data []byte) (*os.File, error) {
	f, err := layout.Create(d.root, name)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// link makes another name of a file, in place of an older file.
func (d *directory) link(file, name string) error {
	return errors.Join(layout.Remove(d.root, name), d.root.Link(file, name))
}

// replace replaces or creates a file, and syncs it.
func (d *directory) replace(name string, data []byte) error {
	return layout.Replace(d.root, name, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	})
}

// nextGeneration returns a generation without segments, whose names nothing has.
func (d *directory) nextGeneration() *generation {
	for {
		d.last++ // even if it is not written: its directory may be there
		g := &generation{ID: ID{Number: d.last}}
		g.path = filepath.Join(d.path, g.name())
		_ = layout.Remove(d.root, g.name()+tempExt)
		if !layout.Exists(d.root, g.name()) && !layout.Exists(d.root, g.name()+tempExt) {
			return g
		}
	}
}

// write writes a generation, and syncs and closes the files that were written for it.
// Everything in it must be on disk before its directory has its name; the syncs run at the
// same time.
func (d *directory) write(g *generation, segments []*segment.Segment, t *record.Table, written []*os.File) error {
	var syncs errgroup.Group
	sync := func(f *os.File) {
		syncs.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	}
	for _, f := range written {
		sync(f)
	}
	syncs.Go(func() error { return files.SyncDir(filepath.Join(d.path, segmentsName)) })
	err := d.ours()
	if err == nil {
		err = d.writeFiles(g, segments, t, sync)
	}
	if err == nil {
		syncs.Go(func() error { return files.SyncDir(g.path + tempExt) })
	}
	if err := errors.Join(err, syncs.Wait()); err != nil {
		return err
	}
	if err := files.RenameIn(d.root, g.name()+tempExt, g.name()); err != nil {
		return err
	}
	return files.SyncDir(d.path)
}

// writeFiles writes the state and the manifest of a generation under its temporary name.
func (d *directory) writeFiles(g *generation, segments []*segment.Segment, t *record.Table, sync func(*os.File)) error {
	temp := g.name() + tempExt
	if err := layout.Mkdir(d.root, temp); err != nil {
		return err
	}
	content, err := encodeState(segments, t)
	if err != nil {
		return err
	}
	for _, s := range segments {
		g.files = append(g.files, listed(s))
	}
	g.files = append(g.files, listedFile{stateName, segment.Fingerprint{Size: int64(len(content)), Hash: xxhash.Sum64(content)}})
	contents := [][]byte{content, g.encode()}
	for i, name := range []string{stateName, manifestName} {
		f, err := d.create(path.Join(temp, name), contents[i])
		if err != nil {
			return err
		}
		sync(f)
	}
	return nil
}
