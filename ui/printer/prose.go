package printer

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/ui/highlight"
	"pigrep/ui/markdown"
	"pigrep/ui/transcript"
)

// codeLook is for code of an unknown language.
var codeLook = ansi.NewStyle().ForegroundColor(ansi.Cyan)

// classLooks are the looks of code.
var classLooks = map[highlight.Class]ansi.Style{
	highlight.Comment:  ansi.NewStyle().ForegroundColor(ansi.BrightBlack),
	highlight.Keyword:  ansi.NewStyle().ForegroundColor(ansi.Magenta),
	highlight.Type:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	highlight.Function: ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.Name:     ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Tag:      ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.String:   ansi.NewStyle().ForegroundColor(ansi.Green),
	highlight.Number:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Heading:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Inserted: addedLook,
	highlight.Deleted:  removedLook,
}

// prose returns the lines of a text that fit into the width. With colours, Markdown is
// rendered; without them, it is left as written, because its marks are the only sign of
// headings and emphasis.
func (t *text) prose(b transcript.Block, width int, faint bool) []string {
	var lines []string
	markdownForms := []transcript.Form{transcript.Prose, transcript.Thinking, transcript.Image}
	if t.Colour && width > 0 && !t.Source && slices.Contains(markdownForms, b.Form) {
		for _, l := range markdown.Render(tidy(b.Text), width) {
			lines = append(lines, t.runs(l, faint))
		}
		return lines
	}
	for _, l := range sourceLines(b.Text, width) {
		s := strings.TrimRight(l.text, " ")
		switch {
		case faint:
			s = t.dim(s)
		case l.look == lookHeading:
			s = t.style(titleLook, s)
		case l.look == lookFence:
			s = t.dim(s)
		case l.look == lookCode:
			s = t.style(codeLook, s)
		}
		lines = append(lines, s)
	}
	return lines
}

// runs returns a line of rendered Markdown.
func (t *text) runs(l markdown.Line, faint bool) string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(t.style(runLook(r, faint), t.Links.Address(r.Text, r.URL)))
	}
	return b.String()
}

func runLook(r markdown.Run, faint bool) ansi.Style {
	look := classLooks[r.Class]
	has := func(s markdown.Style) bool { return r.Style&s != 0 }
	if has(markdown.Code) {
		look = codeLook
	}
	look = look[:len(look):len(look)]
	if faint || has(markdown.Faint) {
		look = look.Faint()
	}
	if has(markdown.Bold) || has(markdown.Heading) {
		look = look.Bold()
	}
	if has(markdown.Italic) {
		look = look.Italic(true)
	}
	if has(markdown.Strike) {
		look = look.Strikethrough(true)
	}
	if has(markdown.Link) {
		look = look.Underline(true)
	}
	return look
}
