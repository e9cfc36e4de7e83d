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

// matcher finds needles in the lines of a conversation, also where wrapping has broken them.
// Case is ignored as pigrep grep -i ignores it.
type matcher struct {
	lines, needles []string // folded
	width          int      // to which lines are wrapped
	found          [][]span // by line
}

// spans finds the needles in the lines from start to end.
func (p *preview) spans(start, end int, needles []string) [][]span {
	m := matcher{lines: folded(p.plain[start:max(start, end)]), needles: folded(needles), width: p.have.Width}
	m.found = make([][]span, len(m.lines))
	for i := range m.lines {
		free := m.findWhole(i)
		for k := range m.needles {
			m.findBroken(i, free, k)
		}
	}
	return m.found
}

// findWhole finds the needles within line i. It returns the offset after the last match.
func (m *matcher) findWhole(i int) (free int) {
	line := m.lines[i]
	if n := len(m.found[i]); n > 0 { // a match from above ends here
		free = byteAt(line, m.found[i][n-1].to)
	}
	for {
		from, to, which := -1, 0, 0
		for k, n := range m.needles {
			if at := strings.Index(line[free:], n); n != "" && at >= 0 && (from < 0 || free+at < from) {
				from, to, which = free+at, free+at+len(n), k
			}
		}
		if from < 0 {
			return free
		}
		m.found[i] = append(m.found[i], span{terminal.Width(line[:from]), terminal.Width(line[:to]), which, false})
		free = to
	}
}

// findBroken finds a needle that begins on line i, at or after free, and was wrapped onto
// the lines below.
func (m *matcher) findBroken(i, free, which int) {
	needle := m.needles[which]
	if len(needle) < 2 || !m.continues(i) {
		return
	}
	line := strings.TrimRight(m.lines[i], " ")
	for from := max(free, len(line)-len(needle)+1); from < len(line); from++ {
		if !utf8.RuneStart(line[from]) || !strings.HasPrefix(needle, line[from:]) {
			continue
		}
		if rest := m.rest(i+1, which, needle[len(line)-from:]); rest != nil {
			m.found[i] = append(m.found[i], span{terminal.Width(line[:from]), terminal.Width(line), which, false})
			for n, s := range rest {
				m.found[i+1+n] = append(m.found[i+1+n], s)
			}
			return
		}
	}
}

// rest returns the spans of the rest of a broken needle, one on each line from line i on;
// nil if the lines do not go on like this.
func (m *matcher) rest(i, which int, rest string) (spans []span) {
	for ; ; i++ {
		rest = strings.TrimLeft(rest, " ") // wrapping replaces a space, or nothing
		text := strings.TrimLeft(m.lines[i], " ")
		indent := len(m.lines[i]) - len(text)
		if strings.HasPrefix(text, rest) {
			return append(spans, span{indent, indent + terminal.Width(rest), which, true})
		}
		if text == "" || !strings.HasPrefix(rest, text) || !m.continues(i) {
			return nil
		}
		spans = append(spans, span{indent, terminal.Width(m.lines[i]), which, true})
		rest = rest[len(text):]
	}
}

// continues reports whether line i may go on in the next one: the next one's first word had
// no room.
func (m *matcher) continues(i int) bool {
	if i+1 >= len(m.lines) || m.lines[i] == "" {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimLeft(m.lines[i+1], " "), " ")
	return word != "" && terminal.Width(m.lines[i])+1+terminal.Width(word) > m.width
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

// folded maps characters that differ only in case to the same character.
func folded(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.Map(foldRune, s)
	}
	return out
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
