package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pigrep/adapter"
	"pigrep/adapter/pi"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
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
		Twins: []string{"/home/u/copy.jsonl"},
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

// looks are the terminals that golden files are made for.
var looks = []struct {
	name   string
	layout Layout
}{
	{"40", Layout{Width: 40, Now: now, Home: "/home/u"}},
	{"40-colour", Layout{Width: 40, Now: now, Home: "/home/u", Colour: true}},
	{"80", Layout{Width: 80, Now: now, Home: "/home/u"}},
	{"80-colour", Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}},
	{"200", Layout{Width: 200, Now: now, Home: "/home/u"}},
	{"200-colour", Layout{Width: 200, Now: now, Home: "/home/u", Colour: true}},
}

// checkLines makes sure that no line is wider than the terminal and that nothing
// in them acts on it.
func checkLines(t *testing.T, out string, l Layout) {
	t.Helper()
	if !l.Colour {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && terminal.Hidden(r) }); i >= 0 {
			t.Errorf("a control character gets out: %q", out[max(0, i-20):min(len(out), i+20)])
		}
	} else if strings.Contains(out, "\x1b]") || strings.Contains(out, "owned") {
		t.Errorf("a control sequence of the session gets out")
	}
	for line := range strings.Lines(out) {
		if n := terminal.Width(strings.TrimSuffix(line, "\n")); l.Width > 0 && n > l.Width {
			t.Errorf("%d cells in a line of %d: %q", n, l.Width, line)
		}
		if plain := ansi.Strip(strings.TrimSuffix(line, "\n")); plain != strings.TrimRight(plain, " ") {
			t.Errorf("spaces at the end: %q", line)
		}
	}
}

func TestShowText(t *testing.T) {
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			s := &Show{Session: facts, Entries: entriesOf(c, c.Tree.Path()), Whole: true}
			if err := New(&b, FormatText, l.layout).Print(s); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), l.layout)
			golden(t, "show-"+l.name, b.Bytes())
		})
	}
}

func TestShowForms(t *testing.T) {
	wide := Layout{Width: 80, Now: now, Home: "/home/u"}
	for _, test := range []struct {
		name   string
		format Format
		show   func(*entry.Conversation, SessionFacts) *Show
	}{
		{"show-full", FormatText, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, all(c)), Whole: true, Full: true, Branches: true}
		}},
		{"show-around", FormatText, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{
				Session: f, Entries: entriesOf(c, []int{7, 9, 10, 14}),
				Focus: map[int]bool{7: true, 9: true, 14: true}, Gaps: map[int]bool{14: true},
			}
		}},
		{"show-plain", FormatPlain, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, c.Tree.Path()), Whole: true}
		}},
		{"show-json", FormatJSON, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, all(c)), Whole: true}
		}},
		{"show-jsonl", FormatJSONL, func(c *entry.Conversation, f SessionFacts) *Show {
			return &Show{Session: f, Entries: entriesOf(c, []int{4, 5}), Focus: map[int]bool{4: true}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			if err := New(&b, test.format, wide).Print(test.show(c, facts)); err != nil {
				t.Fatal(err)
			}
			switch test.format {
			case FormatText:
				checkLines(t, b.String(), wide)
			case FormatPlain:
				checkLines(t, b.String(), Layout{})
			case FormatJSON:
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
			if err := New(&b, FormatText, l.layout).Print(&Tree{Session: facts, Rows: c.TreeRows(false)}); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), l.layout)
			golden(t, "tree-"+l.name, b.Bytes())
		})
	}
	for name, format := range map[string]Format{"tree-json": FormatJSON, "tree-jsonl": FormatJSONL, "tree-plain": FormatPlain} {
		t.Run(name, func(t *testing.T) {
			c, facts := conversation(t)
			var b bytes.Buffer
			if err := New(&b, format, Layout{}).Print(&Tree{Session: facts, Rows: c.TreeRows(true)}); err != nil {
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

func TestMarkdown(t *testing.T) {
	for _, test := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"paragraph", "one two three four", 9, []string{"one two", "three", "four"}},
		{"list", "- one two three\n  - four five six", 12, []string{"- one two", "  three", "  - four", "    five six"}},
		{"numbers", "10. alpha beta gamma", 12, []string{"10. alpha", "    beta", "    gamma"}},
		{"quotation", "> one two three", 9, []string{"> one two", "> three"}},
		{"code stays", "```\na  b\n\tc\n```", 40, []string{"```", "a  b", "    c", "```"}},
		{"long code breaks", "```\nabcdefgh\n```", 4, []string{"```", "abcd", "efgh", "```"}},
		{"an open fence", "```sh\nls", 40, []string{"```sh", "ls"}},
		{"inner fence", "````\n```\n````\nx", 40, []string{"````", "```", "````", "x"}},
		{"blank lines", "\n\na\n\n\nb\n\n", 40, []string{"a", "", "b"}},
		{"wide characters", "日本語日本語", 5, []string{"日本", "語日", "本語"}},
		{"family", "👨‍👩‍👧👨‍👩‍👧", 2, []string{"👨‍👩‍👧", "👨‍👩‍👧"}},
		{"table", "| a | b |", 40, []string{"| a | b |"}},
		{"no width", strings.Repeat("x ", 100), 0, []string{strings.TrimSpace(strings.Repeat("x ", 100))}},
		{"control", "a\x1b[31mb\rc", 40, []string{"ab", "c"}},
	} {
		var got []string
		for _, l := range sourceLines([]byte(test.in), test.width) {
			got = append(got, l.text)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%s: sourceLines(%q, %d) = %q, want %q", test.name, test.in, test.width, got, test.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		in         string
		head, tail int
		want       folded
	}{
		{"", 2, 1, folded{}},
		{"\n\n", 2, 1, folded{}},
		{"a", 2, 1, folded{head: []string{"a"}}},
		{"a\nb\nc\nd", 2, 1, folded{head: []string{"a", "b", "c", "d"}}},
		{"a\nb\nc\nd\ne\n", 2, 1, folded{head: []string{"a", "b"}, tail: []string{"e"}, hidden: 2}},
		{"a\nb\nc\nd\ne", 2, 0, folded{head: []string{"a", "b"}, hidden: 3}},
		{"10%\r20%\r100%\r\nx", 2, 0, folded{head: []string{"100%", "x"}}},
	} {
		got := fold([]byte(test.in), test.head, test.tail)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(folded{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("fold(%q, %d, %d) (-want +got):\n%s", test.in, test.head, test.tail, diff)
		}
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
