package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// A generation is an immutable list of segments, and data derived from them. Its
// manifest, a text file, describes it:
//
//	pigrep index 1                     the SchemaVersion
//	file 00000000000b.zap 4711 0123456789abcdef
//	file state 65536 0123456789abcdef
//	end 0123456789abcdef
//
// A file line has the fingerprint of a segment, or the size and the xxhash of another
// file. Segments are in a separate directory, where generations share them. The end line
// has the xxhash of the lines before. The first line has the same form in every version.
type generation struct {
	ID
	path  string
	files []listedFile
}

// ID identifies a generation. The number is not enough: an index that was deleted and built
// again counts from 1.
type ID struct {
	Number uint64 // 0: there is no generation
	Hash   uint64 // of the manifest
}

// listedFile is a file line.
type listedFile struct {
	name string
	segment.Fingerprint
}

// name returns the name of its directory.
func (g *generation) name() string { return fmt.Sprintf(generationName, g.Number) }

// encode returns the manifest, and sets its hash.
func (g *generation) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pigrep index %d\n", SchemaVersion)
	for _, f := range g.files {
		fmt.Fprintf(&b, "file %s %d %016x\n", f.name, f.Size, f.Hash)
	}
	g.Hash = xxhash.Sum64(b.Bytes())
	fmt.Fprintf(&b, "end %016x\n", g.Hash)
	return b.Bytes()
}

// readManifest reads the manifest of a generation. It fails with fs.ErrNotExist if
// there is no such generation, or no longer.
func readManifest(dir string, number uint64) (*generation, error) {
	g := &generation{ID: ID{Number: number}, path: filepath.Join(dir, fmt.Sprintf(generationName, number))}
	data, err := files.ReadFile(filepath.Join(g.path, manifestName))
	if err != nil {
		return nil, err
	}
	return g, g.decode(string(data))
}

func (g *generation) decode(text string) error {
	bad := format.Damaged("manifest of generation %d", g.Number)
	version, ok := versionOf(text)
	if !ok {
		return bad
	}
	if version != SchemaVersion {
		return format.OtherVersion(version)
	}
	end := strings.LastIndex(text, "end ")
	if end < 0 {
		return bad
	}
	if g.Hash = xxhash.Sum64String(text[:end]); text[end:] != fmt.Sprintf("end %016x\n", g.Hash) {
		return bad
	}
	for _, line := range strings.Split(strings.TrimSuffix(text[:end], "\n"), "\n")[1:] {
		var f listedFile
		if n, _ := fmt.Sscanf(line, "file %s %d %x", &f.name, &f.Size, &f.Hash); n != 3 || f.name != filepath.Base(f.name) {
			return bad
		}
		g.files = append(g.files, f)
	}
	return nil
}

// versionOf returns the version of a manifest, whatever that is.
func versionOf(text string) (version uint64, ok bool) {
	n, _ := fmt.Sscanf(text, "pigrep index %d\n", &version)
	return version, n == 1
}

// segments returns the segments that the manifest lists.
func (g *generation) segments() (list []listedFile) {
	for _, f := range g.files {
		if strings.HasSuffix(f.name, segment.Ext) {
			list = append(list, f)
		}
	}
	return list
}

// open opens the segments of the generation, which the caller must release even if
// it fails, and returns the table, which is a part of the state. Segments that are open
// in have are shared.
func (g *generation) open(state []byte, have []*segment.Segment) (segments []*segment.Segment, table *record.Table, err error) {
	defer format.Contain(format.Guard(), fmt.Sprintf("open generation %d", g.Number), &err)
	deleted, encoded, err := g.checkState(state)
	if err != nil {
		return nil, nil, err
	}
	if table, err = record.OpenTable(encoded); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(filepath.Dir(g.path), segmentsName)
	for _, f := range g.segments() {
		s, err := openListed(dir, f, have, deleted[f.name])
		if err != nil {
			return segments, nil, err
		}
		segments = append(segments, s)
	}
	return segments, table, nil
}

// openListed opens a segment, or returns another reference to it if it is open.
func openListed(dir string, f listedFile, have []*segment.Segment, deleted *roaring.Bitmap) (*segment.Segment, error) {
	if i := slices.IndexFunc(have, func(s *segment.Segment) bool { return listed(s) == f }); i >= 0 {
		return have[i].Reference(deleted), nil
	}
	return segment.OpenAs(filepath.Join(dir, f.name), f.Fingerprint, deleted)
}

// listed returns the file line of a segment.
func listed(s *segment.Segment) listedFile {
	return listedFile{filepath.Base(s.Path()), s.Fingerprint()}
}

// write writes a generation. Everything in it must be on disk before its directory
// has its name; the syncs run at the same time.
func (w *Writer) write(g *generation, segments []*segment.Segment, t *record.Table, written []*os.File) error {
	if err := w.ours(); err != nil {
		for _, f := range written {
			err = errors.Join(err, f.Close())
		}
		return err
	}
	temp := g.name() + tempExt
	var syncs errgroup.Group
	sync := func(f *os.File) {
		syncs.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	}
	for _, f := range written {
		sync(f)
	}
	syncs.Go(func() error { return files.SyncDir(filepath.Join(w.dir, segmentsName)) })
	err := func() error {
		if err := layout.Mkdir(w.root, temp); err != nil {
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
		state, err := create(w.root, path.Join(temp, stateName), content)
		if err != nil {
			return err
		}
		sync(state)
		manifest, err := create(w.root, path.Join(temp, manifestName), g.encode())
		if err != nil {
			return err
		}
		sync(manifest)
		syncs.Go(func() error { return files.SyncDir(g.path + tempExt) })
		return nil
	}()
	if err := errors.Join(err, syncs.Wait()); err != nil {
		return err
	}
	if err := files.RenameIn(w.root, temp, g.name()); err != nil {
		return err
	}
	return files.SyncDir(w.dir)
}

// complete reports whether a directory has a manifest, which every generation has.
func complete(index fs.FS, name string) bool {
	dir, err := fs.Lstat(index, name)
	manifest, err2 := fs.Lstat(index, path.Join(name, manifestName))
	return err == nil && err2 == nil && dir.IsDir() && manifest.Mode().IsRegular()
}

// nextGeneration returns a generation without segments, whose names nothing has.
func (w *Writer) nextGeneration() *generation {
	for {
		w.last++ // even if it is not written: its directory may be there
		g := &generation{ID: ID{Number: w.last}}
		g.path = filepath.Join(w.dir, g.name())
		_ = layout.Remove(w.root, g.name()+tempExt)
		if !layout.Exists(w.root, g.name()) && !layout.Exists(w.root, g.name()+tempExt) {
			return g
		}
	}
}

// generationNumber returns the number in the name of a generation, which may have
// more digits than the format pads it to.
func generationNumber(name string) (uint64, bool) {
	digits, _ := strings.CutPrefix(name, generationPrefix)
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, err == nil && name == fmt.Sprintf(generationName, n)
}

// generations returns the numbers of the generations in the directory, newest first,
// published or not, and similar names of what is no generation: a crash may have left it.
func generations(index fs.FS) (numbers []uint64, left []string, err error) {
	entries, err := fs.ReadDir(index, ".")
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if n, ok := generationNumber(e.Name()); ok && complete(index, e.Name()) {
			numbers = append(numbers, n)
		} else if strings.HasPrefix(e.Name(), generationPrefix) {
			left = append(left, e.Name())
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers, left, nil
}
