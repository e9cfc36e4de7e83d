//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measure fills the rows of one corpus size.
func (b *suite) measure(mb int) error {
	dir, err := b.sessions(mb)
	if err != nil {
		return err
	}
	size, err := diskUse(dir)
	if err != nil {
		return err
	}
	if err := b.measureIndexing(mb, dir, size); err != nil {
		return err
	}
	if err := b.measureQueries(mb, dir); err != nil {
		return err
	}
	if err := b.measureGreps(mb, dir, size); err != nil {
		return err
	}
	return b.measureFreshness(mb, dir)
}

func (b *suite) indexDir(mb int) string { return filepath.Join(b.work, fmt.Sprintf("index-%d", mb)) }

func (b *suite) measureIndexing(mb int, dir string, size int64) error {
	n := max(1, b.runs/5)
	ix := b.indexDir(mb)
	build := func() (cost, error) {
		if err := os.RemoveAll(ix); err != nil {
			return cost{}, err
		}
		return b.run(b.pigrep, "index", "--quiet", "--session-dir", dir, "--index-dir", ix)
	}
	decode := func() (cost, error) { return b.run(b.self, "-decode", dir) }
	fs := []func() (cost, error){build, decode}
	if b.have("sqlite3") {
		texts := filepath.Join(b.work, fmt.Sprintf("texts-%d", mb))
		if _, err := os.Stat(texts); err != nil {
			out, err := os.Create(texts)
			if err != nil {
				return err
			}
			c := exec.CommandContext(b.ctx, b.self, "-texts", dir)
			c.Stdout = out
			if err := c.Run(); err != nil {
				return err
			}
			if err := out.Close(); err != nil {
				return err
			}
		}
		fs = append(fs, func() (cost, error) {
			db := filepath.Join(b.work, "fts.db")
			for _, f := range []string{db, db + "-wal", db + "-shm"} {
				if err := os.RemoveAll(f); err != nil {
					return cost{}, err
				}
			}
			return b.run("sqlite3", "-batch", "-cmd", "PRAGMA journal_mode=WAL", "-cmd", "PRAGMA synchronous=off",
				"-cmd", "CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize='unicode61')", "-cmd", ".mode ascii", "-cmd", ".separator \x1f \x1e",
				db, ".import "+texts+" t")
		})
	}
	got, err := turns(n, fs...)
	if err != nil {
		return err
	}
	rate := func(c cost) float64 { return float64(size) / 1e6 / c.wall.Seconds() }
	perMB := func(c cost) float64 { return c.cpu.Seconds() * 1000 / (float64(size) / 1e6) }
	mine := got[0]
	if len(got) > 2 {
		b.add(mb, "first index, MB of session files a second", fmt.Sprintf("%.0f", rate(mine)), fmt.Sprintf("SQLite FTS5 %.0f", rate(got[2])), fmt.Sprintf("%.2f", rate(mine)/rate(got[2])), "≥ 2")
	}
	b.add(mb, "first index, CPU ms a MB", fmt.Sprintf("%.1f", perMB(mine)), fmt.Sprintf("encoding/json decode %.1f", perMB(got[1])), fmt.Sprintf("%.1f", perMB(mine)/perMB(got[1])), "≤ 30 ms")
	b.add(mb, "first index, peak resident", mib(mine.rss), "", "", "≤ 600 MB")
	disk, err := diskUse(ix)
	if err != nil {
		return err
	}
	target := "≤ 0.40"
	if mb < 300 {
		target = "≤ 0.55"
	}
	b.add(mb, "index size", mib(disk), "session files "+mib(size), fmt.Sprintf("%.2f", float64(disk)/float64(size)), target)
	return nil
}

// queries are those measured, with what may be spent on each as a share of
// ripgrep's time for its first word.
func (b *suite) queries(dir string) ([]query, error) {
	rare, err := b.rareWord(dir)
	if err != nil {
		return nil, err
	}
	return []query{
		{"rare word", []string{rare}, 0.2},
		{"3 words", []string{"connection", "timeout", "retry"}, 0.3},
		{"5 words", []string{"config", "token", "login", "refresh", "error"}, 0.4},
		{"identifier", []string{"readRequestLine"}, 0.25},
		{"prefix of 4 letters", []string{"conn*"}, 0.5},
	}, nil
}

