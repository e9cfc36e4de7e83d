package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/lab/testkit"
)

// watch runs a watcher for the root until the test ends, and returns when the
// index is up to date for the first time.
func watch(t *testing.T, dir, root string) {
	t.Helper()
	watchFor(t, options(dir, root))
}

func watchFor(t *testing.T, opt indexer.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	o := indexer.WatchOptions{Options: opt, Tell: func(e indexer.WatchEvent) {
		switch e.Kind {
		case indexer.WatchReady:
			close(ready)
		case indexer.WatchUpdated:
		default:
			t.Errorf("the watcher says: %v %v", e.Kind, e.Err)
		}
	}}
	go func() { done <- indexer.Watch(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatalf("watch: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the watcher does not get ready")
	}
}

// follows waits until the index that is watched has all that is in the files,
// which has to happen before a rescan, after a minute, and compares it with a fresh one.
func follows(t *testing.T, what, dir, root string) {
	t.Helper()
	compareStates(t, what, current(t, what, dir, root), root)
}

// followed is follows for the last step of a sequence.
func followed(t *testing.T, what, dir, root string) {
	t.Helper()
	compareWithFresh(t, what, current(t, what, dir, root), root)
}

// current returns the index when it has all that is in the files.
func current(t *testing.T, what, dir, root string) *index.Reader {
	t.Helper()
	waitCurrent(t, what, dir, root)
	r, err := index.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// waitCurrent polls until a watcher has indexed everything. It gives up before the rescan after a
// minute, which would hide a missed event.
func waitCurrent(t *testing.T, what, dir, root string) {
	t.Helper()
	var lag indexer.Lag
	for end := time.Now().Add(45 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		found := indexer.Discover(pi.New(), []adapter.Root{{Path: root, Follow: true}}, nil)
		r, err := index.Open(dir)
		if err == nil {
			lag = indexer.Behind(found, r.Table())
			r.Close()
			if lag.Files == 0 {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%s: the watcher does not follow: %+v, %v", what, lag, err)
		}
	}
}

// Every story in which pi changed a file, played in front of a running watcher.
func TestWatchFollowsLifecyclesOfRealPi(t *testing.T) {
	t.Parallel()
	root, ix := t.TempDir(), filepath.Join(t.TempDir(), "index")
	watch(t, ix, root)
	for _, story := range testkit.Stories(t) {
		file := filepath.Join(root, story.Name, "live.jsonl")
		if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, step := range story.Steps {
			if step.Data != nil {
				writeInPlace(t, file, step.Data)
			} else if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			waitCurrent(t, story.Name+" "+step.Name, ix, root)
		}
	}
	followed(t, "all stories", ix, root)
}

// Whatever happens to files and directories, the watcher sees it by its events
// and the index equals a rebuilt one in the end.
func TestWatchFollows(t *testing.T) {
	t.Parallel()
	type action struct {
		name string
		do   func(root string) error
	}
	put := func(path string, texts ...string) func(root string) error {
		return func(root string) error {
			path := filepath.Join(root, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			data := header("s")
			for i, text := range texts {
				data += message(i+1, "", text)
			}
			return os.WriteFile(path, []byte(data), 0o644)
		}
	}
	add := func(path, text string) func(root string) error {
		return func(root string) error {
			f, err := os.OpenFile(filepath.Join(root, filepath.FromSlash(path)), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(text)
			return err
		}
	}
	move := func(from, to string) func(root string) error {
		return func(root string) error {
			return os.Rename(filepath.Join(root, filepath.FromSlash(from)), filepath.Join(root, filepath.FromSlash(to)))
		}
	}
	remove := func(path string) func(root string) error {
		return func(root string) error { return os.RemoveAll(filepath.Join(root, filepath.FromSlash(path))) }
	}
	link := func(path, target string) func(root string) error {
		return func(root string) error { return os.Symlink(target, filepath.Join(root, filepath.FromSlash(path))) }
	}
	away := t.TempDir()
	for _, test := range []struct {
		name    string
		actions []action
	}{
		{"files", []action{
			{"a new file", put("a.jsonl", "one")},
			{"a line", add("a.jsonl", message(2, "1", "two"))},
			{"half a line", add("a.jsonl", message(3, "2", "three")[:40])},
			{"the other half", add("a.jsonl", message(3, "2", "three")[40:])},
			{"a rewrite", put("a.jsonl", "uno", "due", "tre", "quattro")},
			{"a rewrite of the same size", put("a.jsonl", "uno", "dos", "tre", "quattro")},
			{"a truncation", put("a.jsonl", "uno")},
			{"another name", move("a.jsonl", "b.jsonl")},
			{"no file", remove("b.jsonl")},
		}},
		{"a file takes the place of another", []action{
			{"two", func(root string) error {
				if err := put("a.jsonl", "one")(root); err != nil {
					return err
				}
				return put("b.tmp", "one", "and more")(root)
			}},
			{"one", move("b.tmp", "a.jsonl")},
		}},
		{"directories", []action{
			{"deep ones at once", put("a/b/c/d.jsonl", "one")},
			{"a line in the deepest", add("a/b/c/d.jsonl", message(2, "1", "two"))},
			{"another name", move("a", "z")},
			{"a line below the new name", add("z/b/c/d.jsonl", message(3, "2", "three"))},
			{"a new one of the old name", put("a/b/c/d.jsonl", "another")},
			{"a line in it", add("a/b/c/d.jsonl", message(2, "1", "again"))},
			{"a line in the first", add("z/b/c/d.jsonl", message(4, "3", "four"))},
			{"another takes its place at once", func(root string) error {
				if err := move("z", "y")(root); err != nil {
					return err
				}
				return put("z/b/c/d.jsonl", "in its place")(root)
			}},
			{"a line in the one that moved", add("y/b/c/d.jsonl", message(5, "4", "five"))},
			{"a line in the one in its place", add("z/b/c/d.jsonl", message(2, "1", "two"))},
			{"a deeper one moves up", move("z/b/c", "c")},
			{"a line in that", add("c/d.jsonl", message(5, "4", "five"))},
			{"deleted and made again", func(root string) error {
				if err := remove("c")(root); err != nil {
					return err
				}
				return put("c/d.jsonl", "new")(root)
			}},
			{"a line in the one made again", add("c/d.jsonl", message(2, "1", "more"))},
			{"away", func(root string) error { return os.Rename(filepath.Join(root, "a"), filepath.Join(away, "a")) }},
			{"back", func(root string) error { return os.Rename(filepath.Join(away, "a"), filepath.Join(root, "back")) }},
			{"a line in what came back", add("back/b/c/d.jsonl", message(3, "2", "back"))},
			{"nothing left", func(root string) error {
				for _, d := range []string{"a", "z", "c", "back"} {
					if err := remove(d)(root); err != nil {
						return err
					}
				}
				return nil
			}},
		}},
		{"the root", []action{
			{"a file", put("p/a.jsonl", "one")},
			{"goes", func(root string) error { return os.RemoveAll(root) }},
			{"comes back", put("p/a.jsonl", "two")},
			{"a line", add("p/a.jsonl", message(2, "1", "more"))},
			{"moves away", func(root string) error { return os.Rename(root, root+"-away") }},
			{"and back", func(root string) error { return os.Rename(root+"-away", root) }},
			{"another line", add("p/a.jsonl", message(3, "2", "even more"))},
		}},
		{"a directory in place of a file", []action{
			{"a file", put("a.jsonl", "one")},
			{"a directory", func(root string) error {
				if err := remove("a.jsonl")(root); err != nil {
					return err
				}
				return put("a.jsonl/b.jsonl", "two")(root)
			}},
			{"a line in it", add("a.jsonl/b.jsonl", message(2, "1", "more"))},
			{"a file again", func(root string) error {
				if err := remove("a.jsonl")(root); err != nil {
					return err
				}
				return put("a.jsonl", "three")(root)
			}},
		}},
		{"links", []action{
			{"a loop", func(root string) error {
				if err := put("p/a.jsonl", "one")(root); err != nil {
					return err
				}
				return link("p/up", "..")(root)
			}},
			{"a link to itself", link("p/self", "self")},
			{"a line beside them", add("p/a.jsonl", message(2, "1", "two"))},
			{"a directory elsewhere", func(root string) error {
				elsewhere := root + "-elsewhere"
				if err := put("b.jsonl", "linked")(elsewhere); err != nil {
					return err
				}
				return link("linked", elsewhere)(root)
			}},
			{"a line there", add("linked/b.jsonl", message(2, "1", "far away"))},
			{"no link", remove("linked")},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && test.name == "links" {
				t.Skip("Windows lets only some users make symbolic links")
			}
			root, ix := filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "index")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			watch(t, ix, root)
			for _, a := range test.actions {
				if err := a.do(root); err != nil {
					t.Fatalf("%s: %v", a.name, err)
				}
				follows(t, a.name, ix, root)
			}
			followed(t, "the end", ix, root)
		})
	}
}

// Many changes that follow each other faster than anybody can look, in many
// files and directories.
func TestWatchFollowsAStorm(t *testing.T) {
	t.Parallel()
	root, ix := t.TempDir(), filepath.Join(t.TempDir(), "index")
	watch(t, ix, root)
	const dirs, rounds = 10, 30
	for round := range rounds {
		for d := range dirs {
			dir := filepath.Join(root, fmt.Sprintf("d%d", (d+round/10)%12))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", d%3))
			switch {
			case round%7 == 6 && d == 3:
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				continue
			case round%5 == 4 && d == 5:
				if err := os.Rename(dir, filepath.Join(root, fmt.Sprintf("moved%d", round))); err != nil {
					t.Fatal(err)
				}
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				data = []byte(header(fmt.Sprint(d)))
			}
			data = append(data, message(round, "", fmt.Sprintf("round %d of %d", round, d))...)
			writeInPlace(t, path, data)
		}
	}
	followed(t, "the storm", ix, root)
}
