package search

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/rank"
)

// pastDeadline is a context whose deadline passes, or that is canceled, when a session
// file is opened.
type pastDeadline struct {
	context.Context
	err  error
	left atomic.Int64 // files that may be opened before
}

func (c *pastDeadline) Err() error {
	if c.left.Load() < 0 {
		return c.err
	}
	return c.Context.Err()
}

func (c *pastDeadline) Open(path string) (entry.File, error) {
	c.left.Add(-1)
	return Disk{}.Open(path)
}

// A deadline that passes while hits are read leaves those that were read, for those who
// ask for that. For others, and when a search is canceled, there is no answer.
func TestDeadline(t *testing.T) {
	var list []story
	for i := range 9 {
		list = append(list, story{Name: fmt.Sprintf("s%d", i), Start: day.AddDate(0, 0, i), Entries: []turn{prompt(fmt.Sprintf("walrus number %d", i)), reply("yes")}})
	}
	l := newLibrary(t, list...)
	search := func(left int64, err error, until bool) (*Response, error) {
		c := &pastDeadline{Context: t.Context(), err: err}
		c.left.Store(left)
		return Run(c, l.Reader, pi.New(), c, Request{Text: "walrus", Flat: true, Limit: All, Sort: rank.Newest, Before: 1, After: 1, UntilDeadline: until})
	}
	whole, err := search(100, context.DeadlineExceeded, true)
	if err != nil || whole.Late || len(whole.Hits) != 9 {
		t.Fatalf("with time left: %d hits, late %v, %v", len(whole.Hits), whole.Late, err)
	}
	resp, err := search(3, context.DeadlineExceeded, true)
	if err != nil || !resp.Late || len(resp.Hits) != 4 || resp.TotalAny != 9 {
		t.Fatalf("at the deadline: %+v, %v; want 4 hits of 9", resp, err)
	}
	for i := range resp.Hits {
		if resp.Hits[i].SessionPath != whole.Hits[i].SessionPath {
			t.Errorf("hit %d is of %s, want %s", i, resp.Hits[i].SessionPath, whole.Hits[i].SessionPath)
		}
	}
	if _, err := search(3, context.DeadlineExceeded, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without asking for it: %v", err)
	}
	if _, err := search(3, context.Canceled, true); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := Run(expired, l.Reader, pi.New(), Disk{}, Request{Text: "walrus", UntilDeadline: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("expired before anything was found: %v", err)
	}
}
