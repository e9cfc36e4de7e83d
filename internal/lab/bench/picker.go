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
	cwd, files, size, err := t.middling()
	if err != nil {
		return err
	}
	if b.about[t.name] != "" {
		b.about[t.name] += fmt.Sprintf(" The directory of \"sessions, one directory\" has %d of them, %s: half of the directories have more.", files, mb(size))
	}
	for _, l := range []struct{ name, cwd, query, wanted string }{
		{"sessions, one directory", cwd, "", ""},
		{"sessions, all directories", "", "", wanted},
		{"sessions, 2 words", "", "connection timeout", ""},
	} {
		args := strings.Fields(l.query)
		if l.cwd != "" {
			args = append(args, "--cwd", l.cwd)
		}
		sides := []func() (cost, error){func() (cost, error) { return b.program(t, "sessions", args...) }}
		if b.picker != nil {
			if err := b.sameSessions(t, l.name, l.cwd, l.query, args); err != nil {
				return err
			}
			sides = append(sides, func() (cost, error) {
				took, _, err := b.picker.list(b, t, l.cwd, l.query)
				return took, err
			})
		}
		got, err := turns(b.slow(), sides...)
		if err != nil {
			return err
		}
		r := rowOf(t, l.name, ms(got[0].wall)+", "+mb(got[0].rss), l.wanted)
		if len(got) > 1 {
			r = r.against("pi", ms(got[1].wall)+", "+mb(got[1].rss), ratio(got[0].wall, got[1].wall))
		}
		b.add(r)
	}
	return nil
}

// sameSessions fails unless pi lists as many sessions as this build.
func (b *suite) sameSessions(t *tree, name, cwd, query string, args []string) error {
	if query != "" {
		return nil // pi searches other texts, by other rules
	}
	_, theirs, err := b.picker.list(b, t, cwd, query)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(b.ctx, b.pigrep, append([]string{"sessions", "--print0", "--session-dir", t.dir, "--index-dir", t.index}, args...)...).Output()
	if err != nil {
		return fmt.Errorf("pigrep sessions: %w", err)
	}
	if ours := bytes.Count(out, []byte{0}); ours != theirs || ours == 0 {
		return fmt.Errorf("%s of %s: pigrep lists %d, pi %d", name, t.name, ours, theirs)
	}
	return nil
}

// middling is the working directory whose session files have more bytes than those
// of half of the directories, with their number and bytes.
func (t *tree) middling() (cwd string, files int, size int64, err error) {
	type group struct {
		path  string // of a session file in it
		files int
		size  int64
	}
	groups := map[string]*group{}
	for _, path := range t.files {
		info, err := os.Stat(path)
		if err != nil {
			return "", 0, 0, err
		}
		g := groups[filepath.Dir(path)]
		if g == nil {
			g = &group{path: path}
			groups[filepath.Dir(path)] = g
		}
		g.files++
		g.size += info.Size()
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.path, b.path))
	})
	g := sorted[len(sorted)/2]
	data, err := os.ReadFile(g.path)
	if err != nil {
		return "", 0, 0, err
	}
	header, _, _ := bytes.Cut(data, []byte("\n"))
	var first struct{ CWD string }
	err = json.Unmarshal(header, &first)
	return first.CWD, g.files, g.size, err
}
