//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// tick is longer than a step of a file system's clock: files that are younger are
// compared byte by byte.
const tick = 20 * time.Millisecond

// freshness measures how long it takes to see that nothing changed, and to find what
// did.
func (b *suite) freshness(t *tree) error {
	if err := b.unchanged(t, ""); err != nil {
		return err
	}
	if err := b.appended(t, 1, t.atLarge("≤ 15 ms, ≤ 1.25")); err != nil {
		return err
	}
	return b.appended(t, min(20, len(t.files)), t.atLarge("≤ 25 ms"))
}

func (b *suite) unchanged(t *tree, wanted string) error {
	got, err := turns(b.runs, func() (cost, error) { return b.program(t, "index", "--quiet") })
	if err != nil {
		return err
	}
	b.add(timed(t, fmt.Sprintf("nothing changed, %d files", len(t.files)), got, wanted))
	return nil
}

// appended appends a line to each of the first n files and searches for it, then
// searches for it again once it is indexed. Afterwards the files are as they were.
func (b *suite) appended(t *tree, n int, wanted string) error {
	files := t.files[:n]
	restore, err := b.restorer(t, files)
	if err != nil {
		return err
	}
	defer restore()
	count := 0
	var word string
	search := func() (cost, error) { return b.program(t, "search", "--json", word) }
	got, err := turns(b.runs, func() (cost, error) {
		count++
		word = fmt.Sprintf("appended%dx%d", n, count)
		if err := appendEntries(files, word); err != nil {
			return cost{}, err
		}
		time.Sleep(tick)
		took, err := search()
		if err == nil && count == 1 {
			err = b.found(t, word)
		}
		return took, err
	}, func() (cost, error) {
		if _, err := b.program(t, "index", "--quiet"); err != nil {
			return cost{}, err
		}
		return search()
	})
	if err != nil {
		return err
	}
	b.add(timed(t, fmt.Sprintf("a line added to %d of %d files, then found", n, len(t.files)), got, wanted, "nothing new"))
	return restore()
}

// restorer returns a function that cuts off what was appended to files, and indexes
// them, so that the next row does not pay for it.
func (b *suite) restorer(t *tree, files []string) (func() error, error) {
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
		_, err := b.program(t, "index", "--quiet")
		return err
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

// crowd measures the slowest searches while another process adds lines and publishes
// them all the time, in turns with those on a quiet machine.
func (b *suite) crowd(t *tree) error {
	files := t.files[:1]
	restore, err := b.restorer(t, files)
	if err != nil {
		return err
	}
	defer restore()
	var alone, beside []time.Duration
	published := 0
	for range 5 {
		if err := b.searches(t, &alone); err != nil {
			return err
		}
		var (
			writer sync.WaitGroup
			stop   = make(chan struct{})
			failed error
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
		err := b.searches(t, &beside)
		close(stop)
		writer.Wait()
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	quiet, busy := p95(alone), p95(beside)
	b.add(rowOf(t, "query: rare word, p95 beside a writer", fmt.Sprintf("%s, %d generations", ms(busy), published), t.atLarge("≤ 1.25")).
		against("alone", ms(quiet), ratio(busy, quiet)))
	return restore()
}

// searches adds the times of a fifth of the searches of crowd.
func (b *suite) searches(t *tree, times *[]time.Duration) error {
	for range 2 * b.runs {
		took, err := b.program(t, "search", "--json", "--no-update", t.rare[len(t.rare)/2])
		if err != nil {
			return err
		}
		*times = append(*times, took.wall)
	}
	return nil
}

func p95(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*95/100]
}
