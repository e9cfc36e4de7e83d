package indexer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pigrep/index"
	"pigrep/lab/testkit"
)

// A watcher neither changes a directory that takes the place of its index, nor ends: it
// makes its index again when it can.
func TestWatchReplacedIndex(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows moves no directory with open files")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "a.jsonl"), 2)
	o := testOptions(t, root)
	o.times = usualTimes
	o.times.rescan, o.times.retryMax, o.times.release = time.Hour, 10*time.Millisecond, 10*time.Millisecond
	r := startWatch(t, o)
	r.waitTold(WatchReady, 1)
	if names, err := index.Foreign(o.Dir); len(names) > 0 || err != nil {
		t.Errorf("%v are not known as ours (%v)", names, err)
	}
	if err := os.Rename(o.Dir, o.Dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"watch.lock", "watch.json", "watch.sock", "asked/1", "lock", "segments/x"} {
		path := filepath.Join(o.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("precious"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want := testkit.Tree(t, o.Dir)
	write(t, filepath.Join(root, "b.jsonl"), 2)
	r.wait("the watcher refuses the directory", func() bool {
		for _, e := range r.told(WatchFailed) {
			if errors.Is(e.Err, index.ErrForeign) {
				return true
			}
		}
		return false
	})
	if diff := cmp.Diff(want, testkit.Tree(t, o.Dir)); diff != "" {
		t.Errorf("the directory has changed: %s", diff)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	r.current()
}
