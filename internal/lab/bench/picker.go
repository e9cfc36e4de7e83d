//go:build linux

package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
// dist/cli.js of its package. It returns nil, and has the page say so, when that
// or node is not there, or they do not go together.
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
	if _, err := p.list(b, &tree{dir: b.work}, ""); err != nil {
		fmt.Fprintln(os.Stderr, "bench: pi is left out:", err)
		b.lacks(fmt.Sprintf("a node that runs pi %s", p.version))
		return nil, nil
	}
	return p, nil
}

// list has pi list the sessions of a tree, or search them.
func (p *picker) list(b *suite, t *tree, query string) (cost, error) {
	agent := filepath.Join(b.work, "agent-"+filepath.Base(t.dir))
	if err := os.MkdirAll(agent, 0o755); err != nil {
		return cost{}, err
	}
	err := os.Symlink(t.dir, filepath.Join(agent, "sessions"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return cost{}, err
	}
	c := exec.CommandContext(b.ctx, "node", p.script, p.dir, query)
	c.Env = append(os.Environ(), "PI_CODING_AGENT_DIR="+agent)
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return cost{}, fmt.Errorf("node %s %s: %w\n%s", p.script, p.dir, err, exit.Stderr)
	} else if err != nil {
		return cost{}, err
	}
	var took float64
	var found int
	if _, err := fmt.Sscan(string(out), &took, &found); err != nil {
		return cost{}, fmt.Errorf("node %s prints %q: %w", p.script, out, err)
	}
	if found == 0 && len(t.files) > 0 {
		return cost{}, fmt.Errorf("pi finds none of the %d sessions of %s", len(t.files), t.name)
	}
	return cost{wall: time.Duration(took * float64(time.Millisecond)), rss: peakOf(c.ProcessState)}, nil
}

// sessions compares the list of sessions, and a search in it, with pi's picker.
// wanted is of the list alone.
func (b *suite) sessions(t *tree, wanted string) error {
	for _, l := range []struct{ name, query, wanted string }{
		{"sessions", "", wanted},
		{"sessions, 2 words", "connection timeout", ""},
	} {
		mine := func() (cost, error) { return b.program(t, "sessions", strings.Fields(l.query)...) }
		got, err := turns(b.runs, mine)
		if err != nil {
			return err
		}
		r := rowOf(t, l.name, ms(got[0].wall)+", "+mib(got[0].rss), l.wanted)
		if b.picker != nil {
			// Not in turns: for a while after it the machine is busy with the memory it had.
			pi, err := turns(b.slow(), func() (cost, error) { return b.picker.list(b, t, l.query) })
			if err != nil {
				return err
			}
			r = r.against("pi "+ms(pi[0].wall)+", "+mib(pi[0].rss), got[0].wall.Seconds()/pi[0].wall.Seconds())
		}
		b.add(r)
	}
	return nil
}
