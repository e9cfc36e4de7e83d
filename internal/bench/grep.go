//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"time"
)

// grep is one comparison of exact searches with ripgrep over the same bytes.
type grep struct {
	name   string
	args   []string
	target float64
}

// measureGreps compares exact searches with ripgrep's, in turns. A word of the
// texts is one of the file's bytes too, so both look for the same.
func (b *suite) measureGreps(mb int, dir string, size int64) error {
	rare, err := b.rareWord(dir)
	if err != nil {
		return err
	}
	piece := rare[1 : len(rare)-1]
	here := []string{"grep", "--scope", "all", "--session-dir", dir, "--index-dir", b.indexDir(mb)}
	for _, g := range []grep{
		{"rare word", []string{"-c", "-w", "-s", rare}, 0.25},
		{"piece of a rare word", []string{"-c", "-s", piece}, 1.2},
		{"expression with a rare word", []string{"-c", "-s", `\b` + rare + `(s|ed)?\W`}, 0.5},
		{"common word", []string{"-c", "-s", "timeout"}, 4},
	} {
		fs := []func() (cost, error){func() (cost, error) { return b.run(b.pigrep, append(here, g.args...)...) }}
		if b.have("rg") {
			fs = append(fs, func() (cost, error) {
				return b.run("rg", append(append([]string{"--no-ignore", "--hidden"}, g.args...), dir)...)
			})
		}
		got, err := turns(b.runs, fs...)
		if err != nil {
			return err
		}
		if len(got) > 1 {
			b.add(mb, "grep: "+g.name, ms(got[0].wall), "rg -c "+ms(got[1].wall), fmt.Sprintf("%.2f", got[0].wall.Seconds()/got[1].wall.Seconds()), fmt.Sprintf("≤ %.2f", g.target))
		} else {
			b.add(mb, "grep: "+g.name, ms(got[0].wall), "", "", "")
		}
	}
	first, err := turns(b.runs, func() (cost, error) { return b.firstByte(append(here, "-s", "timeout")...) })
	if err != nil {
		return err
	}
	b.add(mb, "grep: first line of a common word", ms(first[0].wall), "", "", "≤ 60 ms")
	scan, err := turns(max(1, b.runs/5), func() (cost, error) { return b.run(b.pigrep, append(here, "-c", "-s", `[A-Z]{12}[0-9]`)...) })
	if err != nil {
		return err
	}
	b.add(mb, "grep: without any literal, MB a second", fmt.Sprintf("%.0f", float64(size)/1e6/scan[0].wall.Seconds()), "", "", "≥ 400")
	return nil
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
