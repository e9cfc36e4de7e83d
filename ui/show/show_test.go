package show

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
	"pigrep/ui/printer"
)

// conversation opens the session that has one of everything.
func conversation(t *testing.T) (*entry.Conversation, SessionFacts) {
	t.Helper()
	return conversationIn(t, "conversation.jsonl")
}

func conversationIn(t *testing.T, name string) (*entry.Conversation, SessionFacts) {
	t.Helper()
	path := filepath.Join("testdata", name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := entry.ReadRecord(pi.New(), "/home/u/.pi/agent/sessions/--p--/login.jsonl", bytes.NewReader(data), now)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Problems) > 0 {
		t.Fatalf("problems: %v", rec.Problems)
	}
	c := entry.NewConversation(pi.New(), rec, bytes.NewReader(data))
	hit := search.Describe(&rec.Summary, resumed)
	hit.ShortID = "01a1f7e5"
	return c, SessionFacts{
		SessionHit: hit, Version: 3,
		Entries: len(rec.Nodes), Abandoned: 2,
		Parent: &Relative{SessionPath: "/home/u/old/parent.jsonl", SessionID: "9470c69e", ShortID: "9470c69e", Title: "Login", State: "moved", Shared: 5},
		Children: []Relative{
			{SessionPath: "/home/u/x.jsonl", SessionID: "77777777", ShortID: "77777777", Title: "続き: リダイレクト", Created: at(day), Shared: 20},
		},
		Twins: []string{"/home/u/copy.jsonl"}, Files: []string{"/home/u/copy.jsonl"},
	}
}

// resumed is how pi resumes a session.
func resumed(s *session.Summary) (string, []string) {
	return pi.New().ResumeCommand(adapter.Environment{Home: "/home/u", Getenv: func(string) string { return "" }}, s)
}

func entriesOf(c *entry.Conversation, list []int) iter.Seq2[*entry.Entry, error] {
	return func(yield func(*entry.Entry, error) bool) {
		for _, i := range list {
			if !yield(c.Read(i)) {
				return
			}
		}
	}
}

func all(c *entry.Conversation) []int {
	var list []int
	for i := range c.Record.Nodes {
		list = append(list, i)
	}
	return list
}

func TestShowText(t *testing.T) {
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			s := &Show{Session: facts, Entries: entriesOf(c, c.Tree.Path()), Whole: true}
			if err := printer.New(&b, printer.FormatText, l.layout).Print(s); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), l.layout)
			golden(t, "show-"+l.name, b.Bytes())
		})
	}
}

func TestShowForms(t *testing.T) {
	wide := printer.Layout{Width: 80, Now: now, Home: "/home/u"}
	for _, test := range []struct {
		name   string
		format printer.Format
		show   func(*entry.Conversation, SessionFacts) *Show
	}{
		{"show-full", printer.FormatText, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, all(c)), Whole: true, Full: true, Branches: true}
		}},
		{"show-around", printer.FormatText, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{
				Session: f, Entries: entriesOf(c, []int{7, 9, 10, 14}),
				Focus: map[int]bool{7: true, 9: true, 14: true}, Gaps: map[int]bool{14: true},
			}
		}},
		{"show-plain", printer.FormatPlain, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, c.Tree.Path()), Whole: true}
		}},
		{"show-json", printer.FormatJSON, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, all(c)), Whole: true}
		}},
		{"show-jsonl", printer.FormatJSONL, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, []int{4, 5}), Focus: map[int]bool{4: true}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			if err := printer.New(&b, test.format, wide).Print(test.show(c, facts)); err != nil {
				t.Fatal(err)
			}
			switch test.format {
			case printer.FormatText:
				checkLines(t, b.String(), wide)
			case printer.FormatPlain:
				checkLines(t, b.String(), printer.Layout{})
			case printer.FormatJSON:
				if !json.Valid(b.Bytes()) {
					t.Errorf("not JSON")
				}
			}
			golden(t, test.name, b.Bytes())
		})
	}
}

func TestTreeText(t *testing.T) {
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			if err := printer.New(&b, printer.FormatText, l.layout).Print(&Tree{Session: facts, Rows: c.TreeRows(false)}); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), l.layout)
			golden(t, "tree-"+l.name, b.Bytes())
		})
	}
	for name, format := range map[string]printer.Format{"tree-json": printer.FormatJSON, "tree-jsonl": printer.FormatJSONL, "tree-plain": printer.FormatPlain} {
		t.Run(name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			if err := printer.New(&b, format, printer.Layout{}).Print(&Tree{Session: facts, Rows: c.TreeRows(true)}); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestExport(t *testing.T) {
	for _, format := range []string{"md", "json", "txt"} {
		t.Run(format, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			facts.Begun = facts.Created.Time
			if err := Export(&b, format, &Show{Session: facts, Entries: entriesOf(c, all(c)), Whole: true, Branches: true, Zone: time.UTC}); err != nil {
				t.Fatal(err)
			}
			out := b.String()
			if strings.Contains(out, "\x1b") || strings.Contains(out, "\u202e") {
				t.Errorf("a control character gets out")
			}
			// Everything that was said is in it, whatever its form.
			for _, want := range []string{"loses the query string", "クエリ文字列", "by hand", "http.StatusFound", "login_test.go:12: three", "529 overloaded", "Keep the query", "run the linter", "go vet ./..."} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if format == "json" { // what show --all --json prints
				golden(t, "show-json", b.Bytes())
				return
			}
			golden(t, "export-"+format, b.Bytes())
		})
	}
}

func TestRawEntries(t *testing.T) {
	const hostile = "{\"text\":\"\u007f\u202e\U000e0041\u009b2J\xff\"}"
	entries := func(yield func(*entry.Entry, error) bool) {
		yield(&entry.Entry{Raw: []byte(hostile)}, nil)
	}
	for _, test := range []struct {
		terminal bool
		want     string
	}{
		{false, "{}\n" + hostile + "\n"},
		{true, "{}\n" + `{"text":"\u007f\u202e\udb40\udc41\u009b2J` + "\ufffd\"}\n"},
	} {
		var b bytes.Buffer
		if err := RawEntries(&b, []byte("{}"), entries, test.terminal); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != test.want {
			t.Errorf("RawEntries to a terminal (%t) = %q, want %q", test.terminal, got, test.want)
		}
	}
}

// Every form of time that is printed can be typed, and means the same.
func TestStampsCanBeTyped(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	then := time.Date(2026, 3, 2, 15, 4, 0, 0, zone)
	for _, show := range []*Show{{Zone: zone}, {}} {
		printed := show.stamp(then)
		span, err := timespec.Parse(printed, then.AddDate(0, 0, 18))
		if err != nil || span.Start.After(then) || span.End.Before(then) {
			t.Errorf("%s means %v, %v, want %v in it", printed, span, err, then)
		}
	}
}
