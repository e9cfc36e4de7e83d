package printer

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"pigrep/internal/terminal"
)

// foundStyle marks matches in a conversation. It sets no colour, because the lines of a
// diff have their own.
var foundStyle = ansi.NewStyle().Bold().Reverse(true)

// marked returns the contents of p.out with the matches marked, and adjusts the offsets
// of the owners.
func (p *showText) marked() string {
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

// markLine marks texts in a line. Attributes that the line sets within a match take
// effect after the match.
func markLine(line string, texts []string) string {
	if len(texts) == 0 {
		return line
	}
	m := lineMarker{rest: line}
	plain := ansi.Strip(line)
	for span := range found(plain, texts) {
		m.copy(span[0])
		m.b.WriteString(foundStyle.String())
		m.marking = true
		m.copy(span[1])
		m.marking = false
		m.b.WriteString(ansi.ResetStyle + m.style)
	}
	m.copy(len(plain))
	return m.b.String()
}

// lineMarker copies a line with escape sequences, from its beginning to its end.
type lineMarker struct {
	b       strings.Builder
	rest    string // not copied yet
	at      int    // where rest begins in the text without sequences
	style   string // the attributes that the line has set here
	marking bool   // they wait for the end of a match
}

// copy copies the line up to an offset in its text.
func (m *lineMarker) copy(end int) {
	for m.rest != "" {
		if m.rest[0] != ansi.ESC {
			n := strings.IndexByte(m.rest, ansi.ESC)
			if n < 0 {
				n = len(m.rest)
			}
			if n = min(n, end-m.at); n == 0 {
				return
			}
			m.b.WriteString(m.rest[:n])
			m.rest, m.at = m.rest[n:], m.at+n
			continue
		}
		sequence, _, n, _ := ansi.DecodeSequence(m.rest, ansi.NormalState, nil)
		m.rest = m.rest[n:]
		isStyle := strings.HasPrefix(sequence, "\x1b[") // else a link
		switch {
		case sequence == ansi.ResetStyle:
			m.style = ""
		case isStyle:
			m.style += sequence
		}
		if !isStyle || !m.marking {
			m.b.WriteString(sequence)
		}
	}
}

// found yields where texts occur in a line: anywhere as written, and at the start of a
// word in any case. The search for a text resumes at its last occurrence, so a line of
// any length is read once per text.
func found(line string, texts []string) iter.Seq[[2]int] {
	return func(yield func([2]int) bool) {
		lower := strings.ToLower(line)
		if len(lower) != len(line) { // offsets in one are not valid in the other
			lower = line
		}
		var wanted []wantedText
		for _, text := range texts {
			if text = terminal.Clean(text); text != "" {
				wanted = append(wanted, wantedText{text: text, lower: strings.ToLower(text), next: -1})
			}
		}
		for at := 0; at < len(line); {
			best := [2]int{len(line), 0}
			for i := range wanted {
				w := &wanted[i]
				if w.next < at {
					w.next = w.find(line, lower, at)
				}
				end := w.next + len(w.lower)
				if w.next < best[0] || w.next == best[0] && w.next < len(line) && end > best[1] {
					best = [2]int{w.next, end}
				}
			}
			if best[1] == 0 || !yield(best) {
				return
			}
			at = best[1]
		}
	}
}

// contains reports whether a line has one of the texts.
func contains(line string, texts []string) bool {
	for range found(line, texts) {
		return true
	}
	return false
}

// wantedText is a text that is looked for in a line.
type wantedText struct {
	text, lower string
	next        int // its next occurrence; the length of the line for none
}

// find returns the first occurrence of the text at or after an offset, or the length of
// the line.
func (w *wantedText) find(line, lower string, from int) int {
	for ; from < len(line); from++ {
		k := strings.Index(lower[from:], w.lower)
		if k < 0 {
			break
		}
		from += k
		if line[from:from+len(w.lower)] == w.text || beginsWord(line, from) {
			return from
		}
	}
	return len(line)
}

// beginsWord reports whether a word begins at an offset, perhaps within a name such as
// userName.
func beginsWord(s string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	first, _ := utf8.DecodeRuneInString(s[at:])
	return at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) || unicode.IsUpper(first) && unicode.IsLower(before)
}
