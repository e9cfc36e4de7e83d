package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/files"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
)

const (
	manifestName   = "manifest"
	stateName      = "state"
	tempExt        = ".tmp" // of what is not complete yet
	oldExt         = ".old" // of what is being removed
	generationName = "gen-%06d"
	// keepGenerations is how many are kept: the newest, and those that a reader
	// may have found named in current a moment ago.
	keepGenerations = 3
	// publishTries bounds how often a generation is copied again because the
	// engine was just replacing its segments.
	publishTries = 5
	// tailLen is how much of the end of a segment its line in a manifest
	// covers: the footer and the directory of fields, which the engine follows
	// without a check.
	tailLen = 4 << 10
)

// A generation is described by its manifest, a text file:
//
//	pigrep index 1                     the SchemaVersion
//	commit 00c0ffee00c0ffee 12         lineage and revision of the table
//	file 00000000000b.zap 4711 0123456789abcdef
//	file state 65536 0123456789abcdef
//	end 0123456789abcdef
//
// A file line has the size and the xxhash of the file, of a segment only that of
// its last tailLen bytes. The end line has the xxhash of the lines before. The
// first line keeps its form in every version.
type generation struct {
	number   uint64
	path     string
	lineage  uint64
	revision uint64
	files    []fileMark
}

type fileMark struct {
	name string
	size int64
	hash uint64
}

func (g *generation) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pigrep index %d\ncommit %016x %d\n", SchemaVersion, g.lineage, g.revision)
	for _, f := range g.files {
		fmt.Fprintf(&b, "file %s %d %016x\n", f.name, f.size, f.hash)
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

// check compares a file of the generation with what the manifest says of it. It
// reads through buf.
func (g *generation) check(want fileMark, buf []byte) error {
	got, err := markFile(g.path, want.name, buf)
	if err == nil && got != want {
		err = g.differs(want.name)
	}
	return err
}

func (g *generation) differs(name string) error {
	return damaged("%s in generation %d is not as it was written", name, g.number)
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
	bad := damaged("manifest of generation %d", g.number)
	var version uint64
	if n, _ := fmt.Sscanf(text, "pigrep index %d\n", &version); n != 1 {
		return bad
	}
	if version != SchemaVersion {
		return versionError(version)
	}
	end := strings.LastIndex(text, "end ")
	if end < 0 || text[end:] != fmt.Sprintf("end %016x\n", xxhash.Sum64String(text[:end])) {
		return bad
	}
	lines := strings.Split(strings.TrimSuffix(text[:end], "\n"), "\n")[1:]
	if len(lines) == 0 {
		return bad
	}
	if n, _ := fmt.Sscanf(lines[0], "commit %x %d", &g.lineage, &g.revision); n != 2 {
		return bad
	}
	for _, line := range lines[1:] {
		var f fileMark
		if n, _ := fmt.Sscanf(line, "file %s %d %x", &f.name, &f.size, &f.hash); n != 3 || f.name != filepath.Base(f.name) {
			return bad
		}
		g.files = append(g.files, f)
	}
	return nil
}

// markBuffer is the memory that reading a file for its mark takes.
const markBuffer = 16 << 10

// markFile returns what a manifest says of a file, which it reads through buf.
func markFile(dir, name string, buf []byte) (fileMark, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return fileMark{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fileMark{}, err
	}
	m := fileMark{name: name, size: info.Size()}
	from := int64(0)
	if strings.HasSuffix(name, segmentExt) {
		from = max(0, m.size-tailLen)
	}
	h := xxhash.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(f, from, m.size-from), buf); err != nil {
		return fileMark{}, fmt.Errorf("read %s: %w", name, err)
	}
	m.hash = h.Sum64()
	return m, nil
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
		return 0, damaged("file %s", currentName)
	}
	return number, nil
}

// Newest returns the number of the newest generation, 0 when there is none. It
// opens nothing, so that a reader that stays open can ask before every answer
// whether it is outdated.
func Newest(dir string) (uint64, error) { return currentNumber(dir) }

// newestGeneration returns the newest generation when it is sound.
func (w *Writer) newestGeneration() *generation {
	number, err := currentNumber(w.dir)
	if err != nil || number == 0 {
		return nil
	}
	g, err := readManifest(w.dir, number)
	if err == nil {
		buf := make([]byte, markBuffer)
		for _, f := range g.files {
			err = cmp.Or(err, g.check(f, buf))
		}
	}
	if err != nil {
		w.logger.Debug("the newest generation is not sound", "number", number, "error", err)
		return nil
	}
	return g
}

// Publish makes the live state the newest generation, which readers open from
// then on, and returns its number. When nothing was committed since the newest
// one, that stays. A generation costs little: its segments are other names of
// the writer's files.
func (w *Writer) Publish() (number uint64, err error) {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return 0, w.failed
	}
	if g := w.current; g != nil && g.lineage == w.table.lineage && g.revision == w.table.revision {
		return g.number, nil
	}
	if err := w.publish(); err != nil {
		return 0, fmt.Errorf("publish: %w", err)
	}
	w.pruning.Go(func() { w.prune(keepGenerations) })
	return w.current.number, nil
}

