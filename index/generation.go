package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// Names in an index directory.
const (
	lockName         = "lock"
	segmentsName     = "segments"
	segmentName      = "%012x" // and segment.Ext
	currentName      = "current"
	rebuildName      = "rebuild" // is there from the beginning of a rebuild until it is published
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
	if !slices.Contains(g.files, listedFile{stateName, segment.Fingerprint{Size: int64(len(state)), Hash: xxhash.Sum64(state)}}) {
		return nil, nil, format.Damaged("%s in generation %d is not as it was written", stateName, g.Number)
	}
	deleted, encoded, err := decodeState(state)
	if err != nil {
		return nil, nil, err
	}
	if table, err = record.OpenTable(encoded); err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(filepath.Dir(g.path), segmentsName)
	for _, f := range g.segments() {
		if i := slices.IndexFunc(have, func(s *segment.Segment) bool { return listed(s) == f }); i >= 0 {
			segments = append(segments, have[i].Reference(deleted[f.name]))
			continue
		}
		s, err := segment.OpenAs(filepath.Join(dir, f.name), f.Fingerprint, deleted[f.name])
		if err != nil {
			return segments, nil, err
		}
		segments = append(segments, s)
	}
	return segments, table, nil
}

// listed returns the file line of a segment.
func listed(s *segment.Segment) listedFile {
	return listedFile{filepath.Base(s.Path()), s.Fingerprint()}
}

// complete reports whether a directory has a manifest, which every generation has.
func complete(index fs.FS, name string) bool {
	dir, err := fs.Lstat(index, name)
	manifest, err2 := fs.Lstat(index, path.Join(name, manifestName))
	return err == nil && err2 == nil && dir.IsDir() && manifest.Mode().IsRegular()
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
	slices.SortFunc(numbers, func(a, b uint64) int { return cmp.Compare(b, a) })
	return numbers, left, nil
}

// The file state of a generation has its deleted documents and the table of summaries, in
// the primitives of index/format:
//
//	uint  number of segments with deleted documents, then for each:
//	      string name, string deleted documents, as a roaring bitmap
//	the table of summaries (record.Table), to the end
//
// Its hash is in the manifest.

func encodeState(segments []*segment.Segment, t *record.Table) ([]byte, error) {
	var list []byte
	n := uint64(0)
	for _, s := range segments {
		if s.Deleted() == nil {
			continue
		}
		docs, err := s.Deleted().ToBytes()
		if err != nil {
			return nil, err
		}
		list = format.AppendString(format.AppendString(list, filepath.Base(s.Path())), string(docs))
		n++
	}
	return t.AppendTo(append(format.AppendUint(nil, n), list...)), nil
}

// decodeState is the inverse of encodeState. The table is a part of b.
func decodeState(b []byte) (deleted map[string]*roaring.Bitmap, table []byte, err error) {
	bad := format.Damaged("state of a generation")
	d := format.NewDecoder(unsafe.String(unsafe.SliceData(b), len(b)))
	n := d.Items(2)
	deleted = make(map[string]*roaring.Bitmap, n)
	for range n {
		name, docs := strings.Clone(d.String()), roaring.New()
		if err := docs.UnmarshalBinary([]byte(d.String())); err != nil || d.Failed() {
			return nil, nil, bad
		}
		deleted[name] = docs
	}
	if d.Failed() {
		return nil, nil, bad
	}
	return deleted, b[d.Offset():], nil
}

// The file current has the number of the newest published generation and the xxhash of
// its digits, so that a flipped bit does not select an older generation.

func encodeCurrent(number uint64) []byte {
	s := strconv.FormatUint(number, 10)
	return fmt.Appendf(nil, "%s %016x\n", s, xxhash.Sum64String(s))
}

// currentNumber returns the number of the newest published generation, 0 if there is
// none.
func currentNumber(dir string) (uint64, error) {
	data, err := files.ReadFile(filepath.Join(dir, currentName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() { // which Windows does not say
			return 0, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return decodeCurrent(data)
}

func decodeCurrent(data []byte) (uint64, error) {
	digits, _, _ := strings.Cut(string(data), " ")
	number, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || number == 0 || !bytes.Equal(data, encodeCurrent(number)) {
		return 0, format.Damaged("file %s", currentName)
	}
	return number, nil
}

// openTries bounds how often Open starts again because the generation that it was
// opening was removed.
const openTries = 20

// Newest returns the newest published generation, the zero ID if there is none. It reads two
// small files, so a long-lived reader can check before every answer whether it is outdated.
func Newest(dir string) (ID, error) {
	for try := 1; ; try++ {
		number, err := currentNumber(dir)
		if err != nil || number == 0 {
			return ID{}, err
		}
		g, err := readManifest(dir, number)
		if err == nil {
			return g.ID, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == openTries {
			return ID{}, err
		}
	}
}

// retain adds a reference to each segment, which the caller must release.
func retain(segments ...*segment.Segment) []*segment.Segment {
	for _, s := range segments {
		s.Retain()
	}
	return slices.Clone(segments)
}

func release(segments []*segment.Segment) (err error) {
	defer format.Contain(format.Guard(), "close", &err)
	for _, s := range segments {
		err = errors.Join(err, s.Close())
	}
	return err
}

// without returns the segments after deleting the documents with these ids. It omits
// segments without live documents. The caller must release them.
func without(segments []*segment.Segment, ids []segment.IDRange) (left []*segment.Segment, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, release(left))
		}
	}()
	for _, s := range segments {
		deleted, err := s.DocumentsIn(ids)
		if err != nil {
			return left, err
		}
		if s.Deleted() != nil {
			deleted.Or(s.Deleted())
		}
		switch n := int(deleted.GetCardinality()); {
		case n >= s.Len():
		case n > s.Len()-s.Live():
			left = append(left, s.Reference(deleted))
		default:
			left = append(left, retain(s)...)
		}
	}
	return left, nil
}
