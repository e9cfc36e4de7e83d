//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pigrep/lab/corpus"
	"pigrep/lab/must"
)

// corpusTree is a set of session directories with one index.
type corpusTree struct {
	name  string
	roots []string
	files []string // sorted
	key   string   // a hash of paths, sizes and times
}

func newTree(name string, roots ...string) *corpusTree {
	t := &corpusTree{name: name, roots: roots}
	h := sha256.New()
	for _, root := range roots {
		fmt.Fprintln(h, root)
		must.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, ".jsonl") {
				t.files = append(t.files, path)
			}
			fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
			return nil
		}))
	}
	if len(t.files) == 0 {
		must.Fail("no session files in %s", strings.Join(roots, ", "))
	}
	slices.Sort(t.files)
	t.key = fmt.Sprintf("%x", h.Sum(nil))[:16]
	return t
}

// findTrees returns the corpora in the order of comparison, the small ones first:
// most differences show there.
func findTrees(work string, o *options) (trees []*corpusTree) {
	add := func(name string, roots ...string) {
		if len(roots) > 0 {
			trees = append(trees, newTree(name, roots...))
		}
	}
	repository := repository()
	add("testdata", filepath.Join(repository, "testdata", "sessions"))
	add("examples", writeExamples(repository, filepath.Join(work, "examples")))
	if o.fixtures != "" {
		pi := filepath.Join(o.fixtures, "pi", "*", "home")
		add("fixtures", existing(filepath.Join(o.fixtures, "real"), filepath.Join(pi, ".pi", "agent", "sessions"), filepath.Join(pi, "flat-sessions"))...)
		add("lifecycle", lifecycle(o.fixtures, filepath.Join(work, "lifecycle"))...)
		add("agents", existing(filepath.Join(o.fixtures, "agents", "*"))...)
	}
	for _, root := range strings.FieldsFunc(o.roots, func(r rune) bool { return r == ',' }) {
		add(filepath.Base(root), must.Get(filepath.Abs(root)))
	}
	if o.megabytes > 0 {
		add("generated", generate(filepath.Join(work, fmt.Sprintf("corpus-%d", o.megabytes)), o.megabytes))
	}
	return trees
}

// existing returns the directories that match the patterns.
func existing(patterns ...string) []string {
	var dirs []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern)
		for _, dir := range found {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// generate writes the corpus, unless it exists. A file beside it marks it as
// complete; it cannot be renamed into place, because forks name their parents by
// path.
func generate(dir string, megabytes int64) string {
	complete := dir + ".complete"
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	must.Do(os.RemoveAll(dir))
	must.Get(corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: megabytes * 1_000_000}))
	must.Do(os.WriteFile(complete, nil, 0o644))
	return dir
}

// lifecycle copies the snapshots of changing files into one flat directory of
// session files, with their times, and returns it, if there are any.
func lifecycle(fixtures, dir string) []string {
	stages, _ := filepath.Glob(filepath.Join(fixtures, "pi", "lifecycle", "*", "*.snapshot"))
	for _, stage := range stages {
		story := filepath.Base(filepath.Dir(stage))
		to := filepath.Join(dir, story+"-"+strings.TrimSuffix(filepath.Base(stage), ".snapshot")+".jsonl")
		writeSession(to, must.Get(os.ReadFile(stage)), must.Get(os.Stat(stage)).ModTime())
	}
	return existing(dir)
}

// writeSession writes a session file with this time, unless it is there: to an
// index that exists, a file written again would be a changed one.
func writeSession(path string, data []byte, modified time.Time) {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) && must.Get(os.Stat(path)).ModTime().Equal(modified) {
		return
	}
	must.Do(os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(os.WriteFile(path, data, 0o644))
	must.Do(os.Chtimes(path, modified, modified))
}
