//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pigrep/lab/must"
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
	survey

	first time.Duration // that the first index took
	peak  int64         // its memory
	took  []timing
}

// large is about 1 GB, in megabytes. Goals that do not name a size are for this one.
const large = 1000

// atLarge is a goal for corpora of about 1 GB.
func (t *tree) atLarge(wanted string) string {
	if t.mb < large || t.mb >= 2*large {
		return ""
	}
	return wanted
}

// tree returns the tree in a directory, and has it written if it is not there.
func (b *suite) tree(name, dir string, write func(dir string)) *tree {
	t := &tree{name: name, dir: filepath.Join(b.work, dir), index: filepath.Join(b.work, "index-"+dir)}
	if _, err := os.Stat(t.dir); err != nil {
		write(t.dir)
	}
	t.files, t.size = must.Get(sessionFiles(t.dir)), diskUse(t.dir)
	return t
}

// generated returns the corpus of this size.
func (b *suite) generated(mb int) *tree {
	t := b.tree(fmt.Sprintf("%d MB", mb), fmt.Sprintf("corpus-%d", mb), func(dir string) {
		b.run(b.generator, "-mb", strconv.Itoa(mb), dir)
	})
	t.mb = mb
	b.part("survey", t.dir, &t.survey)
	b.about[t.name] = fmt.Sprintf("%d session files.", len(t.files))
	return t
}

// smallFiles is a tree of so many short sessions in 120 projects.
func (b *suite) smallFiles(n int) *tree {
	return b.tree(fmt.Sprintf("%d small files", n), fmt.Sprintf("small-%d", n), func(root string) {
		for i := range n {
			project := fmt.Sprintf("p%03d", i%120)
			dir := filepath.Join(root, "--home-dev-"+project+"--")
			must.Do(os.MkdirAll(dir, 0o755))
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Minute).Format("2006-01-02T15:04:05.000Z")
			id := fmt.Sprintf("%08x-72ba-7bd6-9ca6-553bb00e0000", i)
			text := fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"/home/dev/%s"}
{"type":"message","id":"%08x","parentId":null,"timestamp":"%s","message":{"role":"user","content":"why does job number%d of this project fail?"}}
{"type":"message","id":"%08x","parentId":"%08x","timestamp":"%s","message":{"role":"assistant","content":[{"type":"text","text":"Its connection is closed after a timeout."}]}}
`, id, at, project, 2*i, at, i, 2*i+1, 2*i, at)
			name := strings.NewReplacer(":", "-", ".", "-").Replace(at) + "_" + id + ".jsonl"
			must.Do(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	})
}

// command returns the arguments of this build for the tree; those of the command come first.
func (t *tree) command(command string, args ...string) []string {
	return append(append(strings.Fields(command), "--session-dir", t.dir, "--index-dir", t.index), args...)
}

// program runs this build on the tree.
func (b *suite) program(t *tree, command string, args ...string) cost {
	return b.run(b.pigrep, t.command(command, args...)...)
}

// index brings the index of the tree up to date.
func (b *suite) index(t *tree) cost { return b.program(t, "index", "--quiet") }

// firstIndex indexes the tree from scratch.
func (b *suite) firstIndex(t *tree) cost {
	must.Do(os.RemoveAll(t.index))
	return b.index(t)
}

// found fails unless a search for the words finds something.
func (b *suite) found(t *tree, words ...string) {
	var answer struct{ TotalAny int }
	must.Do(json.Unmarshal(output(b.pigrep, t.command("search --json", append([]string{"--"}, words...)...)...), &answer))
	if answer.TotalAny == 0 {
		must.Fail("a search for %q in %s finds nothing", words, t.name)
	}
}

// ripgrep is the peer of searches, over the files of the tree: none if it is not installed.
func (b *suite) ripgrep(t *tree, args func() []string) []peer {
	if !b.have("rg") {
		return nil
	}
	return []peer{{"rg", func() cost {
		return b.run("rg", append(append([]string{"--no-ignore", "--hidden"}, args()...), t.dir)...)
	}}}
}

// sessionFiles lists the session files below a directory, ordered by path.
func sessionFiles(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// diskUse adds up the files below a directory, each real file once.
func diskUse(dir string) (sum int64) {
	seen := map[uint64]bool{}
	must.Do(filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if inode := info.Sys().(*syscall.Stat_t).Ino; !seen[inode] {
			seen[inode] = true
			sum += info.Size()
		}
		return nil
	}))
	return sum
}
