//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// measure fills the rows of a generated corpus.
func (b *suite) measure(t *tree) error {
	for _, rows := range []func(*tree) error{b.indexing, b.queries, b.greps, b.audits, b.freshness, b.crowd} {
		if err := rows(t); err != nil {
			return err
		}
	}
	return b.sessions(t, "")
}

// slow is how often what takes seconds is run.
func (b *suite) slow() int { return max(1, b.runs/5) }

func (b *suite) indexing(t *tree) error {
	build := func() (cost, error) {
		if err := os.RemoveAll(t.index); err != nil {
			return cost{}, err
		}
		return b.program(t, "index", "--quiet")
	}
	decode := func() (cost, error) { return b.run(b.self, "-decode", t.dir) }
	fs := []func() (cost, error){build, decode}
	if b.have("sqlite3") {
		load, remove, err := b.sqlite(t)
		defer remove()
		if err != nil {
			return err
		}
		fs = append(fs, load)
	}
	got, err := turns(b.slow(), fs...)
	if err != nil {
		return err
	}
	rate := func(c cost) float64 { return float64(t.size) / 1e6 / c.wall.Seconds() }
	perMB := func(c cost) float64 { return c.cpu.Seconds() * 1000 / (float64(t.size) / 1e6) }
	mine := got[0]
	t.peak = mine.rss
	r := rowOf(t, "first index, MB of session files a second", fmt.Sprintf("%.0f", rate(mine)), t.atLarge("≥ 2"))
	if len(got) > 2 {
		r = r.against(fmt.Sprintf("SQLite FTS5 %.0f", rate(got[2])), rate(mine)/rate(got[2]))
	}
	b.add(r)
	b.add(rowOf(t, "first index, CPU ms a MB", fmt.Sprintf("%.1f", perMB(mine)), "≤ 30 ms").
		against(fmt.Sprintf("encoding/json decode %.1f", perMB(got[1])), perMB(mine)/perMB(got[1])))
	b.add(rowOf(t, "first index, peak resident", mib(mine.rss), "≤ 600 MB"))
	disk, err := diskUse(t.index)
	if err != nil {
		return err
	}
	wanted := "≤ 0.40"
	if t.mb < 300 {
		wanted = "≤ 0.55"
	}
	b.add(rowOf(t, "index size", mib(disk), wanted).against("session files "+mib(t.size), float64(disk)/float64(t.size)))
	return nil
}

// queries measures whole processes that search, each against ripgrep looking for
// its first word.
func (b *suite) queries(t *tree) error {
	peak := int64(0)
	for _, q := range []struct {
		name    string
		queries []string // by turns
		wanted  float64
	}{
		{"rare word", t.rare, 0.2},
		{"3 words", []string{"connection timeout retry"}, 0.3},
		{"5 words", []string{"config token login refresh error"}, 0.4},
		{"identifier", []string{"readRequestLine"}, 0.25},
		{"prefix of 4 letters", []string{"conn*"}, 0.5},
	} {
		for _, text := range q.queries {
			if err := b.found(t, text); err != nil {
				return err
			}
		}
		turn := 0
		words := func() []string { return strings.Fields(q.queries[turn%len(q.queries)]) }
		got, err := b.beside(b.runs,
			func() (cost, error) { return b.program(t, "search", append([]string{"--json"}, words()...)...) },
			func() (cost, error) {
				first := words()[0]
				turn++
				return b.ripgrep(t, "-c", "-F", strings.TrimSuffix(first, "*"))
			})
		if err != nil {
			return err
		}
		peak = max(peak, got[0].rss)
		if q.name == "rare word" {
			t.query = got[0].wall
		}
		b.add(timed(t, "query: "+q.name, got, t.atLarge(fmt.Sprintf("≤ %.2f", q.wanted))))
	}
	b.add(rowOf(t, "query: peak resident", mib(peak), "≤ 80 MB"))
	got, err := turns(b.runs, func() (cost, error) { return b.program(t, "search", "--json", "c*") })
	if err != nil {
		return err
	}
	b.add(rowOf(t, "query: c*", ms(got[0].wall)+", "+mib(got[0].rss), "< 150 ms, < 150 MB"))
	return nil
}

