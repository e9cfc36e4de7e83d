package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pigrep/index/format"
	"pigrep/index/segment"
	"pigrep/internal/files"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"
)

const (
	manifestName     = "manifest"
	stateName        = "state"
	tempExt          = ".tmp" // of what is not complete yet
	generationName   = generationPrefix + "%06d"
	generationPrefix = "gen-"
	segmentName      = "%012x" // and segment.Ext
	// keepGenerations is how many are kept: the newest, and those that a reader
	// may have found named in current a moment ago.
	keepGenerations = 3
)

// A generation is described by its manifest, a text file:
//
//	pigrep index 1                     the SchemaVersion
//	file 00000000000b.zap 4711 0123456789abcdef
//	file state 65536 0123456789abcdef
//	end 0123456789abcdef
//
// A file line has the size and the xxhash of the file, of a segment its fingerprint. Segments lie in a directory of their own, where
// generations share them. The end line has the xxhash of the lines before. The first
// line keeps its form in every version.
type generation struct {
	number uint64
	path   string
	files  []fileMark
}

type fileMark struct {
	name string
	segment.Fingerprint
}

func (g *generation) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pigrep index %d\n", SchemaVersion)
	for _, f := range g.files {
		fmt.Fprintf(&b, "file %s %d %016x\n", f.name, f.Size, f.Hash)
	}
	fmt.Fprintf(&b, "end %016x\n", xxhash.Sum64(b.Bytes()))
	return b.Bytes()
}

// readManifest reads the manifest of a generation. It fails with fs.ErrNotExist
// when the generation is not there (any more).
func readManifest(dir string, number uint64) (*generation, error) {
	g := &generation{number: number, path: filepath.Join(dir, fmt.Sprintf(generationName, number))}
	data, err := os.ReadFile(filepath.Join(g.path, manifestName))
	if err != nil {
		return nil, err
	}
	return g, g.decode(string(data))
}

func (g *generation) differs(name string) error {
	return format.Damaged("%s in generation %d is not as it was written", name, g.number)
}

// markOf returns what the manifest says of a file, nothing when it does not know it.
func (g *generation) markOf(name string) fileMark {
	for _, f := range g.files {
		if f.name == name {
			return f
		}
	}
	return fileMark{}
}

func (g *generation) decode(text string) error {
	bad := format.Damaged("manifest of generation %d", g.number)
	var version uint64
	if n, _ := fmt.Sscanf(text, "pigrep index %d\n", &version); n != 1 {
		return bad
	}
	if version != SchemaVersion {
		return format.OtherVersion(version)
	}
	end := strings.LastIndex(text, "end ")
	if end < 0 || text[end:] != fmt.Sprintf("end %016x\n", xxhash.Sum64String(text[:end])) {
		return bad
	}
	for _, line := range strings.Split(strings.TrimSuffix(text[:end], "\n"), "\n")[1:] {
		var f fileMark
		if n, _ := fmt.Sscanf(line, "file %s %d %x", &f.name, &f.Size, &f.Hash); n != 3 || f.name != filepath.Base(f.name) {
			return bad
		}
		g.files = append(g.files, f)
	}
	return nil
}

// segmentMarks returns what the manifest says of the segments.
func (g *generation) segmentMarks() (marks []fileMark) {
	for _, m := range g.files {
		if strings.HasSuffix(m.name, segment.Ext) {
			marks = append(marks, m)
		}
	}
	return marks
}

// open opens the segments of the generation, which are the caller's to release even
// when it fails, and returns the table. Of what is in these segments, which are open,
// nothing is read again.
func (g *generation) open(have []*segment.Segment) (segments []*segment.Segment, table []byte, err error) {
	defer format.Contain(fmt.Sprintf("open generation %d", g.number), &err)()
	deleted, table, err := g.readState()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(filepath.Dir(g.path), segmentsName)
	for _, mark := range g.segmentMarks() {
		s, err := openMarked(dir, mark, have, deleted[mark.name])
		if err != nil {
			return segments, nil, err
		}
		segments = append(segments, s)
	}
	return segments, table, nil
}

// openMarked opens a segment that is as its mark says, or takes it from those that
// are open already.
func openMarked(dir string, mark fileMark, have []*segment.Segment, deleted *roaring.Bitmap) (*segment.Segment, error) {
	if i := slices.IndexFunc(have, func(s *segment.Segment) bool { return markOf(s) == mark }); i >= 0 {
		return have[i].Reference(deleted), nil
	}
	return segment.OpenAs(filepath.Join(dir, mark.name), mark.Fingerprint, deleted)
}

// markOf returns what a manifest says of a segment.
func markOf(s *segment.Segment) fileMark {
	return fileMark{filepath.Base(s.Path()), s.Fingerprint()}
}

// The file current has the number of the newest generation and the xxhash of it,
// without which a flipped bit could make it the number of an older one.

