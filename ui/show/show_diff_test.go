package show

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pigrep/internal/diff"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/match"
	"pigrep/ui/printer"
)

// Edits are read as diffs, in every form.
func TestShowEdits(t *testing.T) {
	wide := printer.Layout{Width: 80, Now: now, Home: "/home/u"}
	colour := wide
	colour.Colour = true
	narrow := wide
	narrow.Width = 40
	for _, test := range []struct {
		name   string
		format printer.Format
		layout printer.Layout
		show   Show
	}{
		{"edits-80", printer.FormatText, wide, Show{Whole: true}},
		{"edits-80-colour", printer.FormatText, colour, Show{Whole: true}},
		{"edits-40", printer.FormatText, narrow, Show{Whole: true}},
		{"edits-full", printer.FormatText, wide, Show{Whole: true, Full: true}},
		{"edits-plain", printer.FormatPlain, wide, Show{Whole: true}},
		{"edits-result", printer.FormatText, wide, Show{Focus: map[int]bool{2: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, facts := conversationIn(t, "edits.jsonl")
			s := test.show
			s.Session, s.Entries = facts, entriesOf(c, all(c))
			var b bytes.Buffer
			if err := printer.New(&b, test.format, test.layout).Print(&s); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), test.layout)
			golden(t, test.name, b.Bytes())
		})
	}
	t.Run("md", func(t *testing.T) {
		c, facts := conversationIn(t, "edits.jsonl")
		var b bytes.Buffer
		if err := Export(&b, "md", &Show{Session: facts, Entries: entriesOf(c, all(c)), Whole: true}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, b.String(), printer.Layout{})
		golden(t, "edits-md", b.Bytes())
	})
}

// What the Markdown has between its fences is the diff that was exported.
func TestMarkdownFencesHoldAnyDiff(t *testing.T) {
	files := diff.Of(&session.Call{Edits: []session.Edit{{Path: "`a`", Old: []byte("```\nx\n````"), New: []byte("`````\ny\n```diff")}}})
	var b strings.Builder
	w := printer.NewSink(&b)
	markdownDiff(w, files)
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	fence := strings.TrimSuffix(lines[2], "diff")
	if strings.Trim(fence, "`") != "" || lines[len(lines)-1] != fence {
		t.Fatalf("no fence around\n%s", b.String())
	}
	for _, l := range lines[3 : len(lines)-1] {
		if strings.HasPrefix(strings.TrimSpace(l), fence) || !strings.ContainsAny(l[:1], "+-") {
			t.Errorf("the line %q ends the fence, or has no sign", l)
		}
	}
}

// What a hit matched is marked in its entry alone, and lines still know their entries.
func TestMarks(t *testing.T) {
	layout := printer.Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}
	lines := func(marks map[int][]match.Mark) []Line {
		c, facts := conversationIn(t, "edits.jsonl")
		list, err := (&Show{Session: facts, Entries: entriesOf(c, all(c)), Focus: map[int]bool{1: true}, Marks: marks}).Lines(layout)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	plain, marked := lines(nil), lines(map[int][]match.Mark{1: marksOf("START", "items[:0]"), 4: marksOf("nothing")})
	if len(plain) != len(marked) {
		t.Fatalf("%d lines with marks, %d without", len(marked), len(plain))
	}
	found := 0
	for i := range marked {
		if ansi.Strip(marked[i].Text) != ansi.Strip(plain[i].Text) || marked[i].Entry != plain[i].Entry {
			t.Errorf("line %d is %+v, without marks %+v", i, marked[i], plain[i])
		}
		text, n := ansi.Strip(marked[i].Text), strings.Count(marked[i].Text, "\x1b[1;7m")
		want := 0
		if marked[i].Entry == 1 {
			want = strings.Count(text, "start") + strings.Count(text, "items[:0]")
		}
		if n != want {
			t.Errorf("%d marks in %q, want %d", n, marked[i].Text, want)
		}
		found += n
	}
	if found < 5 {
		t.Errorf("%d marks", found)
	}
}

func TestFound(t *testing.T) {
	for _, test := range []struct {
		line string
		text string
		want [][2]int
	}{
		{"a Session, sessions", "session", [][2]int{{2, 9}, {11, 18}}},
		{"requestRender", "Str", nil},
		{"newStr := string(str)", "Str", [][2]int{{3, 6}, {10, 13}, {17, 20}}},
		{"requestRender", "ender", [][2]int{{8, 13}}},
		{"İx session", "SESSION", [][2]int{{4, 11}}},
		{"anything", "", nil},
	} {
		if diff := cmp.Diff(test.want, found(test.line, marksOf(test.text))); diff != "" {
			t.Errorf("found(%q, %q) (-want +got):\n%s", test.line, test.text, diff)
		}
	}
}

