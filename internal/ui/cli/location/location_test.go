package location

import (
	"os"
	"path/filepath"
	"testing"

	"pigrep/adapter"
)

func TestHashRoots(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skip("Windows lets only some users make symbolic links:", err)
	}
	roots := func(paths ...string) string {
		var list []adapter.Root
		for _, p := range paths {
			list = append(list, adapter.Root{Path: p})
		}
		return hashRoots(list)
	}
	if roots(dir, "/b") != roots("/b", filepath.Join(dir, "link"), dir) {
		t.Error("the same roots in another order or by another name have another index")
	}
	if roots(dir) == roots("/b") || roots("/a", "/b") == roots("/a/b") {
		t.Error("other roots have the same index")
	}
}