func encodeCurrent(number uint64) []byte {
	s := strconv.FormatUint(number, 10)
	return fmt.Appendf(nil, "%s %016x\n", s, xxhash.Sum64String(s))
}

// currentNumber returns the number of the newest generation, 0 when there is none.
func currentNumber(dir string) (uint64, error) {
	data, err := os.ReadFile(filepath.Join(dir, currentName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	digits, _, _ := strings.Cut(string(data), " ")
	number, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || number == 0 || !bytes.Equal(data, encodeCurrent(number)) {
		return 0, format.Damaged("file %s", currentName)
	}
	return number, nil
}

// Newest returns the number of the newest generation, 0 when there is none. It
// opens nothing, so that a reader that stays open can ask before every answer
// whether it is outdated.
func Newest(dir string) (uint64, error) { return currentNumber(dir) }

// Publish makes the last commit the newest generation, which readers open from
// then on, and returns its number. When that is published, it stays.
func (w *Writer) Publish() (number uint64, err error) {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return 0, w.failed
	}
	if err := w.publish(); err != nil {
		return 0, fmt.Errorf("publish: %w", w.explain(err))
	}
	w.pruning.Go(func() { _ = w.prune(keepGenerations) })
	return w.published.number, nil
}

// publish makes the live state the newest generation, with what is derived from its
// segments.
func (w *Writer) publish() error {
	w.pruning.Wait()
	if err := w.ours(); err != nil {
		return err
	}
	if w.live.generation == nil {
		if err := w.advance(nil, w.live.table); err != nil {
			return err
		}
	}
	g := w.live.generation
	if w.published != nil && w.published.number == g.number {
		return nil
	}
	for _, s := range w.live.segments {
		if err := s.AddTrigrams(); err != nil {
			return err
		}
	}
	if err := addCopies(g.path, w.live.segments, w.published); err != nil {
		return err
	}
	current := filepath.Join(w.dir, currentName)
	next, err := create(current+tempExt, encodeCurrent(g.number))
	if err != nil {
		return err
	}
	if err := errors.Join(next.Sync(), next.Close()); err != nil {
		return err
	}
	if err := files.Rename(current+tempExt, current); err != nil {
		return err
	}
	w.published = g
	return files.SyncDir(w.dir)
}

// generationNumber returns the number in the name of a generation, which may have more
// digits than its format asks for.
func generationNumber(name string) (uint64, bool) {
	digits, _ := strings.CutPrefix(name, generationPrefix)
	n, err := strconv.ParseUint(digits, 10, 63)
	return n, err == nil && name == fmt.Sprintf(generationName, n)
}

// generations returns the numbers of the generations there are, newest first,
// whether named by current or not, and what a crash has left of others.
func generations(dir string) (numbers []uint64, left []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if n, ok := generationNumber(e.Name()); ok {
			numbers = append(numbers, n)
		} else if strings.HasPrefix(e.Name(), generationPrefix) {
			left = append(left, e.Name())
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers, left, nil
}

// prune removes old generations, the segments that only they have, and what a
// crash has left. A reader that has segments open keeps them; on systems where they
// cannot be removed then, a later publishing will.
func (w *Writer) prune(keep int) (failed error) {
	numbers, gone, err := generations(w.dir)
	if err != nil {
		w.logger.Debug("list generations", "error", err)
		return err
	}
	used := make(map[string]bool) // by name of a segment, without what comes behind the dot
	known := true                 // what all generations use that stay
	for _, n := range numbers {
		switch {
		case n == w.live.generation.number:
		case n <= w.published.number && keep > 0:
		default:
			gone = append(gone, fmt.Sprintf(generationName, n))
			continue
		}
		if n <= w.published.number {
			keep--
		}
		g, err := readManifest(w.dir, n)
		if n != w.live.generation.number && (errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) || errors.Is(err, fs.ErrNotExist)) {
			gone = append(gone, fmt.Sprintf(generationName, n)) // no reader can open it
			continue
		}
		if err != nil {
			known, failed = false, errors.Join(failed, err)
			continue
		}
		for _, m := range g.segmentMarks() {
			used[strings.TrimSuffix(m.name, segment.Ext)] = true
		}
	}
	for i, name := range gone {
		gone[i] = filepath.Join(w.dir, name)
	}
	segments := filepath.Join(w.dir, segmentsName)
	entries, err := os.ReadDir(segments)
	if err != nil {
		w.logger.Debug("list segments", "error", err)
		failed = errors.Join(failed, err)
	}
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); known && !used[name] {
			gone = append(gone, filepath.Join(segments, e.Name()))
		}
	}
	for _, path := range gone {
		if err := os.RemoveAll(path); err != nil {
			w.logger.Debug("remove what is old", "path", path, "error", err)
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
