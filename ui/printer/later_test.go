package printer

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"pigrep/adapter/pi"
	"pigrep/lab/stories"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
)

// openings counts how often session files are opened.
type openings struct {
	stories.Disk
	n int
}

func (d *openings) Open(path string) (entry.File, error) {
	d.n++
	return d.Disk.Open(path)
}

// written calls seen with all that was written so far.
type written struct {
	all  bytes.Buffer
	seen func(all []byte)
}

func (w *written) Write(b []byte) (int, error) {
	defer func() { w.seen(w.all.Bytes()) }()
	return w.all.Write(b)
}

// Each form of a complete list is written while its hits are read, and is the same as that
// of a list that was read before.
func TestCompleteListIsWrittenAsItIsRead(t *testing.T) {
	const sessions = 200
	var list []stories.Story
	for i := range sessions {
		list = append(list, stories.Story{Name: fmt.Sprintf("s%03d", i), Start: stories.Day.Add(time.Duration(i) * time.Hour), Entries: []stories.Turn{stories.Prompt(fmt.Sprintf("a lighthouse, number %d", i))}})
	}
	l := stories.New(t, list...)
	printed := func(f Format, later bool) string {
		disk := &openings{}
		req := search.Request{Text: "lighthouse", Flat: true, Limit: search.All, Sort: rank.Newest, Later: later}
		resp, err := search.Run(context.Background(), l.Reader, pi.New(), disk, req)
		if err != nil {
			t.Fatal(err)
		}
		first := 0 // sessions read when the first hit leaves the buffer
		out := &written{seen: func(all []byte) {
			if first == 0 && bytes.Contains(all, []byte("number 199")) {
				first = disk.n
			}
		}}
		answer := &Search{Context: context.Background(), Query: "lighthouse", Flat: true, Response: resp}
		if err := New(out, f, Layout{Width: 80, Now: now}).Print(answer); err != nil {
			t.Fatal(err)
		}
		if later && (first == 0 || first > sessions/2) {
			t.Errorf("form %d: %d of %d sessions were read before the first hit was written", f, first, sessions)
		}
		if answer.Written() != sessions {
			t.Errorf("form %d: %d hits written", f, answer.Written())
		}
		return out.all.String()
	}
	for _, f := range []Format{FormatText, FormatPlain, FormatJSON, FormatJSONL} {
		if at, later := printed(f, false), printed(f, true); at != later {
			t.Errorf("form %d:\n%s\nread before:\n%s", f, later, at)
		}
	}
}
