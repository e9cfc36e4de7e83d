package printer

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pigrep/query/search"
)

func TestWatchEvents(t *testing.T) {
	state := search.IndexState{Generation: 12, Files: 674, SkippedLines: 1, Complete: true}
	events := []*WatchEvent{
		{Event: "ready", Time: at(time.Hour), Changes: []ChangeCount{{"new", 3}}, Bytes: 12_000, Entries: 30, Directories: 40, State: state},
		{
			Event: "update", Time: at(time.Minute), Changes: []ChangeCount{{"grown", 2}}, Bytes: 1234, Entries: 2, Directories: 40, State: state,
			Steps: []Step{{"grown", "/home/u/.pi/agent/sessions/a\x1b[31m.jsonl", "1000 bytes after the checkpoint", 1000}, {"grown", "/home/u/b.jsonl", "234 bytes after the checkpoint", 234}},
		},
		{
			Event: "update", Time: at(50 * time.Second), Directories: 40, State: state, Rebuilt: "the index has another version",
			Errors: []FileError{{Path: "/home/u/c.jsonl", Reason: "permission denied"}},
		},
		{Event: "polling", Time: at(40 * time.Second), Message: "looking at all files every 1s: watch /home/u: no watches left", State: state},
		{Event: "failed", Time: at(30 * time.Second), Message: "no space left on the disk of the index", State: state},
		{Event: "summary", Time: at(0), Updates: new(2), Bytes: 1234, Entries: 2, Directories: 40, State: state},
	}
	formats := map[string]Format{"text": FormatText, "plain": FormatPlain, "jsonl": FormatJSONL}
	var b bytes.Buffer
	for _, name := range []string{"text", "plain", "jsonl"} {
		fmt.Fprintf(&b, "== %s\n", name)
		p := New(&b, formats[name], Layout{Width: 80, Now: now, Home: "/home/u"})
		for _, e := range events {
			if err := p.Print(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	golden(t, "watch", b.Bytes())
}

// A status says who writes and who watches.
func TestStatusOfAnIndexAtWork(t *testing.T) {
	formats := map[string]Format{"text": FormatText, "plain": FormatPlain, "json": FormatJSON}
	var b bytes.Buffer
	for i, w := range []*Watcher{
		{PID: 4711, Started: at(time.Hour), Scanned: at(time.Minute)},
		{PID: 4711, Started: at(time.Hour), Stuck: true},
		{PID: 4711, Polling: "no watches left"},
	} {
		for _, name := range []string{"text", "plain", "json"} {
			s := &Status{Dir: "/i", Built: true, Updated: at(time.Second), Kept: 3, Writer: []Process{0, 42, -1}[i], Watcher: w}
			fmt.Fprintf(&b, "== %s\n", name)
			if err := New(&b, formats[name], Layout{Width: 80, Now: now, Home: "/home/u"}).Print(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	golden(t, "status-watched", b.Bytes())
}
