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
		return hashRoots(list, "first")
	}
	if roots(dir, "/b") != roots("/b", filepath.Join(dir, "link"), dir) {
		t.Error("the same roots in another order or by another name have another index")
	}
	if roots(dir) == roots("/b") || roots("/a", "/b") == roots("/a/b") {
		t.Error("other roots have the same index")
	}
	// Those of more agents that are merely usual are indexed with the others.
	first := []adapter.Root{{Path: "/a", Agent: "first", Usual: true}, {Path: "/b", Agent: "first"}}
	if hashRoots(first, "first") != roots("/a", "/b") {
		t.Error("the roots of the first agent have another index than always")
	}
	more := append(first, adapter.Root{Path: "/c", Agent: "second", Usual: true})
	if hashRoots(more, "first") != hashRoots(first, "first") {
		t.Error("another agent has another index")
	}
	if named := append(first, adapter.Root{Path: "/d", Agent: "second"}); hashRoots(named, "first") == hashRoots(first, "first") {
		t.Error("a root that somebody has chosen for another agent has the same index")
	}
}
