package index_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/files"
	"pigrep/lab/testkit"
)

// put writes files, by path below a directory.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func checksummed(number string) string {
	return fmt.Sprintf("%s %016x\n", number, xxhash.Sum64String(number))
}

const markerText = "This directory is an index of pigrep, made from session files. It can be deleted.\n"

// A directory of someone else's is neither read nor changed, whatever it has.
func TestForeignDirectory(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"a project":             {"store/modules/user.ts": "precious", "package.json": "{}"},
		"names of ours":         {"store/store/root.bolt": "x", "segments/000000000001.zap": "x", "gen-000001/manifest": "x", "gen-000001.tmp/state": "x", "current": "x", "lock": "x"},
		"another marker":        {"pigrep-index": "notes on pigrep\n"},
		"another marker, named": {"pigrep-index": "notes\n", "current": "x", "segments/000000000001.zap": "x"},
		"a directory as marker": {"pigrep-index/x": "x"},
		"a marker cut short":    {"pigrep-index": markerText[:20], "notes": "x"},
		"a lock of another":     {"lock": "4711\n"},
		"an empty file":         {"empty": ""},
		"empty files of ours":   {"lock": "", "current": ""},
		"a valid current":       {"current": checksummed("1"), "segments/x": "x"},
		"a current, a manifest": {"current": checksummed("1"), "gen-000001/manifest": "pigrep-like\n"},
		"a manifest cut short":  {"current": checksummed("1"), "gen-000001/manifest": fmt.Sprintf("pigrep index %d\n", index.SchemaVersion)},
		"another's current":     {"current": "1\n", "gen-000001/manifest": "pigrep index 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, files)
			want := testkit.Tree(t, dir)
			_, openErr := index.Open(dir)
			_, writeErr := index.OpenWriter(dir, index.WriterOptions{})
			_, rebuildErr := index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
			_, claimErr := index.Claim(dir)
			for what, err := range map[string]error{"Check": index.Check(dir), "Open": openErr, "OpenWriter": writeErr, "Rebuild": rebuildErr, "Claim": claimErr} {
				if !errors.Is(err, index.ErrForeign) || !strings.Contains(err.Error(), dir+" is not empty and is no index of pigrep") {
					t.Errorf("%s: %v, want ErrForeign", what, err)
				}
			}
			if diff := cmp.Diff(want, testkit.Tree(t, dir)); diff != "" {
				t.Errorf("the directory has changed: %s", diff)
			}
		})
	}
}

// What a process leaves that is killed while it begins an index can be used.
func TestBegunDirectory(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"empty":                            {},
		"an empty marker":                  {"pigrep-index": ""},
		"a marker that was not synced":     {"pigrep-index": "\x00\x00\x00"},
		"a part of the marker":             {"pigrep-index": markerText[:20]},
		"the marker":                       {"pigrep-index": markerText},
		"the marker and a lock":            {"pigrep-index": markerText, "lock": ""},
		"before the first publish":         {"pigrep-index": markerText, "lock": "\x004711\n", "segments/000000000001.zap": "half", "gen-000001.tmp/state": "half"},
		"a lock of earlier versions":       {"lock": ""},
		"one with its pid":                 {"lock": "\x004711\n"},
		"the watcher of earlier versions":  {"watch.lock": ""},
		"a marker of versions that follow": {"pigrep-index": markerText + "More.\n", "new": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, files)
			if _, err := index.Open(dir); !errors.Is(err, index.ErrNoIndex) {
				t.Errorf("Open: %v, want ErrNoIndex", err)
			}
			w := openWriter(t, dir)
			putOne(t, w, "/a", "words")
			publish(t, w)
			if n := openReader(t, dir).Documents(); n != 1 {
				t.Errorf("%d documents, want 1", n)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "pigrep-index")); err != nil || !strings.HasPrefix(string(text), markerText) {
				t.Errorf("the marker is %q (%v)", text, err)
			}
		})
	}
}

// An index of an earlier version, which has no marker, is taken as it is, and marked by the
// next writer. So is one with a damaged marker.
func TestUnmarkedIndex(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "no", "damaged"} {
		dir := t.TempDir()
		w := openWriter(t, dir)
		putOne(t, w, "/a", "words")
		number := publish(t, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		marker := filepath.Join(dir, "pigrep-index")
		err := os.Remove(marker)
		if text != "no" {
			err = os.WriteFile(marker, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := openReader(t, dir); r.Generation() != number {
			t.Errorf("%q: generation %d, want %d", text, r.Generation(), number)
		}
		w = openWriter(t, dir)
		if len(w.Summaries()) != 1 {
			t.Errorf("%q: it begins again", text)
		}
		if got, err := os.ReadFile(marker); err != nil || string(got) != markerText {
			t.Errorf("%q: the marker is %q (%v)", text, got, err)
		}
	}
	// Of another version only the first line of the manifest is known.
	dir := t.TempDir()
	put(t, dir, map[string]string{"current": checksummed("3"), "gen-000003/manifest": "pigrep index 7\nanother form\n"})
	if _, err := index.Open(dir); !errors.Is(err, index.ErrVersion) {
		t.Errorf("Open of another version: %v, want ErrVersion", err)
	}
}

// Processes that begin an index at the same time do not refuse each other.
func TestClaimTogether(t *testing.T) {
	t.Parallel()
	for range testkit.Rounds(5, 20, 200) {
		dir := filepath.Join(t.TempDir(), "new", "index")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				w, err := index.OpenWriter(dir, index.WriterOptions{})
				if err == nil {
					err = w.Close()
				} else if errors.Is(err, index.ErrLocked) {
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
				if _, err := index.Open(dir); !errors.Is(err, index.ErrNoIndex) {
					t.Errorf("Open: %v, want ErrNoIndex", err)
				}
			})
		}
		all.Wait()
	}
}

