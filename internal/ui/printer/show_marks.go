package printer

import (
	"strings"
	"unicode"
	"unicode/utf8"

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

// markLine marks texts in a line.
func markLine(line string, texts []string) string {
	if len(texts) == 0 {
		return line
	}
	plain := ansi.Strip(line)
	var b strings.Builder
	cells := 0 // of the line that are in b
	for _, m := range found(plain, texts) {
		b.WriteString(ansi.Cut(line, cells, terminal.Width(plain[:m[0]])) + foundLook.Styled(plain[m[0]:m[1]]))
		cells = terminal.Width(plain[:m[1]])
	}
	return b.String() + ansi.TruncateLeft(line, cells, "")
}

// found returns where a line has texts: as they are, or in another case where a word
// begins.
func found(line string, texts []string) (spans [][2]int) {
	lower := strings.ToLower(line)
	if len(lower) != len(line) { // positions in one say nothing about the other
		lower = line
	}
	for at := 0; at < len(line); {
		best := [2]int{len(line), 0}
		for _, text := range texts {
			text = terminal.Clean(text)
			for from := at; text != ""; from++ {
				k := strings.Index(lower[from:], strings.ToLower(text))
				if k < 0 {
					break
				}
				from += k
				end := from + len(strings.ToLower(text))
				if line[from:end] != text && !beginsWord(line, from) {
					continue
				}
				if from < best[0] || from == best[0] && end > best[1] {
					best = [2]int{from, end}
				}
				break
			}
		}
		if best[1] == 0 {
			break
		}
		spans = append(spans, best)
		at = best[1]
	}
	return spans
}

// beginsWord reports whether a word begins at an offset, perhaps within a name such as
// userName.
func beginsWord(s string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	first, _ := utf8.DecodeRuneInString(s[at:])
	return at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) || unicode.IsUpper(first) && unicode.IsLower(before)
}
