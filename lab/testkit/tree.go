package testkit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Tree describes everything below a directory, by path: kind, mode, time of the last
// change, and content.
func Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		switch {
		case info.Mode().IsRegular():
			content, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			content = []byte(target)
		}
		tree[path] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