type query struct {
	name   string
	words  []string
	target float64
}

func (b *suite) search(mb int, dir string, words ...string) (cost, error) {
	return b.run(b.pigrep, append([]string{"search", "--json", "--session-dir", dir, "--index-dir", b.indexDir(mb)}, words...)...)
}

func (b *suite) measureQueries(mb int, dir string) error {
	queries, err := b.queries(dir)
	if err != nil {
		return err
	}
	peak := int64(0)
	for _, q := range queries {
		fs := []func() (cost, error){func() (cost, error) { return b.search(mb, dir, q.words...) }}
		if b.have("rg") {
			fs = append(fs, func() (cost, error) {
				return b.run("rg", "-c", "-F", "--no-ignore", "--hidden", strings.TrimSuffix(q.words[0], "*"), dir)
			})
		}
		got, err := turns(b.runs, fs...)
		if err != nil {
			return err
		}
		peak = max(peak, got[0].rss)
		if len(got) > 1 {
			b.add(mb, "query: "+q.name, ms(got[0].wall), "rg -c "+ms(got[1].wall), fmt.Sprintf("%.2f", got[0].wall.Seconds()/got[1].wall.Seconds()), fmt.Sprintf("≤ %.2f", q.target))
		} else {
			b.add(mb, "query: "+q.name, ms(got[0].wall), "", "", "")
		}
	}
	b.add(mb, "query: peak resident", mib(peak), "", "", "≤ 80 MB")
	got, err := turns(b.runs, func() (cost, error) { return b.search(mb, dir, "c*") })
	if err != nil {
		return err
	}
	b.add(mb, "query: c*", ms(got[0].wall)+", "+mib(got[0].rss), "", "", "< 150 ms, < 150 MB")
	return nil
}

// measureFreshness takes a copy of nothing: it appends real entries to files of
// the corpus and takes them off again.
func (b *suite) measureFreshness(mb int, dir string) error {
	var files []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return err
	}); err != nil {
		return err
	}
	slices.Sort(files)
	got, err := turns(b.runs, func() (cost, error) { return b.search(mb, dir, "zqzqnothing") })
	if err != nil {
		return err
	}
	b.add(mb, fmt.Sprintf("nothing changed, %d files", len(files)), ms(got[0].wall), "", "", "≤ 20 ms at 700 files")
	for _, n := range []int{1, 20} {
		n = min(n, len(files))
		count := 0
		got, err := turns(b.runs, func() (cost, error) {
			count++
			word := fmt.Sprintf("appended%dx%d", n, count)
			for _, f := range files[:n] {
				if err := appendEntry(f, word); err != nil {
					return cost{}, err
				}
			}
			time.Sleep(20 * time.Millisecond) // a person is slower than the clock of the file system
			return b.search(mb, dir, word)
		})
		if err != nil {
			return err
		}
		target := "≤ 35 ms"
		if n > 1 {
			target = "≤ 100 ms"
		}
		b.add(mb, fmt.Sprintf("a line appended to %d files, then found", n), ms(got[0].wall), "", "", target)
	}
	return nil
}

func appendEntry(path, word string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":%q}}`+"\n", word)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (b *suite) rareWord(dir string) (string, error) {
	out, err := exec.CommandContext(b.ctx, b.self, "-rare", dir).Output()
	if err != nil {
		return "", fmt.Errorf("find a rare word: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// rareSample is how much of a corpus is looked at for a rare word.
const rareSample = 32 << 20

// rareWord returns a word that stands in the middle of a sample of the corpus
// and only once in it.
func rareWord(dir string) (string, error) {
	var all [][]byte
	size := 0
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			data, err := os.ReadFile(path)
			all = append(all, data)
			if size += len(data); err == nil && size > rareSample {
				err = filepath.SkipAll
			}
			return err
		}
		return err
	}); err != nil {
		return "", err
	}
	for _, data := range all[len(all)/2:] {
		for _, w := range bytes.FieldsFunc(data[len(data)/2:], func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(w) < 8 || len(w) > 14 {
				continue
			}
			lines := 0
			for _, d := range all {
				lines += bytes.Count(d, w)
			}
			if lines == 1 {
				return string(w), nil
			}
		}
	}
	return "", fmt.Errorf("no rare word in %s", dir)
}
