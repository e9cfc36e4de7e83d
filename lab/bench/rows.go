//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pigrep/lab/corpus"
)

// measure fills the rows of a generated corpus.
func (b *suite) measure(t *tree) error {
	f, err := b.fts5(t)
	if f != nil {
		defer f.remove()
	}
	if err != nil {
		return err
	}
	if err := b.indexing(t, f); err != nil {
		return err
	}
	if err := b.queries(t, f); err != nil {
		return err
	}
	for _, rows := range []func(*tree) error{b.greps, b.audits, b.server, b.freshness, b.crowd} {
		if err := rows(t); err != nil {
			return err
		}
	}
	return b.sessions(t, "")
}

// slow is how often what takes seconds is run.
func (b *suite) slow() int { return max(1, b.runs/5) }

// built is a first index.
type built struct {
	cost
	disk int64
}

func (b *suite) indexing(t *tree, f *fts5) error {
	law := corpus.HeapsK * math.Pow(float64(t.size)/1e6, corpus.HeapsBeta)
	b.add(rowOf(t, "distinct terms", fmt.Sprint(t.terms), "").against("Heaps' law of real sessions", fmt.Sprintf("%.0f", law), float64(t.terms)/law))

	sides := []func() (cost, error){func() (cost, error) {
		if err := os.RemoveAll(t.index); err != nil {
			return cost{}, err
		}
		return b.program(t, "index", "--quiet")
	}}
	if f != nil {
		sides = append(sides, f.load)
	}
	got, err := turns(b.slow(), sides...)
	if err != nil {
		return err
	}
	ours, theirs := built{cost: got[0]}, built{}
	if ours.disk, err = diskUse(t.index); err != nil {
		return err
	}
	if f != nil {
		theirs.cost = got[1]
		if theirs.disk, err = f.loaded(); err != nil {
			return err
		}
	}
	t.first, t.peak = ours.wall, ours.rss
	megabytes := float64(t.size) / 1e6
	for _, r := range []struct {
		what, wanted string
		text         func(built) string
		number       func(built) float64
	}{
		{"first index", "≥ 100 MB/s, ≤ 0.36",
			func(s built) string { return fmt.Sprintf("%s, %.0f MB/s", s.times(), megabytes/s.wall.Seconds()) },
			func(s built) float64 { return s.wall.Seconds() }},
		{"first index, CPU per MB", "≤ 20 ms",
			func(s built) string { return fmt.Sprintf("%.1f ms", s.cpu.Seconds()*1000/megabytes) },
			func(s built) float64 { return s.cpu.Seconds() }},
		{"first index, peak memory", "≤ 450 MB",
			func(s built) string { return mb(s.rss) },
			func(s built) float64 { return float64(s.rss) }},
		{"index size", "≤ 0.40 of the files",
			func(s built) string { return fmt.Sprintf("%s, %.2f of the files", mb(s.disk), ratio(s.disk, t.size)) },
			func(s built) float64 { return float64(s.disk) }},
	} {
		row := rowOf(t, r.what, r.text(ours), t.atLarge(r.wanted))
		if f != nil {
			row = row.against("FTS5", r.text(theirs), r.number(ours)/r.number(theirs))
		}
		b.add(row)
	}
	// The first search would start this in the background, where it would disturb the others.
	merged, err := turns(1, func() (cost, error) { return b.program(t, "index", "--merge", "--quiet") })
	if err != nil {
		return err
	}
	b.add(rowOf(t, "merging after the first index", merged[0].times(), ""))
	return nil
}

