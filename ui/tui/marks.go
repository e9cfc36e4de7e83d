package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pigrep/internal/terminal"
)

// span is a match on a line, in cells. A match that was wrapped has a span on each of its
// lines.
type span struct {
	from, to int
	needle   int  // which of the needles
	rest     bool // it began on a line above
}

// spans finds the needles in the lines from start to end, also where wrapping has broken
// them. Case is ignored as pigrep grep -i ignores it.
func (p *preview) spans(start, end int, needles []string) [][]span {
	all := make([][]span, max(0, end-start))
	var folded []string
	for _, n := range needles {
		folded = append(folded, fold(n))
	}
	lines := make([]string, 0, len(all))
	for _, l := range p.plain[start:max(start, end)] {
		lines = append(lines, fold(l))
	}
	width := p.have.Width
	for i := range lines {
		free := 0 // of this line, not matched yet
		if n := len(all[i]); n > 0 {
			free = len(lines[i]) - len(strings.TrimLeft(lines[i], " ")) // a match from above ends here
			free = max(free, byteAt(lines[i], all[i][n-1].to))
		}
		for free <= len(lines[i]) {
			from, to, which := -1, 0, 0
			for k, n := range folded {
				if n == "" {
					continue
				}
				at := strings.Index(lines[i][free:], n)
				if at >= 0 && (from < 0 || free+at < from) {
					from, to, which = free+at, free+at+len(n), k
				}
			}
			if from < 0 {
				break
			}
			all[i] = append(all[i], span{terminal.Width(lines[i][:from]), terminal.Width(lines[i][:to]), which, false})
			free = to
		}
		for k, n := range folded {
			markBroken(all, lines, i, free, n, k, width)
		}
	}
	return all
}

// markBroken marks a needle that begins on line i, at or after free, and was wrapped
// onto the lines below, if there is one.
func markBroken(all [][]span, lines []string, i, free int, needle string, which, width int) {
	if len(needle) < 2 || i+1 >= len(lines) || !wrapped(lines[i], lines[i+1], width) {
		return
	}
	line := strings.TrimRight(lines[i], " ")
	for from := max(free, len(line)-len(needle)+1); from < len(line); from++ {
		if !utf8.RuneStart(line[from]) || !strings.HasPrefix(needle, line[from:]) {
			continue
		}
		marks := []span{{terminal.Width(line[:from]), terminal.Width(line), which, false}}
		rest := needle[len(line)-from:]
		for at := i + 1; ; at++ {
			// Wrapping replaces a space, or nothing.
			rest = strings.TrimLeft(rest, " ")
			indent := len(lines[at]) - len(strings.TrimLeft(lines[at], " "))
			text := lines[at][indent:]
			if strings.HasPrefix(text, rest) {
				marks = append(marks, span{indent, indent + terminal.Width(rest), which, true})
				rest = ""
			} else if text != "" && strings.HasPrefix(rest, text) && at+1 < len(lines) && wrapped(lines[at], lines[at+1], width) {
				marks = append(marks, span{indent, terminal.Width(lines[at]), which, true})
				rest = rest[len(text):]
				continue
			}
			break
		}
		if rest != "" {
			continue
		}
		for n, m := range marks {
			all[i+n] = append(all[i+n], m)
		}
		return
	}
}

// wrapped reports whether a line may go on in the next one: the next one's first word had
// no room.
func wrapped(line, next string, width int) bool {
	next = strings.TrimLeft(next, " ")
	if next == "" || line == "" {
		return false
	}
	word, _, _ := strings.Cut(next, " ")
	return terminal.Width(line)+1+terminal.Width(word) > width
}

// byteAt returns the offset in a text at which a cell begins.
func byteAt(s string, cell int) int {
	for i := range s {
		if terminal.Width(s[:i]) >= cell {
			return i
		}
	}
	return len(s)
}

// fold maps characters that differ only in case to the same character.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
