//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
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
