package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the width of s in cells. Most text is ASCII, perhaps with an ellipsis,
// where that is the number of characters.
func Width(s string) int {
	if isPrintable(s) {
		return len(s)
	}
	if short := strings.TrimSuffix(strings.TrimPrefix(s, "…"), "…"); isPrintable(short) {
		return len(short) + (len(s)-len(short))/len("…")
	}
	return ansi.StringWidth(s)
}

// Cluster returns the first grapheme cluster of s, which a reader sees as one character, and
// its width. Most are an ASCII character followed by another, which needs no tables.
func Cluster(s string) (string, int) {
	if s[0] >= ' ' && s[0] <= '~' && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

// Clip shortens s to at most width cells, at the end.
func Clip(s string, width int) string {
	if width > 0 && isPrintable(s) {
		if len(s) <= width {
			return s
		}
		return s[:width-1] + "…"
	}
	return ansi.Truncate(s, max(0, width), "…")
}

// ClipWords shortens s to at most width cells, after a word where one ends in the second
// half.
func ClipWords(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	cut := ansi.Truncate(s, max(0, width), "")
	if i := strings.LastIndexByte(cut, ' '); i >= len(cut)/2 {
		return strings.TrimRight(cut[:i], " ,;:") + "…"
	}
	return Clip(s, width)
}

// ClipLeft shortens s to at most width cells, at the beginning.
func ClipLeft(s string, width int) string {
	width = max(1, width)
	if isPrintable(s) {
		if len(s) <= width {
			return s
		}
		return "…" + s[len(s)-width+1:]
	}
	n := ansi.StringWidth(s)
	if n <= width {
		return s
	}
	short := ansi.TruncateLeft(s, n-width+1, "…")
	if ansi.StringWidth(short) > width { // it kept a wide character that does not fit
		short = ansi.TruncateLeft(s, n-width+2, "…")
	}
	return short
}

// ClipPath is ClipLeft for a path: what is left begins with a whole element, if one fits.
func ClipPath(path string, width int) string {
	if Width(path) <= width {
		return path
	}
	for i, r := range path {
		if i > 0 && (r == '/' || r == '\\') && Width(path[i:]) < width {
			return "…" + path[i:]
		}
	}
	return ClipLeft(path, width)
}

// Pad fills s with spaces to width cells.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-Width(s)))
}

// Fit makes s exactly width cells wide.
func Fit(s string, width int) string { return Pad(Clip(s, width), width) }

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// columnsWidth is the width of help texts on every terminal.
const columnsWidth = 80

// WriteColumns writes text next to a left column, wrapped at spaces.
func WriteColumns(b *strings.Builder, left, text string) {
	width := Width(left)
	b.WriteString(left)
	at := width
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case at+1+n > columnsWidth:
			b.WriteString("\n" + strings.Repeat(" ", width))
			at = width
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
}
