//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pigrep/lab/corpus"
)

// corpusTree is a set of session directories with one index.
type corpusTree struct {
	name  string
	roots []string
	files []string // sorted
	key   string   // a hash of paths, sizes and times
}

func newTree(name string, roots ...string) (*corpusTree, error) {
	t := &corpusTree{name: name, roots: roots}
	h := sha256.New()
	for _, root := range roots {
		fmt.Fprintln(h, root)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", root, err)
		}
	}
	if len(t.files) == 0 {
		return nil, fmt.Errorf("no session files in %s", strings.Join(roots, ", "))
	}
	slices.Sort(t.files)
	t.key = fmt.Sprintf("%x", h.Sum(nil))[:16]
	return t, nil
}

// findTrees returns the corpora in the order of comparison, the small ones first:
// most differences show there.
func findTrees(work, repository, fixtures string, megabytes int64, more []string) ([]*corpusTree, error) {
	var trees []*corpusTree
	add := func(name string, roots ...string) error {
		t, err := newTree(name, roots...)
		if err == nil {
			trees = append(trees, t)
		}
		return err
	}
	if err := add("testdata", filepath.Join(repository, "testdata", "sessions")); err != nil {
		return nil, err
	}
	examples := filepath.Join(work, "examples")
	if err := writeExamples(repository, examples); err != nil {
		return nil, err
	}
	if err := add("examples", examples); err != nil {
		return nil, err
	}
	if fixtures != "" {
		if roots := existing(filepath.Join(fixtures, "real"), filepath.Join(fixtures, "pi", "*", "home", ".pi", "agent", "sessions"), filepath.Join(fixtures, "pi", "*", "home", "flat-sessions")); len(roots) > 0 {
			if err := add("fixtures", roots...); err != nil {
				return nil, err
			}
		}
		stages, err := lifecycle(fixtures, filepath.Join(work, "lifecycle"))
		if err != nil {
			return nil, err
		}
		if stages != "" {
			if err := add("lifecycle", stages); err != nil {
				return nil, err
			}
		}
		if roots := existing(filepath.Join(fixtures, "agents", "*")); len(roots) > 0 {
			if err := add("agents", roots...); err != nil {
				return nil, err
			}
		}
	}
	for _, root := range more {
		if err := add(filepath.Base(root), root); err != nil {
			return nil, err
		}
	}
	if megabytes > 0 {
		dir := filepath.Join(work, fmt.Sprintf("corpus-%d", megabytes))
		if err := generate(dir, megabytes); err != nil {
			return nil, err
		}
		if err := add("generated", dir); err != nil {
			return nil, err
		}
	}
	return trees, nil
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
func generate(dir string, megabytes int64) error {
	complete := dir + ".complete"
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := corpus.Generate(dir, corpus.Options{Seed: 1, Bytes: megabytes * 1_000_000}); err != nil {
		return err
	}
	return os.WriteFile(complete, nil, 0o644)
}

// lifecycle copies the snapshots of changing files into one flat directory of
// session files, with their times, and returns it; "" when there are none.
func lifecycle(fixtures, dir string) (string, error) {
	stages, _ := filepath.Glob(filepath.Join(fixtures, "pi", "lifecycle", "*", "*.snapshot"))
	if len(stages) == 0 {
		return "", nil
	}
	for _, stage := range stages {
		info, err := os.Stat(stage)
		if err != nil {
			return "", err
		}
		story := filepath.Base(filepath.Dir(stage))
		to := filepath.Join(dir, story+"-"+strings.TrimSuffix(filepath.Base(stage), ".snapshot")+".jsonl")
		data, err := os.ReadFile(stage)
		if err != nil {
			return "", err
		}
		if err := writeSession(to, data, info.ModTime()); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// writeSession writes a session file with this time, unless it is there: to an
// index that exists, a file written again would be a changed one.
func writeSession(path string, data []byte, modified time.Time) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		if info, err := os.Stat(path); err == nil && info.ModTime().Equal(modified) {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, modified, modified)
}
