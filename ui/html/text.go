package html

import (
	"fmt"
	"strings"
	"unsafe"

	"pigrep/internal/terminal"
)

// visible returns a text of a session without escape sequences and control characters.
// Characters that change the direction of surrounding text are replaced by their names,
// so that text cannot be disguised.
func visible(text []byte) string {
	s := unsafe.String(unsafe.SliceData(text), len(text)) // entries do not change
	if strings.ContainsRune(s, '\r') {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return terminal.CleanLines(nameMarks(s))
}

// Line returns a text of a session on one line, without what is not shown: as safe and as
// honest as in a conversation.
func Line(s string) string { return strings.TrimSpace(terminal.Clean(nameMarks(s))) }

// Visible is Line for a piece of a line, whose white space stays.
func Visible(s string) string {
	s, _ = terminal.CleanSpans(nameMarks(s), nil)
	return s
}

// nameMarks replaces characters that change the direction of text.
func nameMarks(s string) string {
	if !strings.ContainsFunc(s, isMark) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isMark(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isMark(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}
