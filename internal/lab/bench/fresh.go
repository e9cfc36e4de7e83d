//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// tick is longer than the clock of a file system stands still: files that are
// younger are compared byte by byte.
const tick = 20 * time.Millisecond

// freshness measures what it costs to see that nothing changed, and to index and
// find what did.
func (b *suite) freshness(t *tree) error {
	if err := b.unchanged(t, "≤ 20 ms at 700 files"); err != nil {
		return err
	}
	if err := b.appended(t, 1, "≤ 35 ms"); err != nil {
		return err
	}
	return b.appended(t, min(20, len(t.files)), "≤ 100 ms")
}

func (b *suite) unchanged(t *tree, wanted string) error {
	got, err := turns(b.runs, func() (cost, error) { return b.program(t, "index", "--quiet") })
	if err != nil {
		return err
	}
	b.add(rowOf(t, fmt.Sprintf("nothing changed, %d files", len(t.files)), ms(got[0].wall), wanted))
	return nil
}

// appended appends a line to each of the first n files and searches for it.
// Afterwards the files are as they were.
func (b *suite) appended(t *tree, n int, wanted string) error {
	files := t.files[:n]
	restore, err := b.restorer(files)
	if err != nil {
		return err
	}
	defer restore()
	count := 0
	got, err := turns(b.runs, func() (cost, error) {
		count++
		word := fmt.Sprintf("appended%dx%d", n, count)
		if err := appendEntries(files, word); err != nil {
			return cost{}, err
		}
		time.Sleep(tick)
		took, err := b.program(t, "search", "--json", word)
		if err == nil && count == 1 {
			err = b.found(t, word)
		}
		return took, err
	})
	if err != nil {
		return err
	}
	b.add(rowOf(t, fmt.Sprintf("a line appended to %d of %d files, then found", n, len(t.files)), ms(got[0].wall), wanted))
	return restore()
}

// restorer returns a function that takes off what was appended to files.
func (b *suite) restorer(files []string) (func() error, error) {
	sizes := make([]int64, len(files))
	for i, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		sizes[i] = info.Size()
	}
	return func() error {
		for i, f := range files {
			if err := os.Truncate(f, sizes[i]); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func appendEntries(files []string, word string) error {
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, `{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":%q}}`+"\n", word)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// crowd measures the slowest of searches while another process adds lines and
// publishes them all the time, beside those of a quiet machine.
func (b *suite) crowd(t *tree) error {
	n := 10 * b.runs
	query := func() (time.Duration, error) {
		took, err := b.program(t, "search", "--json", "--no-update", t.rare[len(t.rare)/2])
		return took.wall, err
	}
	p95 := func() (time.Duration, error) {
		var all []time.Duration
		for range n {
			d, err := query()
			if err != nil {
				return 0, err
			}
			all = append(all, d)
		}
		slices.Sort(all)
		return all[len(all)*95/100], nil
	}
	files := t.files[:1]
	restore, err := b.restorer(files)
	if err != nil {
		return err
	}
	defer restore()
	quiet, err := p95()
	if err != nil {
		return err
	}
	var (
		writer    sync.WaitGroup
		stop      = make(chan struct{})
		failed    error
		published int
	)
	writer.Go(func() {
		for failed == nil {
			select {
			case <-stop:
				return
			default:
			}
			if failed = appendEntries(files, fmt.Sprintf("crowd%d", published)); failed == nil {
				_, failed = b.program(t, "index", "--quiet")
			}
			published++
		}
	})
	busy, err := p95()
	close(stop)
	writer.Wait()
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	b.add(rowOf(t, fmt.Sprintf("query: rare word, 95 of 100 are faster, while %d generations come", published), ms(busy), "≤ 2.00").
		against("alone "+ms(quiet), busy.Seconds()/quiet.Seconds()))
	return restore()
}
