package show

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pigrep/adapter/pi"
	"pigrep/query/engine/entry"
	"pigrep/ui/printer"
)

// Lines are the lines of the text, and each knows the entry whose id is in its heading.
func TestLines(t *testing.T) {
	c, facts := conversation(t)
	for _, l := range looks {
		show := func() *Show {
			return &Show{Session: facts, Entries: entriesOf(c, all(c)), Whole: true, Focus: map[int]bool{3: true}, Open: map[int]bool{5: true}}
		}
		var out strings.Builder
		if err := printer.New(&out, printer.FormatText, l.layout).Print(show()); err != nil {
			t.Fatal(err)
		}
		lines, err := show().Lines(l.layout)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		owned := make(map[int]bool)
		for _, line := range lines {
			text = append(text, line.Text)
			owned[line.Entry] = true
			if line.Entry < 0 {
				continue
			}
			for i := range c.Record.Nodes {
				id := "· " + c.Record.Nodes[i].ID
				if plain := ansi.Strip(line.Text); strings.HasSuffix(plain, id) && i != line.Entry {
					t.Errorf("%s: the line %q belongs to entry %d, want %d", l.name, plain, line.Entry, i)
				}
			}
		}
		if diff := cmp.Diff(strings.TrimRight(out.String(), "\n"), strings.Join(text, "\n")); diff != "" {
			t.Errorf("%s: Lines differ from the text (-text +lines):\n%s", l.name, diff)
		}
		if len(owned) < len(c.Record.Nodes)*3/4 {
			t.Errorf("%s: only %d of %d entries have lines", l.name, len(owned), len(c.Record.Nodes))
		}
	}
}

var moreLines = regexp.MustCompile(`… ([\d,]+) more lines?`)

// What a fold counts is what opening the entry shows.
func TestFoldCounts(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `line %d of the text\n`, i)
		}
		return b.String()
	}
	code := "```\\n" + numbered(300) + "```"
	data := `{"type":"session","version":3,"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e0","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"` + code + `"}}
{"type":"message","id":"e1","parentId":"e0","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"` + numbered(20) + `"}}]}}
{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"text","text":"` + numbered(40) + `"}]}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"bashExecution","command":"make","output":"` + numbered(50) + `","exitCode":0}}
{"type":"compaction","id":"e4","parentId":"e3","timestamp":"2026-03-01T10:00:04.000Z","summary":"` + numbered(30) + `","firstKeptEntryId":"e0","tokensBefore":9}
{"type":"message","id":"e5","parentId":"e4","timestamp":"2026-03-01T10:00:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t2","name":"edit","arguments":{"path":"a","oldText":"old\n","newText":"` + numbered(40) + `"}},{"type":"toolCall","id":"t3","name":"write","arguments":{"path":"b","content":"` + numbered(40) + `"}}]}}
`
	rec, err := entry.ReadRecord(pi.New(), "/s.jsonl", strings.NewReader(data), now)
	if err != nil {
		t.Fatal(err)
	}
	c := entry.NewConversation(pi.New(), rec, bytes.NewReader([]byte(data)))
	count := func(i int, open bool) (lines, hidden int) {
		s := &Show{Entries: entriesOf(c, all(c)), Open: map[int]bool{i: open}}
		list, err := s.Lines(printer.Layout{Width: 80, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			if l.Entry != i {
				continue
			}
			if m := moreLines.FindStringSubmatch(ansi.Strip(l.Text)); m != nil {
				n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
				if err != nil {
					t.Fatal(err)
				}
				hidden += n - 1 // less the line that says so
			}
			lines++
		}
		return lines, hidden
	}
	for i := range rec.Nodes {
		short, hidden := count(i, false)
		long, none := count(i, true)
		if hidden == 0 || none != 0 || short+hidden != long {
			t.Errorf("entry %d: %d lines and %d hidden ones, open %d lines and %d hidden", i, short, hidden, long, none)
		}
	}
}
