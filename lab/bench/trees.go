//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tree is a directory of session files, the place of its index, and what is known
// about them.
type tree struct {
	name  string // on the page
	mb    int    // 0 for trees that are not made by size
	dir   string
	index string
	files []string // ordered by path
	size  int64    // of the session files

	terms             int
	rare, identifiers []string
	first             time.Duration // that the first index took
	peak              int64         // its memory
	took              []timing
}

// generated returns the corpus of this size, making it when it is not there.
func (b *suite) generated(mb int) (*tree, error) {
	t := &tree{name: fmt.Sprintf("%d MB", mb), mb: mb, dir: filepath.Join(b.work, fmt.Sprintf("corpus-%d", mb))}
	err := b.make(t, func() error {
		_, err := b.run(b.self, "-generate", strconv.Itoa(mb), t.dir)
		return err
	})
	if err != nil {
		return nil, err
	}
	s, err := b.surveyed(t)
	if err != nil {
		return nil, err
	}
	t.terms, t.rare, t.identifiers = s.Terms, s.Rare, s.Identifiers
	b.about[t.name] = fmt.Sprintf("%d session files.", len(t.files))
	return t, nil
}

// make has the session files of a tree made, if they are not there, and lists
// them.
func (b *suite) make(t *tree, write func() error) error {
	t.index = filepath.Join(b.work, "index-"+filepath.Base(t.dir))
	if _, err := os.Stat(t.dir); err != nil {
		if err := write(); err != nil {
			return fmt.Errorf("make %s: %w", t.dir, err)
		}
	}
	var err error
	if t.files, err = sessionFiles(t.dir); err != nil {
		return err
	}
	t.size, err = diskUse(t.dir)
	return err
}

// smallFiles is a tree of so many short sessions in 120 projects.
func (b *suite) smallFiles(n int) (*tree, error) {
	t := &tree{name: fmt.Sprintf("%d small files", n), dir: filepath.Join(b.work, fmt.Sprintf("small-%d", n))}
	return t, b.make(t, func() error {
		for i := range n {
			project := fmt.Sprintf("p%03d", i%120)
			dir := filepath.Join(t.dir, "--home-dev-"+project+"--")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Minute).Format("2006-01-02T15:04:05.000Z")
			id := fmt.Sprintf("%08x-72ba-7bd6-9ca6-553bb00e0000", i)
			text := fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"/home/dev/%s"}
{"type":"message","id":"%08x","parentId":null,"timestamp":"%s","message":{"role":"user","content":"why does job number%d of this project fail?"}}
{"type":"message","id":"%08x","parentId":"%08x","timestamp":"%s","message":{"role":"assistant","content":[{"type":"text","text":"Its connection is closed after a timeout."}]}}
`, id, at, project, 2*i, at, i, 2*i+1, 2*i, at)
			name := strings.ReplaceAll(strings.ReplaceAll(at, ":", "-"), ".", "-") + "_" + id + ".jsonl"
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// program runs this build on the tree; the command comes first.
func (b *suite) program(t *tree, command string, args ...string) (cost, error) {
	return b.run(b.pigrep, append([]string{command, "--session-dir", t.dir, "--index-dir", t.index}, args...)...)
}

// found fails unless a search for the words finds something.
func (b *suite) found(t *tree, words ...string) error {
	out, err := exec.CommandContext(b.ctx, b.pigrep, append([]string{"search", "--json", "--session-dir", t.dir, "--index-dir", t.index, "--"}, words...)...).Output()
	var answer struct{ TotalAny int }
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || answer.TotalAny == 0 {
		return fmt.Errorf("a search for %q in %s finds nothing: %v", words, t.name, err)
	}
	return nil
}

// ripgrep runs the peer of searches over the files of the tree.
func (b *suite) ripgrep(t *tree, args ...string) (cost, error) {
	return b.run("rg", append(append([]string{"--no-ignore", "--hidden"}, args...), t.dir)...)
}

// diskUse adds up the files below a directory, each real file once.
func diskUse(dir string) (int64, error) {
	seen := make(map[uint64]bool)
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if ino := inode(info); !seen[ino] {
			seen[ino] = true
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}
