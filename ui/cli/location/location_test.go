package location

import (
	"path/filepath"
	"testing"

	"pigrep/adapter"
	"pigrep/lab/testkit"
)

func TestHashRoots(t *testing.T) {
	dir := t.TempDir()
	testkit.Symlink(t, dir, filepath.Join(dir, "link"))
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
