package index

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"pigrep/index/format"
	"pigrep/index/layout"
	"pigrep/index/segment"
	"pigrep/internal/files"
)

// keepGenerations is the number of published generations that are kept: the newest, and
// older ones whose number a reader may have just read from current.
const keepGenerations = 3

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
	if errors.Is(err, fs.ErrNotExist) {
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

// Publish makes the last commit the generation that readers open, and returns it. In the background, even if the last commit is published already, it then
// removes old generations and renews the store for Bleve.
func (w *Writer) Publish() (ID, error) {
	w.work.Lock()
	defer w.work.Unlock()
	if w.failed != nil {
		return ID{}, w.failed
	}
	if err := w.publish(); err != nil {
		return ID{}, fmt.Errorf("publish: %w", w.explain(err))
	}
	w.tidy()
	return w.published.ID, nil
}

// tidy removes old generations and renews the store for Bleve, in the background.
func (w *Writer) tidy() {
	w.pruning.Go(func() {
		_ = w.prune(keepGenerations)
		_ = w.renewStore()
	})
}

// publish writes the files derived from the segments of the head, and makes the head
// the newest generation.
func (w *Writer) publish() error {
	w.pruning.Wait()
	if err := w.ours(); err != nil {
		return err
	}
	if w.head.generation == nil {
		if err := w.advance(nil, w.head.table); err != nil {
			return err
		}
	}
	g := w.head.generation
	if w.published != nil && w.published.Number == g.Number {
		return nil
	}
	for _, s := range w.head.segments {
		if err := w.addTrigrams(s); err != nil {
			return err
		}
	}
	if err := w.addDuplicates(g, w.head.segments, w.published); err != nil {
		return err
	}
	if err := w.replace(currentName, encodeCurrent(g.Number)); err != nil {
		return err
	}
	w.published = g
	return files.SyncDir(w.dir)
}

// addTrigrams writes the trigrams of a segment. They are complete and on disk, or not there
// at all: a file that is there is not made again.
func (w *Writer) addTrigrams(s *segment.Segment) error {
	name, data, err := s.NewTrigrams()
	if err != nil || data == nil {
		return err
	}
	return w.replace(path.Join(segmentsName, name), data)
}

// replace replaces or creates a file, and syncs it.
func (w *Writer) replace(name string, data []byte) error {
	return layout.Replace(w.root, name, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	})
}

// prune removes all but the newest published generations, the segments that only the
// removed ones name, and leftovers of crashes. A reader keeps the segments it has
// open; where open files cannot be removed, a later publish removes them.
func (w *Writer) prune(keep int) (failed error) {
	numbers, gone, err := generations(w.root.FS())
	if err != nil {
		w.logger.Debug("list generations", "error", err)
		return err
	}
	used := make(map[string]bool) // segments, by name without extension
	known := true                 // whether used is complete
	for _, n := range numbers {
		switch {
		case n == w.head.generation.Number:
		case n <= w.published.Number && keep > 0:
		default:
			gone = append(gone, fmt.Sprintf(generationName, n))
			continue
		}
		if n <= w.published.Number {
			keep--
		}
		g, err := readManifest(w.dir, n)
		if n != w.head.generation.Number && (errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) || errors.Is(err, fs.ErrNotExist)) {
			gone = append(gone, fmt.Sprintf(generationName, n)) // no reader can open it
			continue
		}
		if err != nil {
			known, failed = false, errors.Join(failed, err)
			continue
		}
		for _, f := range g.segments() {
			used[strings.TrimSuffix(f.name, segment.Ext)] = true
		}
	}
	entries, err := fs.ReadDir(w.root.FS(), segmentsName)
	if err != nil {
		w.logger.Debug("list segments", "error", err)
		failed = errors.Join(failed, err)
	}
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); known && !used[name] {
			gone = append(gone, path.Join(segmentsName, e.Name()))
		}
	}
	for _, name := range gone {
		if err := layout.Remove(w.root, name); err != nil {
			w.logger.Debug("remove what is old", "name", name, "error", err)
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
