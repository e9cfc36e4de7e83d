package search

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter/pi"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/rank"
)

// countingRefusal counts how often it opens a session file, and refuses one.
type countingRefusal struct {
	refusing
	opened int
}

func (d *countingRefusal) Open(path string) (entry.File, error) {
	d.opened++
	return d.refusing.Open(path)
}

// A complete list that is read one hit at a time has the same hits and the same losses as one
// that is read at once, and keeps only the current hit in memory.
func TestHitsAreReadLater(t *testing.T) {
	const sessions = 40
	var list []story
	for i := range sessions {
		list = append(list, story{Name: fmt.Sprintf("s%02d", i), Start: day.AddDate(0, 0, i), Entries: []turn{prompt(fmt.Sprintf("a lighthouse, number %d", i))}})
	}
	l := newLibrary(t, list...)
	req := Request{Text: "lighthouse", Flat: true, Limit: All, Sort: rank.Newest}
	answer := func(req Request) (*Response, *countingRefusal) {
		disk := &countingRefusal{refusing: refusing{suffix: "s07.jsonl"}}
		resp, err := Run(context.Background(), l.Reader, pi.New(), disk, req)
		if err != nil {
			t.Fatal(err)
		}
		return resp, disk
	}
	want, _ := answer(req)
	req.Later = true
	got, disk := answer(req)
	if len(got.Hits) > 0 || disk.opened > 0 {
		t.Errorf("%d hits before they are visited, and %d sessions read", len(got.Hits), disk.opened)
	}
	brief := 0
	if err := got.Brief(context.Background(), func(h *Hit) error { brief++; return nil }); err != nil || brief != sessions || disk.opened > 0 {
		t.Errorf("%d hits in brief, %d sessions read, %v", brief, disk.opened, err)
	}
	var hits []Hit
	err := got.Each(context.Background(), func(h *Hit) error {
		hits = append(hits, *h)
		if ahead := disk.opened - len(hits); ahead > 1 { // one is refused
			t.Errorf("%d sessions were read ahead at hit %d", ahead, len(hits))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got.Hits = hits
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Response{})); diff != "" {
		t.Errorf("(-at once +later)\n%s", diff)
	}
	if len(hits) != sessions-1 || got.Unreadable != 1 {
		t.Errorf("%d hits, %d unreadable", len(hits), got.Unreadable)
	}
}