// publish makes the live state the newest generation. All of that must be on
// disk before current names it; what can be waited for together is.
func (w *Writer) publish() error {
	w.pruning.Wait()
	number, err := w.nextGeneration()
	if err != nil {
		return err
	}
	g := &generation{number: number, lineage: w.table.lineage, revision: w.table.revision}
	g.path = filepath.Join(w.dir, fmt.Sprintf(generationName, number))
	temp := g.path + tempExt
	var state *os.File
	for try := 1; ; try++ {
		if state, err = w.copyLive(g, temp); err == nil {
			break
		}
		if try == publishTries || w.engine.failure() != nil {
			_ = os.RemoveAll(temp)
			return w.engine.explain(err)
		}
	}
	manifest, err := create(filepath.Join(temp, manifestName), g.encode())
	if err != nil {
		return errors.Join(err, state.Close())
	}
	current := filepath.Join(w.dir, currentName)
	next, err := create(current+tempExt, encodeCurrent(number))
	if err != nil {
		return errors.Join(err, state.Close(), manifest.Close())
	}
	var settled errgroup.Group
	settled.Go(func() error { return errors.Join(state.Sync(), state.Close()) })
	settled.Go(func() error { return errors.Join(manifest.Sync(), manifest.Close()) })
	settled.Go(func() error { return errors.Join(next.Sync(), next.Close()) })
	settled.Go(func() error { return files.SyncDir(temp) })
	if err := settled.Wait(); err != nil {
		return err
	}
	if err := files.Rename(temp, g.path); err != nil {
		return err
	}
	if err := files.Rename(current+tempExt, current); err != nil {
		return err
	}
	w.current = g
	return files.SyncDir(w.dir)
}

// copyLive makes what a generation holds, but for its manifest, in a directory
// whose name means nothing. Its state is the caller's to sync.
func (w *Writer) copyLive(g *generation, temp string) (state *os.File, err error) {
	defer contain("copy the live state", &err)()
	if err := os.RemoveAll(temp); err != nil {
		return nil, err
	}
	if err := makeDirs(temp); err != nil {
		return nil, err
	}
	r := w.engine.CopyReader() // until it is closed the engine removes no segments
	defer func() { err = errors.Join(err, r.CloseCopyReader()) }()
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok || snapshot == nil {
		return nil, ErrClosed
	}
	var segments []*Segment
	deleted := make(map[string]*roaring.Bitmap)
	for _, s := range snapshot.Segments() {
		z, ok := s.Segment().(*zap.Segment)
		if !ok {
			return nil, errors.New("a segment is not on disk")
		}
		seg, err := segmentOf(z)
		if err != nil {
			return nil, err
		}
		seg.mark = markSegment(z)
		if err := files.LinkOrCopy(z.Path(), filepath.Join(temp, seg.mark.name), fileMode); err != nil {
			return nil, err
		}
		if d := s.Deleted(); d != nil && !d.IsEmpty() {
			deleted[seg.mark.name] = d
		}
		segments = append(segments, seg)
	}
	slices.SortFunc(segments, func(a, b *Segment) int { return strings.Compare(a.mark.name, b.mark.name) })
	g.files = nil
	for _, s := range segments {
		g.files = append(g.files, s.mark)
	}
	if err := addTrigrams(temp, segments, w.current); err != nil {
		return nil, err
	}
	if err := addCopies(temp, segments, w.current); err != nil {
		return nil, err
	}
	for _, s := range segments {
		s.Trim()
	}
	content, err := encodeState(deleted, snapshot.Internal()[string(tableKey)])
	if err != nil {
		return nil, err
	}
	g.files = append(g.files, fileMark{stateName, int64(len(content)), xxhash.Sum64(content)})
	return create(filepath.Join(temp, stateName), content)
}

// markSegment returns what a manifest says of a segment.
func markSegment(z *zap.Segment) fileMark {
	data := z.Data()
	return fileMark{filepath.Base(z.Path()), int64(len(data)), xxhash.Sum64(data[max(0, len(data)-tailLen):])}
}

// generations returns the numbers of the generations there are, newest first,
// whether named by current or not, and what a crash has left of others.
func (w *Writer) generations() (numbers []uint64, left []string, err error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		var n uint64
		if _, err := fmt.Sscanf(e.Name(), generationName, &n); err != nil {
			continue
		}
		if e.Name() == fmt.Sprintf(generationName, n) {
			numbers = append(numbers, n)
		} else {
			left = append(left, e.Name())
		}
	}
	slices.Sort(numbers)
	slices.Reverse(numbers)
	return numbers, left, nil
}

// nextGeneration returns a number above every one that was ever given.
func (w *Writer) nextGeneration() (uint64, error) {
	numbers, _, err := w.generations()
	if err != nil {
		return 0, err
	}
	// A current that cannot be read names nothing that readers could open.
	last, _ := currentNumber(w.dir)
	if len(numbers) > 0 {
		last = max(last, numbers[0])
	}
	return last + 1, nil
}

// prune removes old generations and what a crash has left. A reader that has
// one open keeps it; on systems where it cannot be removed then, a later
// publishing will.
func (w *Writer) prune(keep int) {
	numbers, gone, err := w.generations()
	if err != nil {
		w.logger.Debug("list generations", "error", err)
		return
	}
	for i, n := range numbers {
		if i >= keep {
			gone = append(gone, fmt.Sprintf(generationName, n))
		}
	}
	for _, name := range gone {
		if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
			w.logger.Debug("remove an old generation", "name", name, "error", err)
		}
	}
}