// greps compares exact searches with ripgrep's. A word of the texts is one of the
// file's bytes too, so both look for the same.
func (b *suite) greps(t *tree) error {
	here := func(args ...string) (cost, error) {
		return b.program(t, "grep", append([]string{"--scope", "all"}, args...)...)
	}
	rare := t.rare[len(t.rare)/2]
	for _, g := range []struct {
		name   string
		args   []string
		wanted float64
	}{
		{"rare word (-w)", []string{"-c", "-w", "-s", rare}, 0.25},
		{"piece of a rare word", []string{"-c", "-s", rare[1 : len(rare)-1]}, 1.2},
		{"expression with a rare word", []string{"-c", "-s", `\b` + rare + `(s|ed)?\W`}, 0.5},
		{"common word", []string{"-c", "-s", "timeout"}, 4},
	} {
		got, err := b.beside(b.runs,
			func() (cost, error) { return here(g.args...) },
			func() (cost, error) { return b.ripgrep(t, g.args...) })
		if err != nil {
			return err
		}
		b.add(timed(t, "grep: "+g.name, got, t.atLarge(fmt.Sprintf("≤ %.2f", g.wanted))))
	}
	first, err := turns(b.runs, func() (cost, error) {
		return b.firstByte("grep", "--scope", "all", "--session-dir", t.dir, "--index-dir", t.index, "-s", "timeout")
	})
	if err != nil {
		return err
	}
	b.add(rowOf(t, "grep: first line of a common word", ms(first[0].wall), "≤ 60 ms"))
	scan, err := turns(b.slow(), func() (cost, error) { return here("--no-index", "-c", "-s", `[A-Z]{12}[0-9]`) })
	if err != nil {
		return err
	}
	b.add(rowOf(t, "grep: all files read, without a literal, MB a second", fmt.Sprintf("%.0f", float64(t.size)/1e6/scan[0].wall.Seconds()), "≥ 400"))
	return nil
}

func (b *suite) audits(t *tree) error {
	for _, args := range [][]string{{"tools"}, {"tools", "commands"}, {"usage"}} {
		got, err := b.beside(b.runs,
			func() (cost, error) {
				return b.run(b.pigrep, append(args, "--json", "--session-dir", t.dir, "--index-dir", t.index)...)
			},
			func() (cost, error) { return b.ripgrep(t, "-c", "-F", t.rare[0]) })
		if err != nil {
			return err
		}
		b.add(timed(t, strings.Join(args, " "), got, t.atLarge("≤ 1.00")))
	}
	return nil
}

// growth compares the smallest corpus with the largest.
func (b *suite) growth(trees []*tree) {
	first, last := trees[0], trees[len(trees)-1]
	if first == last {
		return
	}
	b.add(rowOf(last, "query: rare word, growth", ms(last.query), "≤ 1.50").
		against(fmt.Sprintf("at %s %s", first.name, ms(first.query)), last.query.Seconds()/first.query.Seconds()))
	if before := trees[len(trees)-2]; before != last {
		b.add(rowOf(last, "first index, peak resident, growth", mib(last.peak), "≤ 1.20").
			against(fmt.Sprintf("at %s %s", before.name, mib(before.peak)), float64(last.peak)/float64(before.peak)))
	}
}

// measureLongLine indexes a corpus that has one line of 200 MB.
func (b *suite) measureLongLine(mb int) error {
	t := &tree{name: "a line of 200 MB", dir: filepath.Join(b.work, "long-line")}
	err := b.make(t, func() error {
		_, err := b.run(b.self, "-generate", fmt.Sprint(mb), "-long-line", "200", t.dir)
		return err
	})
	if err != nil {
		return err
	}
	got, err := turns(1, func() (cost, error) {
		if err := os.RemoveAll(t.index); err != nil {
			return cost{}, err
		}
		return b.program(t, "index", "--quiet")
	})
	if err != nil {
		return err
	}
	b.add(rowOf(t, fmt.Sprintf("first index of it and %d MB, peak resident", mb), mib(got[0].rss), "≤ 900 MB"))
	return nil
}

// measureSmallFiles looks at what costs by the file.
func (b *suite) measureSmallFiles() error {
	t, err := b.smallFiles(10_000)
	if err != nil {
		return err
	}
	if _, err := b.program(t, "index", "--quiet"); err != nil {
		return err
	}
	if err := b.unchanged(t, "≤ 60 ms"); err != nil {
		return err
	}
	if err := b.sessions(t, "≤ 60 ms"); err != nil {
		return err
	}
	return b.appended(t, 1, "")
}
