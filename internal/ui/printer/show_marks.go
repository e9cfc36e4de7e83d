package printer

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
)

// foundLook marks matches in a conversation. It has no colour of its own, since the
// lines of a diff have theirs.
var foundLook = ansi.NewStyle().Bold().Reverse(true)

// marked returns what is in p.out with the matches marked, and moves the owners along.
func (p *transcript) marked() string {
	text := p.out.String()
	if len(p.s.Marks) == 0 || !p.Colour {
		return text
	}
	next := len(p.owners)
	for next > 0 && p.owners[next-1].at >= p.written {
		next--
	}
	now := -1
	if next > 0 {
		now = p.owners[next-1].entry
	}
	var b strings.Builder
	at := p.written
	for line := range strings.Lines(text) {
		for ; next < len(p.owners) && p.owners[next].at <= at; next++ {
			p.owners[next].at = p.written + b.Len()
			now = p.owners[next].entry
		}
		whole := strings.TrimSuffix(line, "\n")
		b.WriteString(markLine(whole, p.s.Marks[now]) + line[len(whole):])
		at += len(line)
	}
	for ; next < len(p.owners); next++ {
		p.owners[next].at = p.written + b.Len()
	}
	return b.String()
}

// markLine marks texts in a line, whatever their case.
func markLine(line string, texts []string) string {
	if len(texts) == 0 {
		return line
	}
	plain := ansi.Strip(line)
	lower := strings.ToLower(plain)
	if len(lower) != len(plain) { // positions in one say nothing about the other
		return line
	}
	var b strings.Builder
	cells := 0 // of the line that are in b
	for at := 0; at < len(plain); {
		start, end := -1, 0
		for _, text := range texts {
			text = strings.ToLower(terminal.Clean(text))
			if k := strings.Index(lower[at:], text); text != "" && k >= 0 && (start < 0 || at+k < start || at+k == start && start+len(text) > end) {
				start, end = at+k, at+k+len(text)
			}
		}
		if start < 0 {
			break
		}
		from, to := terminal.Width(plain[:start]), terminal.Width(plain[:end])
		b.WriteString(ansi.Cut(line, cells, from) + foundLook.Styled(plain[start:end]))
		at, cells = end, to
	}
	return b.String() + ansi.TruncateLeft(line, cells, "")
}
