//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// cost is what one run of a process took.
type cost struct {
	wall, cpu time.Duration
	rss       int64 // bytes, the peak
}

// suite is one run of all measurements.
type suite struct {
	ctx          context.Context
	work         string
	runs         int
	pigrep, self string
	picker       *picker // nil without pi
	rows         []row
	about        map[string]string // of a section
	missing      []string
}

// run runs a command to its end; output is thrown away. A search that finds
// nothing is no failure.
func (b *suite) run(name string, args ...string) (cost, error) {
	c := exec.CommandContext(b.ctx, name, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	start := time.Now()
	err := c.Run()
	took := cost{wall: time.Since(start)}
	if c.ProcessState != nil {
		took.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		took.rss = peakOf(c.ProcessState)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && stderr.Len() == 0 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return took, err
}

// peakOf is the resident memory that a process had at most, in bytes.
func peakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

// firstByte runs this build until it has printed something.
func (b *suite) firstByte(args ...string) (cost, error) {
	c := exec.CommandContext(b.ctx, b.pigrep, args...)
	out, err := c.StdoutPipe()
	if err != nil {
		return cost{}, err
	}
	start := time.Now()
	if err := c.Start(); err != nil {
		return cost{}, err
	}
	_, err = out.Read(make([]byte, 1))
	took := cost{wall: time.Since(start)}
	out.Close()
	_ = c.Wait() // its pipe was closed
	return took, err
}

// beside runs this build and ripgrep in turns; without ripgrep, this build alone.
func (b *suite) beside(n int, mine, ripgrep func() (cost, error)) ([]cost, error) {
	if b.have("rg") {
		return turns(n, mine, ripgrep)
	}
	return turns(n, mine)
}

// turns runs each of the functions n times, in turns, and returns the medians.
func turns(n int, fs ...func() (cost, error)) ([]cost, error) {
	all := make([][]cost, len(fs))
	for range n {
		for i, f := range fs {
			c, err := f()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], c)
		}
	}
	out := make([]cost, len(fs))
	for i, costs := range all {
		out[i] = cost{
			wall: median(costs, func(c cost) time.Duration { return c.wall }),
			cpu:  median(costs, func(c cost) time.Duration { return c.cpu }),
			rss:  median(costs, func(c cost) int64 { return c.rss }),
		}
	}
	return out, nil
}

func median[T ~int64](costs []cost, of func(cost) T) T {
	v := make([]T, len(costs))
	for i, c := range costs {
		v[i] = of(c)
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

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
		out, err := exec.CommandContext(b.ctx, p.program, "--version").Output()
		if fields := strings.Fields(string(out)); err == nil && len(fields) > p.field {
			list = append(list, p.name+" "+fields[p.field])
		}
	}
	if b.picker != nil {
		list = append(list, "pi "+b.picker.version)
	}
	return list
}
