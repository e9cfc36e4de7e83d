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
	"path/filepath"
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
	rows         []row
	missing      []string
}

// row is one line of the page.
type row struct {
	mb     int
	what   string
	here   string // this build
	peer   string // what it is compared with
	ratio  string
	target string
}

// run runs a command to its end; output is thrown away. A search that finds
// nothing is no failure.
func (b *suite) run(name string, args ...string) (cost, error) {
	return b.runEnv(nil, name, args...)
}

func (b *suite) runEnv(env []string, name string, args ...string) (cost, error) {
	c := exec.CommandContext(b.ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	start := time.Now()
	err := c.Run()
	took := cost{wall: time.Since(start)}
	if c.ProcessState != nil {
		took.cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			took.rss = u.Maxrss << 10
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return took, err
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
		st := info.Sys().(*syscall.Stat_t)
		if !seen[st.Ino] {
			seen[st.Ino] = true
			sum += info.Size()
		}
		return nil
	})
	return sum, err
}

func (b *suite) add(mb int, what, here, peer, ratio, target string) {
	b.rows = append(b.rows, row{mb, what, here, peer, ratio, target})
	fmt.Fprintf(os.Stderr, "%5d MB  %-44s %-24s %-28s %-8s %s\n", mb, what, here, peer, ratio, target)
}

// have says whether a peer is installed, and remembers those that are not.
func (b *suite) have(name string) bool {
	if _, err := exec.LookPath(name); err == nil {
		return true
	}
	if !slices.Contains(b.missing, name) {
		b.missing = append(b.missing, name)
	}
	return false
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mib(n int64) string { return fmt.Sprintf("%d MB", n/1_000_000) }
