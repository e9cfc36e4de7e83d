package show

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
	"pigrep/query/engine/match"
	"pigrep/ui/printer"
)

func showMarkdown(t *testing.T, format printer.Format, layout printer.Layout, marks map[int][]match.Mark) string {
	t.Helper()
	c, facts := conversationIn(t, "markdown.jsonl")
	var b bytes.Buffer
	s := &Show{Session: facts, Entries: entriesOf(c, all(c)), Whole: true, Full: true, Marks: marks}
	if err := printer.New(&b, format, layout).Print(s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Markdown is rendered where there are colours to show what its marks said, and is shown as
// it was written everywhere else.
func TestMarkdownIsRendered(t *testing.T) {
	layout := printer.Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}
	narrow := layout
	narrow.Width = 40
	for name, l := range map[string]printer.Layout{"markdown-80-colour": layout, "markdown-40-colour": narrow} {
		out := showMarkdown(t, printer.FormatText, l, nil)
		checkLines(t, out, l)
		golden(t, name, []byte(out))
	}
	source, bare := layout, layout
	source.Source, bare.Colour = true, false
	for name, out := range map[string]string{
		"with --source": ansi.Strip(showMarkdown(t, printer.FormatText, source, nil)), "without colours": showMarkdown(t, printer.FormatText, bare, nil), "in a pipe": showMarkdown(t, printer.FormatPlain, printer.Layout{}, nil),
	} {
		for _, line := range []string{"  # Plan for **auth**\n", "| `src/auth/login.ts` | Adds", "  ```ts\n", "  - [x] done\n", "  **Considering** the `thing`\n"} {
			if !strings.Contains(out, line) {
				t.Errorf("%s there is no %q:\n%s", name, line, out)
			}
		}
	}
}

// What a hit matched is marked wherever Markdown shows it.
func TestMarksSurviveRendering(t *testing.T) {
	layout := printer.Layout{Width: 80, Now: now, Home: "/home/u", Colour: true}
	texts := []string{"Plan for", "text", "code", "example.com", "nested item", "old", "quoted", "src/auth/login.ts", "日本語", "greet", "await fetch", "plain"}
	for _, text := range texts {
		out := showMarkdown(t, printer.FormatText, layout, map[int][]match.Mark{1: marksOf(text)})
		if !strings.Contains(strings.ToLower(out), "\x1b[1;7m"+strings.ToLower(text)+"\x1b[m") {
			t.Errorf("%q is not marked:\n%s", text, out)
		}
		if ansi.Strip(out) != ansi.Strip(showMarkdown(t, printer.FormatText, layout, nil)) {
			t.Errorf("marking %q changes the text", text)
		}
	}
}

// Links of Markdown lead to their addresses where the terminal takes hyperlinks, on each row
// that shows them, and a mark in them changes nothing else.
func TestMarkdownLinks(t *testing.T) {
	const address = "https://example.com/a/very/long/path?with=query"
	layout := printer.Layout{Width: 40, Now: now, Home: "/home/u", Colour: true}
	bare := showMarkdown(t, printer.FormatText, layout, nil)
	layout.Links = &terminal.Links{}
	for _, marks := range []map[int][]match.Mark{nil, {1: marksOf("example.com")}} {
		out := showMarkdown(t, printer.FormatText, layout, marks)
		if !strings.Contains(out, "\x1b]8;;"+address) {
			t.Errorf("with marks %v no link leads to %s:\n%q", marks, address, out)
		}
		if ansi.Strip(out) != ansi.Strip(bare) {
			t.Errorf("with marks %v the links change the text", marks)
		}
		for line := range strings.Lines(out) {
			if n := strings.Count(line, "\x1b]8;"); n%2 != 0 || n > 0 && strings.LastIndex(line, "\x1b]8;;\x07") != strings.LastIndex(line, "\x1b]8;") {
				t.Errorf("a link does not end in its row: %q", line)
			}
		}
	}
	if strings.Contains(bare, "\x1b]8;") {
		t.Error("there are links without Links")
	}
}