// A line is read once for each text: to look for the end of this line at each x would take minutes.
func TestFoundInALongLine(t *testing.T) {
	const n = 4 << 20
	line := strings.Repeat("x ", n/2) + "end"
	spans := found(line, marksOf("X", "end", "x end", "none"))
	if want, last := [2]int{n - 2, n + 3}, spans[len(spans)-1]; len(spans) != n/2 || last != want {
		t.Errorf("%d spans up to %v, want %d up to %v", len(spans), last, n/2, want)
	}
	if len(found(line, marksOf("none", "end"))) != 1 || len(found(line, marksOf("none", ""))) != 0 || len(found("", marksOf("x"))) != 0 {
		t.Error("there is what is not there, or the other way round")
	}
}

// marksOf returns marks that may stand anywhere in a word.
func marksOf(texts ...string) []match.Mark {
	return lists.Map(texts, func(text string) match.Mark { return match.Mark{Text: text} })
}

// Marks leave the look of a line as it is, and links whole.
func TestMarkLine(t *testing.T) {
	for _, test := range []struct{ line, text, want string }{
		{"a b", "b", "a \x1b[1;7mb\x1b[m"},
		{"\x1b[31ma b c\x1b[m d", "b", "\x1b[31ma \x1b[1;7mb\x1b[m\x1b[31m c\x1b[m d"},
		{"a \x1b[31mb\x1b[m c", "a b", "\x1b[1;7ma b\x1b[m c"},
		{"\x1b[31ma\x1b[m\x1b[32m b\x1b[m c", "a b c", "\x1b[31m\x1b[1;7ma b c\x1b[m"},
		{"\x1b]8;;http://x\x07日b\x1b]8;;\x07", "日", "\x1b]8;;http://x\x07\x1b[1;7m日\x1b[mb\x1b]8;;\x07"},
		{"\x1b[1mx\x1b[m", "y", "\x1b[1mx\x1b[m"},
	} {
		if got := markLine(test.line, marksOf(test.text)); got != test.want {
			t.Errorf("%q with %q marked is %q, want %q", test.line, test.text, got, test.want)
		}
	}
}

// A line of any length is read once, not again for each match.
func TestMarkLongLine(t *testing.T) {
	const n = 1 << 20
	line := strings.Repeat("\x1b[31mx\x1b[m ", n)
	if got := markLine(line, marksOf("x")); strings.Count(got, "\x1b[1;7mx\x1b[m") != n {
		t.Errorf("%d matches are marked, want %d", strings.Count(got, "\x1b[1;7mx\x1b[m"), n)
	}
}

func TestChanged(t *testing.T) {
	for _, test := range []struct{ line, pair, want string }{
		{"\twidth := 3000", "\twidth := 3600", "3000"},
		{"return nil", "return items[:0]", "nil"},
		{"return items[:0]", "return nil", "items[:0]"},
		{"a.first()", "a.first().b", ""},
		{"userName", "userNames", ""}, // the whole line
		{"x = userNames", "x = userName", "userNames"},
		{"say 日本語", "say 日本人", "日本語"},
		{"same", "same", ""},
		{"", "x", ""},
	} {
		from, to := changed(test.line, test.pair)
		if got := test.line[from:to]; got != test.want {
			t.Errorf("of %q %q differs from %q, want %q", test.line, got, test.pair, test.want)
		}
	}
}

// A long diff shows the lines around a hit rather than its beginning.
func TestFoldKeepsTheHit(t *testing.T) {
	var file strings.Builder
	for i := range 500 {
		fmt.Fprintf(&file, "line %d\n", i)
	}
	call := &session.Call{Edits: []session.Edit{{Path: "a", New: []byte(file.String()), Whole: true}}}
	for _, mark := range []string{"line 0", "line 77", "line 499"} {
		var b strings.Builder
		p := &showText{Text: &printer.Text{Sink: printer.NewSink(&b)}, s: &Show{Marks: map[int][]match.Mark{7: marksOf(strings.ToUpper(mark))}}}
		p.diff(&entry.Entry{Index: 7}, diff.Of(call), "", false)
		if err := p.End(); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if !strings.Contains(out, "+"+mark+"\n") || strings.Count(out, "line ") != writeLines {
			t.Errorf("for %q:\n%s", mark, out)
		}
		hidden := 0
		for _, m := range moreLines.FindAllStringSubmatch(out, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			hidden += n
		}
		if hidden != 500-writeLines {
			t.Errorf("for %q %d lines are hidden, want %d:\n%s", mark, hidden, 500-writeLines, out)
		}
	}
}
