package search

import (
	"context"
	"slices"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
)

// What tests write sessions with.
type (
	story = stories.Story
	turn  = stories.Turn
	Disk  = stories.Disk
)

var (
	prompt = stories.Prompt
	reply  = stories.Reply
	result = stories.Result
	called = stories.Called
	day    = stories.Day
)

// library is an index of stories that can be searched.
type library struct {
	*stories.Library
	t testing.TB
}

func newLibrary(t testing.TB, list ...story) *library {
	t.Helper()
	return &library{stories.New(t, list...), t}
}

// search answers a request, or ends the test.
func (l *library) search(req Request) *Response {
	l.t.Helper()
	resp, err := Run(context.Background(), l.Reader, pi.New(), Disk{}, req)
	if err != nil {
		l.t.Fatalf("Run(%q): %v", req.Text, err)
	}
	return resp
}

// ids returns the entries of the hits that lack nothing, in order.
func ids(resp *Response) []string {
	list := []string{}
	for _, h := range resp.Hits {
		if len(h.Missing) == 0 {
			list = append(list, h.EntryID)
		}
	}
	return list
}

func (l *library) flat(text string) []string {
	l.t.Helper()
	return ids(l.search(Request{Text: text, Flat: true, Limit: 1000}))
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