// queries measures searches, each against ripgrep looking for its first word, and
// against FTS5 where that can answer the question.
func (b *suite) queries(t *tree, f *fts5) error {
	peak := int64(0)
	for _, q := range []struct {
		name    string
		queries []string // in turn
		runs    int
		rg, fts bool // these can answer it
		wanted  string
	}{
		{"rare word", t.rare, b.runs, true, true, "≤ 0.10 of rg"},
		{"3 words", []string{"connection timeout retry"}, b.runs, true, true, "≤ 0.14 of rg"},
		{"5 words", []string{"config token login refresh error"}, b.runs, true, true, "≤ 0.17 of rg"},
		{"identifier", t.identifiers, b.runs, true, false, "≤ 0.15 of rg"},
		{"prefix of 4 letters", []string{"conn*"}, b.runs, true, true, "≤ 0.15 of rg"},
		{"prefix of 1 letter", []string{"c*"}, b.slow(), false, true, ""},
	} {
		fts := f
		if !q.fts {
			fts = nil
		}
		for _, text := range q.queries {
			if err := b.found(t, text); err != nil {
				return err
			}
			if fts != nil {
				if err := fts.found(strings.Fields(text)); err != nil {
					return err
				}
			}
		}
		turn := -1
		words := func() []string { return strings.Fields(q.queries[turn%len(q.queries)]) }
		sides := []func() (cost, error){func() (cost, error) {
			turn++
			return b.program(t, "search", append([]string{"--json"}, words()...)...)
		}}
		var peers []string
		if q.rg && b.have("rg") {
			peers = append(peers, "rg")
			sides = append(sides, func() (cost, error) {
				return b.ripgrep(t, "-c", "-F", strings.TrimSuffix(words()[0], "*"))
			})
		}
		if fts != nil {
			peers = append(peers, "FTS5")
			sides = append(sides, func() (cost, error) { return fts.search(words()) })
		}
		got, err := turns(q.runs, sides...)
		if err != nil {
			return err
		}
		peak = max(peak, got[0].rss)
		t.took = append(t.took, timing{"query: " + q.name, got[0].wall})
		b.add(timed(t, "query: "+q.name, got, t.atLarge(q.wanted), peers...))
		if q.name == "rare word" && len(peers) > 0 && peers[0] == "rg" {
			b.add(rowOf(t, "first index, as searches of rg", fmt.Sprintf("%.0f", ratio(t.first, got[1].wall)), ""))
		}
	}
	b.add(rowOf(t, "query: peak memory", mb(peak), ""))
	return nil
}

// audits measures what has no peer.
func (b *suite) audits(t *tree) error {
	for _, args := range [][]string{{"tools"}, {"tools", "commands"}, {"usage"}} {
		got, err := turns(b.runs, func() (cost, error) {
			return b.run(b.pigrep, append(args, "--json", "--session-dir", t.dir, "--index-dir", t.index)...)
		})
		if err != nil {
			return err
		}
		b.add(timed(t, strings.Join(args, " "), got, t.atLarge("≤ 20 ms")))
	}
	return nil
}

// timing is a row that every size has.
type timing struct {
	what string
	took time.Duration
}

// growth compares each size with the smallest.
func (b *suite) growth(trees []*tree) {
	first := trees[0]
	section := &tree{name: "Growth from " + first.name}
	for _, t := range trees[1:] {
		wanted := ""
		if first.mb == 50 && t.mb == 1024 {
			wanted = "≤ 1.35"
		}
		if t.mb == 8192 {
			first, wanted = trees[slices.IndexFunc(trees, func(t *tree) bool { return t.mb >= large })], "≤ 3"
		}
		for i, at := range t.took {
			goal := wanted
			if at.what == "query: prefix of 1 letter" {
				goal = ""
			}
			b.add(rowOf(section, at.what+", "+t.name, ms(at.took), goal).against(first.name, ms(first.took[i].took), ratio(at.took, first.took[i].took)))
		}
		b.add(rowOf(section, "first index, peak memory, "+t.name, mb(t.peak), "").against(first.name, mb(first.peak), ratio(t.peak, first.peak)))
	}
}

// measureStart measures a process that reads nothing.
func (b *suite) measureStart() error {
	got, err := turns(b.runs, func() (cost, error) { return b.run(b.pigrep, "version") })
	if err != nil {
		return err
	}
	b.add(timed(&tree{name: "No session files"}, "pigrep version", got, "≤ 3 ms"))
	return nil
}

// measureLongLine indexes a corpus that has one line of 200 MB.
func (b *suite) measureLongLine(megabytes int) error {
	t := &tree{name: fmt.Sprintf("%d MB and a line of 200 MB", megabytes), dir: filepath.Join(b.work, "long-line")}
	err := b.make(t, func() error {
		_, err := b.run(b.self, "-generate", fmt.Sprint(megabytes), "-long-line", "200", t.dir)
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
	b.add(rowOf(t, "first index, peak memory", mb(got[0].rss), ""))
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
	if err := b.unchanged(t, ""); err != nil {
		return err
	}
	if err := b.sessions(t, "≤ 30 ms"); err != nil {
		return err
	}
	if err := b.appended(t, 1, "≤ 45 ms"); err != nil {
		return err
	}
	if t, err = b.smallFiles(100_000); err != nil {
		return err
	}
	if _, err := b.program(t, "index", "--quiet"); err != nil {
		return err
	}
	return b.unchanged(t, "≤ 250 ms")
}
