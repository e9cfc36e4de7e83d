//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"pigrep/lab/must"
)

// tick is longer than a step of a file system's clock: files that are younger are
// compared byte by byte.
const tick = 20 * time.Millisecond

// unchanged measures how long it takes to see that nothing changed.
func (b *suite) unchanged(t *tree, wanted string) {
	b.timed(t, fmt.Sprintf("nothing changed, %d files", len(t.files)), b.runs, wanted, func() cost { return b.index(t) })
}

// appended appends a line to each of the first n files and searches for it, then
// searches for it again once it is indexed. Afterwards the files are as they were.
func (b *suite) appended(t *tree, n int, wanted string) {
	files := t.files[:n]
	defer b.restorer(t, files)()
	count := 0
	var word string
	search := func() cost { return b.program(t, "search", "--json", word) }
	b.timed(t, fmt.Sprintf("a line added to %d of %d files, then found", n, len(t.files)), b.runs, wanted, func() cost {
		count++
		word = fmt.Sprintf("appended%dx%d", n, count)
		must.Do(appendEntries(files, word))
		time.Sleep(tick)
		took := search()
		if count == 1 {
			b.found(t, word)
		}
		return took
	}, peer{"nothing new", func() cost {
		b.index(t)
		return search()
	}})
}

// restorer returns a function that cuts off what was appended to files, and indexes
// them, so that the next row does not pay for it.
func (b *suite) restorer(t *tree, files []string) func() {
	sizes := make([]int64, len(files))
	for i, f := range files {
		sizes[i] = must.Get(os.Stat(f)).Size()
	}
	return func() {
		for i, f := range files {
			must.Do(os.Truncate(f, sizes[i]))
		}
		b.index(t)
	}
}

func appendEntries(files []string, word string) error {
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, `{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":%q}}`+"\n", word)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// crowd measures the slowest searches while another process adds lines and publishes
// them all the time, in turns with those on a quiet machine.
func (b *suite) crowd(t *tree) {
	files := t.files[:1]
	defer b.restorer(t, files)()
	var alone, beside []time.Duration
	published := 0
	for range 5 {
		alone = append(alone, b.searches(t)...)
		var (
			writer sync.WaitGroup
			stop   = make(chan struct{})
			failed error
		)
		writer.Go(func() {
			defer must.Catch(&failed)
			for {
				select {
				case <-stop:
					return
				default:
				}
				must.Do(appendEntries(files, fmt.Sprintf("crowd%d", published)))
				b.index(t)
				published++
			}
		})
		beside = append(beside, b.searches(t)...)
		close(stop)
		writer.Wait()
		must.Do(failed)
	}
	quiet, busy := percentile(alone, 95), percentile(beside, 95)
	b.add(rowOf(t, "query: rare word, p95 beside a writer", fmt.Sprintf("%s, %d generations", ms(busy), published), t.atLarge("≤ 1.25")).
		against("alone", ms(quiet), ratio(busy, quiet)))
}

// searches returns the times of a fifth of the searches of crowd.
func (b *suite) searches(t *tree) (times []time.Duration) {
	for range 2 * b.runs {
		times = append(times, b.program(t, "search", "--json", "--no-update", t.Rare[len(t.Rare)/2]).wall)
	}
	return times
}
