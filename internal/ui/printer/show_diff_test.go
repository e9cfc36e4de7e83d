package printer

import (
	"bytes"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/internal/ui/diff"
)

// Edits are read as diffs, in every form.
func TestShowEdits(t *testing.T) {
	wide := Look{Width: 80, Now: now, Home: "/home/u"}
	colour := wide
	colour.Colour = true
	narrow := wide
	narrow.Width = 40
	for _, test := range []struct {
		name   string
		format Format
		look   Look
		show   Show
	}{
		{"edits-80", FormatText, wide, Show{Whole: true}},
		{"edits-80-colour", FormatText, colour, Show{Whole: true}},
		{"edits-40", FormatText, narrow, Show{Whole: true}},
		{"edits-full", FormatText, wide, Show{Whole: true, Full: true}},
		{"edits-plain", FormatPlain, wide, Show{Whole: true}},
		{"edits-result", FormatText, wide, Show{Focus: map[int]bool{2: true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, facts := conversationIn(t, "edits.jsonl")
			s := test.show
			s.Session, s.Entries = facts, entriesOf(c, all(c))
			var b bytes.Buffer
			if err := New(&b, test.format, test.look).Print(&s); err != nil {
				t.Fatal(err)
			}
			checkLines(t, b.String(), test.look)
			golden(t, test.name, b.Bytes())
		})
	}
	t.Run("md", func(t *testing.T) {
		c, facts := conversationIn(t, "edits.jsonl")
		var b bytes.Buffer
		if err := Export(&b, "md", &Show{Session: facts, Entries: entriesOf(c, all(c)), Whole: true}); err != nil {
			t.Fatal(err)
		}
		checkLines(t, b.String(), Look{})
		golden(t, "edits-md", b.Bytes())
	})
}

// What the Markdown has between its fences is the diff that was exported.
func TestMarkdownFencesHoldAnyDiff(t *testing.T) {
	files := diff.Of(&session.Call{Edits: []session.Edit{{Path: "`a`", Old: []byte("```\nx\n````"), New: []byte("`````\ny\n```diff")}}})
	var b strings.Builder
	markdownDiff(&b, files)
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
