//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pigrep/lab/must"
)

// cost is what one run of a process took.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // bytes, the peak
}

// suite is one run of all measurements.
type suite struct {
	work    string
	runs    int
	picker  *picker // nil without pi
	rows    []row
	about   map[string]string // of a section
	missing []string

	pigrep, self, generator string // programs
}

// slow is how often what takes seconds is run.
func (b *suite) slow() int { return max(1, b.runs/5) }

// run runs a command to its end; output is thrown away. A search that finds
// nothing is no failure.
func (b *suite) run(name string, args ...string) cost {
	c := exec.Command(name, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	start := time.Now()
	err := c.Run()
	wall := time.Since(start)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || stderr.Len() > 0 {
		must.Do(err, name, " ", strings.Join(args, " "), ": ", stderr.String())
	}
	return cost{wall, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), peakOf(c.ProcessState)}
}

// peakOf is the resident memory that a process had at most, in bytes.
func peakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

// output runs a command and returns what it prints.
func output(name string, args ...string) []byte {
	c := exec.Command(name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	must.Do(err, name, " ", strings.Join(args, " "))
	return out
}

// part runs a part of this command in a process of its own, and decodes what it prints.
func (b *suite) part(name, arg string, into any) {
	must.Do(json.Unmarshal(output(b.self, "-part", name, arg), into), name, " ", arg)
}

// firstByte runs this build until it has printed something.
func (b *suite) firstByte(args ...string) cost {
	c := exec.Command(b.pigrep, args...)
	out := must.Get(c.StdoutPipe())
	start := time.Now()
	must.Do(c.Start())
	must.Get(out.Read(make([]byte, 1)))
	took := cost{wall: time.Since(start)}
	out.Close()
	_ = c.Wait() // its pipe was closed
	return took
}

// peer is a program that this build takes turns with.
type peer struct {
	name string
	run  func() cost
}

// turns runs this build and its peers n times, in turns, and returns the medians in this order.
func turns(n int, here func() cost, peers ...peer) []cost {
	all := make([][]cost, 1+len(peers))
	for range n {
		all[0] = append(all[0], here())
		for i, p := range peers {
			all[i+1] = append(all[i+1], p.run())
		}
	}
	medians := make([]cost, len(all))
	for i, costs := range all {
		medians[i] = cost{
			wall: median(costs, func(c cost) time.Duration { return c.wall }),
			cpu:  median(costs, func(c cost) time.Duration { return c.cpu }),
			rss:  median(costs, func(c cost) int64 { return c.rss }),
		}
	}
	return medians
}

func median[T ~int64](costs []cost, of func(cost) T) T {
	v := make([]T, len(costs))
	for i, c := range costs {
		v[i] = of(c)
	}
	return percentile(v, 50)
}

// percentile returns the value that so many of a hundred are below.
func percentile[T ~int64](values []T, n int) T {
	slices.Sort(values)
	return values[len(values)*n/100]
}

// timed measures this build and its peers, and adds a row of their times.
func (b *suite) timed(t *tree, what string, n int, wanted string, here func() cost, peers ...peer) []cost {
	got := turns(n, here, peers...)
	r := rowOf(t, what, got[0].times(), wanted)
	for i, c := range got[1:] {
		r = r.against(peers[i].name, c.times(), ratio(got[0].wall, c.wall))
	}
	b.add(r)
	return got
}

// have reports whether a peer is installed, and remembers those that are not.
func (b *suite) have(name string) bool {
	if _, err := exec.LookPath(name); err == nil {
		return true
	}
	b.lacks(name)
	return false
}

func (b *suite) lacks(name string) {
	if !slices.Contains(b.missing, name) {
		b.missing = append(b.missing, name)
	}
}

// versions lists the peers that are there.
func (b *suite) versions() []string {
	var list []string
	for _, p := range []struct {
		name, program string
		field         int // of the first line
	}{{"ripgrep", "rg", 1}, {"SQLite", "sqlite3", 0}, {"node", "node", 0}} {
		out, err := exec.Command(p.program, "--version").Output()
		if fields := strings.Fields(string(out)); err == nil && len(fields) > p.field {
			list = append(list, p.name+" "+fields[p.field])
		}
	}
	if b.picker != nil {
		list = append(list, fmt.Sprint("pi ", b.picker.version))
	}
	return list
}

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
	t.files, t.size = sessionFiles(t.dir), diskUse(t.dir)
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
func sessionFiles(dir string) (paths []string) {
	must.Do(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			paths = append(paths, path)
		}
		return err
	}))
	return paths
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
