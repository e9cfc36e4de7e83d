//go:build linux

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed picker.mjs
var pickerScript []byte

// mostForPicker is the largest corpus, in megabytes, that pi lists: each list of 8 GB takes
// minutes.
const mostForPicker = 1024

// picker is pi's own list of sessions, run by node.
type picker struct {
	dir     string // of pi's package
	script  string
	version string
}

// findPicker looks for pi on the PATH, as npm puts it there: a link to
// dist/cli.js of its package. Without it, or a node that runs it, it returns nil, and
// the page says so.
func (b *suite) findPicker() (*picker, error) {
	cli, err := exec.LookPath("pi")
	if err == nil {
		cli, err = filepath.EvalSymlinks(cli)
	}
	if err != nil || !b.have("node") {
		b.lacks("pi")
		return nil, nil
	}
	p := &picker{dir: filepath.Dir(filepath.Dir(cli)), script: filepath.Join(b.work, "picker.mjs")}
	var about struct{ Name, Version string }
	data, err := os.ReadFile(filepath.Join(p.dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &about)
	}
	if err != nil || !strings.HasSuffix(about.Name, "/pi-coding-agent") {
		b.lacks(fmt.Sprintf("pi (%s is not of its package)", cli))
		return nil, nil
	}
	p.version = about.Version
	if err := os.WriteFile(p.script, pickerScript, 0o644); err != nil {
		return nil, err
	}
	if _, _, err := p.list(b, &tree{dir: b.work}, "", ""); err != nil {
		fmt.Fprintln(os.Stderr, "bench: pi is left out:", err)
		b.lacks(fmt.Sprintf("a node that runs pi %s", p.version))
		return nil, nil
	}
	return p, nil
}

// list has pi list the sessions of a tree, or of one working directory, or search
// them, and returns how many there were.
func (p *picker) list(b *suite, t *tree, cwd, query string) (cost, int, error) {
	agent := filepath.Join(b.work, "agent-"+filepath.Base(t.dir))
	if err := os.MkdirAll(agent, 0o755); err != nil {
		return cost{}, 0, err
	}
	err := os.Symlink(t.dir, filepath.Join(agent, "sessions"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return cost{}, 0, err
	}
	c := exec.CommandContext(b.ctx, "node", p.script, p.dir, cwd, query)
	c.Env = append(os.Environ(), "PI_CODING_AGENT_DIR="+agent)
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return cost{}, 0, fmt.Errorf("node %s %s: %w\n%s", p.script, p.dir, err, exit.Stderr)
	} else if err != nil {
		return cost{}, 0, err
	}
	var took float64
	var found int
	if _, err := fmt.Sscan(string(out), &took, &found); err != nil {
		return cost{}, 0, fmt.Errorf("node %s prints %q: %w", p.script, out, err)
	}
	return cost{wall: time.Duration(took * float64(time.Millisecond)), rss: peakOf(c.ProcessState)}, found, nil
}

// sessions compares the list of sessions, and a search in it, with pi's picker.
// wanted is for the list of all directories.
func (b *suite) sessions(t *tree, wanted string) error {
	dirs, err := t.directories()
	if err != nil {
		return err
	}
	middle, largest := dirs[len(dirs)/2], dirs[len(dirs)-1]
	if b.about[t.name] != "" {
		b.about[t.name] += fmt.Sprintf(" Of %d directories, the median has %s, the largest %s.", len(dirs), middle, largest)
	}
	for _, l := range []struct{ name, cwd, query, wanted string }{
		{"sessions, median directory", middle.cwd, "", ""},
		{"sessions, largest directory", largest.cwd, "", ""},
		{"sessions, all directories", "", "", wanted},
		{"sessions, 2 words", "", "connection timeout", ""},
	} {
		args := strings.Fields(l.query)
		if l.cwd != "" {
			args = append(args, "--cwd", l.cwd)
		}
		listed := 0 // by pi
		sides := []func() (cost, error){func() (cost, error) { return b.program(t, "sessions", args...) }}
		if b.picker != nil && t.mb <= mostForPicker {
			sides = append(sides, func() (took cost, err error) {
				took, listed, err = b.picker.list(b, t, l.cwd, l.query)
				return took, err
			})
		}
		got, err := turns(b.slow(), sides...)
		if err != nil {
			return err
		}
		r := rowOf(t, l.name, ms(got[0].wall)+", "+mb(got[0].rss), l.wanted)
		if len(got) > 1 {
			if l.query == "" { // pi searches other texts, by other rules
				if err := b.lists(t, listed, args); err != nil {
					return err
				}
			}
			r = r.against("pi", ms(got[1].wall)+", "+mb(got[1].rss), ratio(got[0].wall, got[1].wall))
		}
		b.add(r)
	}
	return nil
}

// lists fails unless this build lists so many sessions.
func (b *suite) lists(t *tree, n int, args []string) error {
	out, err := exec.CommandContext(b.ctx, b.pigrep, append([]string{"sessions", "--print0", "--session-dir", t.dir, "--index-dir", t.index}, args...)...).Output()
	if err != nil {
		return fmt.Errorf("pigrep sessions: %w", err)
	}
	if ours := bytes.Count(out, []byte{0}); ours != n || ours == 0 {
		return fmt.Errorf("pigrep lists %d sessions of %s %q, pi %d", ours, t.name, args, n)
	}
	return nil
}

// directory is a directory of session files, those of one working directory.
type directory struct {
	cwd   string
	files int
	size  int64
}

func (d *directory) String() string {
	return fmt.Sprintf("%d files of %.1f MB", d.files, float64(d.size)/1e6)
}

// directories lists those of a tree, the smallest first.
func (t *tree) directories() ([]*directory, error) {
	found := map[string]*directory{}
	for _, path := range t.files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		d := found[filepath.Dir(path)]
		if d == nil {
			cwd, err := cwdOf(path)
			if err != nil {
				return nil, err
			}
			d = &directory{cwd: cwd}
			found[filepath.Dir(path)] = d
		}
		d.files++
		d.size += info.Size()
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *directory) int {
		return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.cwd, b.cwd))
	}), nil
}

// cwdOf is the working directory that the header of a session file names.
func cwdOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var header struct{ CWD string }
	err = json.NewDecoder(f).Decode(&header)
	return header.CWD, err
}
