package match

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// hasText reports whether the first 4096 bytes have anything but white space.
func hasText(b []byte) bool {
	b = b[:min(len(b), 4096)]
	return len(strings.TrimSpace(string(b))) > 0
}

// A LineBuffer writes texts on one line and reuses its memory.
type LineBuffer struct {
	text    []byte
	offsets []int
}

var lines = sync.Pool{New: func() any { return new(LineBuffer) }}

// Flatten returns a text as one line: a run of white space becomes one space, and
// control characters, terminal sequences and marks that change the direction of
// writing are dropped. at maps each offset of the text, its end included, to an
// offset of the line. Both are valid until the next call.
func (l *LineBuffer) Flatten(text []byte) (line []byte, at []int) {
	line = slices.Grow(l.text[:0], len(text))
	at = slices.Grow(l.offsets[:0], len(text)+1)[:len(text)+1]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == 0x1b {
			size = escapeLength(text[i:])
		}
		for k := range size {
			at[i+k] = len(line)
		}
		i += size
		switch {
		case unicode.IsSpace(r):
			if n := len(line); n > 0 && line[n-1] != ' ' {
				line = append(line, ' ')
			}
		case unicode.IsControl(r) || IsDirectionMark(r):
		default:
			line = utf8.AppendRune(line, r)
		}
	}
	at[len(text)] = len(line)
	l.text, l.offsets = line, at
	return line, at
}

// escapeLength returns the length of the terminal sequence at the start of a text. A
// sequence without an end is the escape character alone: a decoder of terminal
// output would swallow the rest of the text, matches included.
func escapeLength(text []byte) int {
	if len(text) < 2 {
		return 1
	}
	switch text[1] {
	case '[': // parameters, then a letter
		for i := 2; i < len(text) && i < 64; i++ {
			if c := text[i]; 0x40 <= c && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x3f {
				break
			}
		}
	case ']': // up to a bell or ESC \
		for i := 2; i < len(text) && i < 512; i++ {
			if text[i] == 7 {
				return i + 1
			}
			if text[i] == 0x1b {
				return min(i+2, len(text))
			}
			if text[i] < 0x20 {
				break
			}
		}
	}
	return 1
}

// IsDirectionMark reports whether a character changes the direction of writing, or is
// a byte order mark.
func IsDirectionMark(r rune) bool {
	return 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C || r == 0xFEFF
}

// IsBoundary reports whether a text may be cut before offset i: no grapheme cluster,
// which is what people see as one character, reaches across it.
func IsBoundary(text []byte, i int) bool {
	if i <= 0 || i >= len(text) {
		return true
	}
	clusters := graphemes.FromBytes(text)
	for clusters.Next() {
		if end := clusters.End(); end >= i {
			return end == i
		}
	}
	return true
}
