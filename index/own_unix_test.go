//go:build unix

package index_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/lab/testkit"
)

// foreign makes something that pigrep does not make: a name that is like its own, or
// something of another kind with its own name.
func foreign(rt *rapid.T, dir string) (path string, err error) {
	where := rapid.SampledFrom([]string{"", "segments", "store", "store/store", "gen-000001", "gen-000003", "gen-000009", "gen-000009.tmp", "asked"}).Draw(rt, "where")
	name := rapid.SampledFrom([]string{
		"notes", "lock", "current", "current.tmp", "manifest", "state", "copies", "segments", "store", "asked", "watch.sock", "watch.json", "index_meta.json", "root.bolt",
		"gen-000004", "gen-000005.tmp", "gen-7", "gen-", "000000000002.zap", "000000000007.tri", "7ffffffffffe.zap", "ffff.zap", ".git", "Lock", "7",
	}).Draw(rt, "name")
	kind := rapid.SampledFrom([]string{"file", "directory", "link", "pipe"}).Draw(rt, "kind")
	path = filepath.Join(dir, where, name)
	if _, err := os.Lstat(path); err == nil {
		return "", os.ErrExist
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	switch kind {
	case "directory":
		err = errors.Join(os.Mkdir(path, 0o750), os.WriteFile(filepath.Join(path, "precious"), []byte("data"), 0o640))
	case "link":
		err = os.Symlink("../segments", path)
	case "pipe":
		err = syscall.Mkfifo(path, 0o600)
	default:
		err = os.WriteFile(path, []byte("precious"), 0o640)
	}
	return path, err
}

// madeByPigrep says in other words than package layout which regular files are its own.
func madeByPigrep(dir, path string) bool {
	name, _ := filepath.Rel(dir, path)
	parent, base := filepath.Split(name)
	parent = filepath.Clean(parent)
	switch {
	case parent == ".":
		return base == "lock" || base == "current" || base == "current.tmp" || base == "watch.json"
	case strings.HasPrefix(parent, "gen-"):
		return base == "manifest" || base == "state" || base == "copies"
	case parent == "asked":
		return base == "7"
	case parent == "segments":
		return len(base) == 16
	case parent == "store":
		return base == "index_meta.json"
	}
	return base == "root.bolt" || len(base) == 16 && strings.HasSuffix(base, ".zap")
}

// Whatever is put into an index, and whenever, stays there, and no answer is wrong.
func TestForeignInIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := tempDir(t)
		want := 0 // documents
		write := func(rebuild bool) {
			w, err := index.OpenWriter(dir, index.WriterOptions{Rebuild: rebuild})
			if errors.Is(err, index.ErrDamaged) {
				w, err = index.OpenWriter(dir, index.WriterOptions{Rebuild: true})
				rebuild = true
			}
			if err == nil {
				n := len(w.Summaries())
				b := index.NewBatch()
				putFile(b, w.NextFile(), fmt.Sprint("/", n), "words")
				if err = w.Commit(b); err == nil {
					_, err = w.Publish()
				}
				if err == nil && rapid.Bool().Draw(rt, "compact") {
					err = w.Compact(t.Context())
				}
				if err == nil {
					want = n + 1
				}
				_ = w.Close()
			}
			if err != nil && !errors.Is(err, index.ErrInTheWay) && !errors.Is(err, index.ErrDamaged) {
				rt.Fatalf("write: %v", err)
			}
			if err != nil {
				return
			}
			r, err := index.Open(dir)
			if err != nil {
				rt.Fatalf("Open: %v", err)
			}
			defer r.Close()
			if got := found(t, r, segment.FieldText, "words"); len(got) != want {
				rt.Fatalf("%d documents, want %d", len(got), want)
			}
		}
		write(false)
		precious := make(map[string]string)
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			path, err := foreign(rt, dir)
			if err == nil {
				for path, what := range testkit.Tree(t, path) {
					if !(strings.HasPrefix(what, "-") && madeByPigrep(dir, path)) {
						precious[path] = what
					}
				}
			} else if !errors.Is(err, os.ErrExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, os.ErrNotExist) {
				rt.Fatal(err)
			}
			write(rapid.Bool().Draw(rt, "rebuild"))
			now := testkit.Tree(t, dir)
			for path, was := range precious {
				if now[path] != was && !strings.HasPrefix(was, "d") {
					rt.Fatalf("%s was %s and is %s", path, was, now[path])
				}
			}
		}
	})
}

// A directory with nothing but foreign things is no index, whatever their names are.
func TestForeignTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := tempDir(t)
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			_, _ = foreign(rt, dir) // a name may be taken
		}
		want := testkit.Tree(t, dir)
		_, openErr := index.Open(dir)
		_, writeErr := index.OpenWriter(dir, index.WriterOptions{Rebuild: rapid.Bool().Draw(rt, "rebuild")})
		if !errors.Is(openErr, index.ErrForeign) || !errors.Is(writeErr, index.ErrForeign) {
			rt.Fatalf("Open: %v, OpenWriter: %v; want ErrForeign", openErr, writeErr)
		}
		if diff := cmp.Diff(want, testkit.Tree(t, dir)); diff != "" {
			rt.Fatalf("the directory has changed: %s", diff)
		}
	})
}
