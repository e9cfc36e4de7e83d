package sessions

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
	"pigrep/query/engine/entry"
)

// openCounter opens session files and counts which it opened.
type openCounter struct {
	stories.Disk
	mu     sync.Mutex
	opened map[string]bool
}

func (c *openCounter) Open(path string) (entry.File, error) {
	c.mu.Lock()
	c.opened[path] = true
	c.mu.Unlock()
	return c.Disk.Open(path)
}

// A list of the named sessions, or of forks, reads the sessions that it lists, and
// no others that match. Its total is exact all the same.
func TestNarrowedListReadsOnlyWhatItLists(t *testing.T) {
	const matching, named, limit = 60, 30, 3
	l := stories.New(t)
	for i := range matching {
		s := stories.Story{
			Name: fmt.Sprintf("s%03d", i), Start: stories.Day.AddDate(0, 0, i),
			Entries: []stories.Turn{stories.Prompt(fmt.Sprintf("timeout number %d", i))},
		}
		if i%2 == 0 {
			s.Raw = fmt.Sprintf(`{"type":"session_info","id":"n%d","parentId":null,"timestamp":"2026-05-01T12:00:00.000Z","name":"name %d"}`+"\n", i, i)
		}
		l.Add(s)
	}
	src := &openCounter{opened: map[string]bool{}}
	list, err := List(context.Background(), l.Reader, pi.New(), src, Request{Text: "timeout", Limit: limit, Named: true})
	if err != nil {
		t.Fatal(err)
	}
	if list.Total != named || !list.TotalIsExact {
		t.Errorf("total = %d, exact %t, want %d, exact", list.Total, list.TotalIsExact, named)
	}
	if len(list.Sessions) != limit {
		t.Errorf("%d sessions, want %d", len(list.Sessions), limit)
	}
	for _, s := range list.Sessions {
		if s.Name == "" {
			t.Errorf("session %s has no name", s.SessionID)
		}
		if !src.opened[s.SessionPath] {
			t.Errorf("session %s is listed with a hit that was not read", s.SessionID)
		}
	}
	// The second stage reads nothing: a query of one word has nothing to stand close to.
	if len(src.opened) != limit {
		t.Errorf("%d session files were opened, want the %d that are listed", len(src.opened), limit)
	}
}
