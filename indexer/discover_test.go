package indexer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/indexer"
)

// tree creates the named files and links below a directory. A name that ends in "/"
// is a directory, "a -> b" a link to b.
func tree(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, n := range names {
		var err error
		if link, target, ok := strings.Cut(n, " -> "); ok {
			err = os.Symlink(filepath.FromSlash(target), filepath.Join(root, filepath.FromSlash(link)))
		} else if dir, ok := strings.CutSuffix(n, "/"); ok {
			err = os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o755)
		} else {
			path := filepath.Join(root, filepath.FromSlash(n))
			if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
				err = os.WriteFile(path, []byte(`{"type":"session","id":"`+n+`"}`+"\n"), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func found(t *testing.T, base string, roots ...string) []string {
	t.Helper()
	var list []adapter.Root
	for _, r := range roots {
		list = append(list, adapter.Root{Path: filepath.Join(base, r)})
	}
	var names []string
	for _, f := range indexer.Discover(pi.New(), list, nil).Files {
		rel, err := filepath.Rel(base, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return names
}

func TestDiscover(t *testing.T) {
	for _, test := range []struct {
		name  string
		tree  []string
		roots []string
		want  []string
	}{
		{"a sessions directory, recursively", []string{"s/x.jsonl", "s/--p--/a.jsonl", "s/--p--/a/run-1/session.jsonl", "s/notes.txt"}, []string{"s"},
			[]string{"s/--p--/a.jsonl", "s/--p--/a/run-1/session.jsonl", "s/x.jsonl"}},
		{"hidden directories", []string{"s/.h/a.jsonl"}, []string{"s"}, []string{"s/.h/a.jsonl"}},
		{"a directory named like a session", []string{"s/x.jsonl/", "s/x.jsonl/y.jsonl"}, []string{"s"}, []string{"s/x.jsonl/y.jsonl"}},
		{"a linked file counts once, by its own name", []string{"s/b.jsonl", "s/a.jsonl -> b.jsonl"}, []string{"s"}, []string{"s/b.jsonl"}},
		{"a linked directory of the same root", []string{"s/p/b.jsonl", "s/d -> p"}, []string{"s"}, []string{"s/p/b.jsonl"}},
		{"a link into another root", []string{"s/", "o/b.jsonl", "s/a.jsonl -> ../o/b.jsonl"}, []string{"s", "o"}, []string{"o/b.jsonl"}},
		{"a root that is a link", []string{"o/b.jsonl", "o/c/d.jsonl", "o/e -> c", "s -> o"}, []string{"s"}, []string{"s/b.jsonl", "s/c/d.jsonl"}},
		{"a session directory that is a link", []string{"a/", "o/b.jsonl", "o/a.jsonl -> b.jsonl", "a/sessions -> ../o"}, []string{"a"}, []string{"a/sessions/b.jsonl"}},
		{"a loop of links", []string{"s/d/a.jsonl", "s/d/up -> .."}, []string{"s"}, []string{"s/d/a.jsonl"}},
		{"a dangling link", []string{"s/a.jsonl", "s/b.jsonl -> nowhere"}, []string{"s"}, []string{"s/a.jsonl"}},
		{"two roots, one inside the other", []string{"s/d/a.jsonl"}, []string{"s", "s/d"}, []string{"s/d/a.jsonl"}},
		{"an agent directory with other files", []string{"a/sessions/--p--/x.jsonl", "a/subagent-sessions/y.jsonl", "a/old.jsonl", "a/settings.json", "a/tools/z.jsonl"}, []string{"a"},
			[]string{"a/old.jsonl", "a/sessions/--p--/x.jsonl", "a/subagent-sessions/y.jsonl"}},
		{"a collection like an agent directory", []string{"a/sessions/--p--/x.jsonl", "a/subagent-sessions/y.jsonl", "a/old.jsonl", "a/backup/old/z.jsonl", "a/.git/z.jsonl"}, []string{"a"},
			[]string{"a/backup/old/z.jsonl", "a/old.jsonl", "a/sessions/--p--/x.jsonl", "a/subagent-sessions/y.jsonl"}},
		{"an empty directory", []string{"s/"}, []string{"s"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := t.TempDir()
			tree(t, base, test.tree...)
			if diff := cmp.Diff(test.want, found(t, base, test.roots...)); diff != "" {
				t.Errorf("files found (- want, + got):\n%s", diff)
			}
		})
	}
}

// A link may lead anywhere, also to text that nobody meant to be searched.
func TestLinksThatLeadOut(t *testing.T) {
	base := t.TempDir()
	tree(t, base, "o/b.jsonl", "o/d/c.jsonl", "s/x.jsonl", "s/a.jsonl -> ../o/b.jsonl", "s/d -> ../o/d", "s/up -> ../s-other", "s-other/y.jsonl",
		"s/self.jsonl -> x.jsonl", "s/nowhere.jsonl -> ../nowhere", "o/notes.txt", "s/notes.txt -> ../o/notes.txt",
		"a/sessions/z.jsonl", "a/old.jsonl", "o/e.jsonl", "a/link.jsonl -> ../o/e.jsonl", "a/same.jsonl -> old.jsonl")
	discover := func(follow bool) (files, outside []string) {
		found := indexer.Discover(pi.New(), []adapter.Root{{Path: filepath.Join(base, "s"), Follow: follow}, {Path: filepath.Join(base, "a"), Follow: follow}}, nil)
		relative := func(path string) string {
			rel, err := filepath.Rel(base, path)
			if err != nil {
				t.Fatal(err)
			}
			return filepath.ToSlash(rel)
		}
		for _, f := range found.Files {
			files = append(files, relative(f.Path))
		}
		for _, path := range found.Outside {
			outside = append(outside, relative(path))
		}
		return files, outside
	}
	files, outside := discover(false)
	if diff := cmp.Diff([]string{"a/old.jsonl", "a/sessions/z.jsonl", "s/x.jsonl"}, files); diff != "" {
		t.Errorf("files found (- want, + got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"s/a.jsonl", "s/d", "s/up", "a/link.jsonl"}, outside); diff != "" {
		t.Errorf("links not followed (- want, + got):\n%s", diff)
	}
	files, outside = discover(true)
	if diff := cmp.Diff([]string{"a/link.jsonl", "a/old.jsonl", "a/sessions/z.jsonl", "s/a.jsonl", "s/d/c.jsonl", "s/up/y.jsonl", "s/x.jsonl"}, files); diff != "" {
		t.Errorf("files found with links followed (- want, + got):\n%s", diff)
	}
	if outside != nil {
		t.Errorf("links not followed: %q", outside)
	}
}

func TestAgentDirectoryHoldsOtherLines(t *testing.T) {
	base := t.TempDir()
	tree(t, base, "a/sessions/x.jsonl")
	for name, text := range map[string]string{"log.jsonl": `{"type":"log"}` + "\n", "late.jsonl": "\n\n" + `{"type":"session","id":"z"}`, "empty.jsonl": ""} {
		if err := os.WriteFile(filepath.Join(base, "a", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a/late.jsonl", "a/sessions/x.jsonl"}
	if diff := cmp.Diff(want, found(t, base, "a")); diff != "" {
		t.Errorf("files found (- want, + got):\n%s", diff)
	}
}

func TestRootsThatCannotBeUsed(t *testing.T) {
	base := t.TempDir()
	tree(t, base, "file.jsonl")
	got := indexer.Discover(pi.New(), []adapter.Root{{Path: filepath.Join(base, "missing")}, {Path: filepath.Join(base, "file.jsonl")}}, nil)
	if !errors.Is(got.Roots[0].Err, fs.ErrNotExist) {
		t.Errorf("missing root: %v", got.Roots[0].Err)
	}
	if err := got.Roots[1].Err; err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("root that is a file: %v", err)
	}
}