// A directory that takes the place of an index in use is neither read nor changed.
func TestSwappedDirectory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows moves no directory with open files")
	}
	for name, do := range map[string]func(w *index.Writer, b *index.Batch) error{
		"commit":  func(w *index.Writer, b *index.Batch) error { return w.Commit(b) },
		"publish": func(w *index.Writer, b *index.Batch) error { _, err := w.Publish(); return err },
		"compact": func(w *index.Writer, b *index.Batch) error { return w.Compact(t.Context()) },
		"merge":   func(w *index.Writer, b *index.Batch) error { return w.MergeSmallBulk(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "index")
			w := openWriter(t, dir)
			for i := range 4 {
				putOne(t, w, fmt.Sprint("/", i), "words")
			}
			publish(t, w)
			putOne(t, w, "/more", "words")
			w.Settle()
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				t.Fatal(err)
			}
			put(t, dir, map[string]string{"lock": "x", "current": "x", "current.tmp": "x", "gen-000001/state": "x", "gen-000006.tmp/state": "x", "segments/000000000001.zap": "x", "store/store/root.bolt": "x"})
			want := testkit.Tree(t, dir)
			b := index.NewBatch()
			putFile(b, w.NextFile(), "/last", "words")
			if err := do(w, b); err == nil {
				t.Error("it succeeds in a directory that is not there")
			}
			if err := w.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if diff := cmp.Diff(want, testkit.Tree(t, dir)); diff != "" {
				t.Errorf("the directory has changed: %s", diff)
			}
		})
	}
}

// Something with a name that pigrep needs is left alone. Where it cannot be worked around,
// the error says what to move away.
func TestNamesInTheWay(t *testing.T) {
	t.Parallel()
	for name, inTheWay := range map[string]string{
		"lock/x": "lock", "current/x": "current", "current.tmp/x": "current.tmp", "segments": "segments",
		"gen-000001/x": "", "gen-000001": "", "gen-000001.tmp/x": "", "gen-000001.tmp/state/x": "", "gen-9223372036854775807/x": "",
		"segments/000000000001.zap/x": "", "segments/000000000001.tri/x": "", "segments/ffffffffffff.zap/x": "", "segments/fffffffffffffffff.zap": "",
		"store": "", "store/store": "",
	} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, map[string]string{name: "precious", "pigrep-index": markerText})
			path := filepath.Join(dir, filepath.FromSlash(name))
			want := testkit.Tree(t, path)
			err := func() error {
				w, err := index.OpenWriter(dir, index.WriterOptions{})
				if err != nil {
					return err
				}
				defer w.Close()
				for i := range 5 {
					putOne(t, w, fmt.Sprint("/", i), "words")
					if _, err := w.Publish(); err != nil {
						return err
					}
				}
				return w.Compact(t.Context())
			}()
			switch {
			case inTheWay != "":
				if !errors.Is(err, index.ErrInTheWay) || !strings.Contains(err.Error(), filepath.Join(dir, inTheWay)+" is in the way") {
					t.Errorf("%v; want ErrInTheWay, with %s", err, inTheWay)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := found(t, openReader(t, dir), segment.FieldText, "words"); len(got) != 5 {
					t.Errorf("words: %v, want 5", got)
				}
			}
			if diff := cmp.Diff(want, testkit.Tree(t, path)); diff != "" {
				t.Errorf("it has changed: %s", diff)
			}
		})
	}
}

// An earlier version, which wrote no marker, may be making its first index: it holds the lock. A
// newer one does not take that for another's directory, at any step; without the lock it is one.
func TestDirectoryThatAnEarlierVersionMakes(t *testing.T) {
	t.Parallel()
	steps := []string{"segments/000000000001.zap", "gen-000001.tmp/state", "gen-000001.tmp/manifest", "watch.lock", "current.tmp"}
	for n := 1; n <= len(steps); n++ {
		dir := t.TempDir()
		for _, name := range append([]string{"lock"}, steps[:n]...) {
			put(t, dir, map[string]string{name: "4711\n"})
		}
		root, err := os.OpenRoot(dir)
		testkit.Check(t, err)
		defer root.Close()
		lock, err := files.TryLock(root, "lock")
		testkit.Check(t, err)
		if err := index.Check(dir); err != nil {
			t.Errorf("after %v: %v", steps[:n], err)
		}
		if _, err := index.Open(dir); !errors.Is(err, index.ErrNoIndex) {
			t.Errorf("after %v: %v, want no index", steps[:n], err)
		}
		put(t, dir, map[string]string{"notes": "x"})
		if err := index.Check(dir); !errors.Is(err, index.ErrForeign) {
			t.Errorf("after %v, with notes: %v", steps[:n], err)
		}
		testkit.Check(t, os.Remove(filepath.Join(dir, "notes")))
		if _, err := index.OpenWriter(dir, index.WriterOptions{}); !errors.Is(err, index.ErrLocked) {
			t.Errorf("after %v: %v, want that it is locked", steps[:n], err)
		}
		testkit.Check(t, os.Remove(filepath.Join(dir, "pigrep-index")))
		testkit.Check(t, lock.Unlock())
		if err := index.Check(dir); !errors.Is(err, index.ErrForeign) {
			t.Errorf("after %v, without the lock: %v", steps[:n], err)
		}
	}
}
