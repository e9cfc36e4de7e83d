package printer

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/ui/highlight"
	"pigrep/ui/markdown"
	"pigrep/ui/transcript"
)

// codeStyle is for code of an unknown language.
var codeStyle = ansi.NewStyle().ForegroundColor(ansi.Cyan)

// classStyles are the looks of code.
var classStyles = map[highlight.Class]ansi.Style{
	highlight.Comment:  ansi.NewStyle().ForegroundColor(ansi.BrightBlack),
	highlight.Keyword:  ansi.NewStyle().ForegroundColor(ansi.Magenta),
	highlight.Type:     ansi.NewStyle().ForegroundColor(ansi.Yellow),
	highlight.Function: ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.Name:     ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Tag:      ansi.NewStyle().ForegroundColor(ansi.Blue),
	highlight.String:   ansi.NewStyle().ForegroundColor(ansi.Green),
	highlight.Number:   ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Heading:  ansi.NewStyle().ForegroundColor(ansi.Cyan),
	highlight.Inserted: addedStyle,
	highlight.Deleted:  removedStyle,
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
		case l.style == lineHeading:
			s = t.style(titleStyle, s)
		case l.style == lineFence:
			s = t.dim(s)
		case l.style == lineCode:
			s = t.style(codeStyle, s)
		}
		lines = append(lines, s)
	}
	return lines
}

// runs returns a line of rendered Markdown.
func (t *text) runs(l markdown.Line, faint bool) string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(t.style(runStyle(r, faint), t.Links.Address(r.Text, r.URL)))
	}
	return b.String()
}

func runStyle(r markdown.Run, faint bool) ansi.Style {
	style := classStyles[r.Class]
	has := func(s markdown.Style) bool { return r.Style&s != 0 }
	if has(markdown.Code) {
		style = codeStyle
	}
	style = style[:len(style):len(style)]
	if faint || has(markdown.Faint) {
		style = style.Faint()
	}
	if has(markdown.Bold) || has(markdown.Heading) {
		style = style.Bold()
	}
	if has(markdown.Italic) {
		style = style.Italic(true)
	}
	if has(markdown.Strike) {
		style = style.Strikethrough(true)
	}
	if has(markdown.Link) {
		style = style.Underline(true)
	}
	return style
}
